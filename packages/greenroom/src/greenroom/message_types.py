"""Which messages an actor class handles, for the check at run time.

The parameter of ``Actor[...]`` declares the messages. The type checker checks it; a caller without
a type checker would otherwise send a message that the handler's ``match`` ignores, and get None.
The senders look up the message's class in a set, so the check costs about 0.1 µs.
"""

from __future__ import annotations

import re
import sys
import types
from collections.abc import Callable, Iterator
from typing import Any, ForwardRef, TypeVar, Union, get_args, get_origin, get_type_hints

from greenroom.actor import Actor
from greenroom.errors import MessageTypeError
from greenroom.factories import actor_class_of
from greenroom.message import Message

_NAME = re.compile(r"\w+")


class MessageTypes:
    """The message classes that one actor class handles.

    Attributes:
        actor_class: the class.
        handled: the declared message classes; None if the declaration does not tell, as in
            ``Actor[Any]`` or a forward reference that can't be resolved. Then every message is
            accepted.
        known: the message classes that have been accepted so far.
    """

    __slots__ = ("_derived", "actor_class", "handled", "known")

    def __init__(self, actor_class: type[Actor[Any]]) -> None:
        """Read the declaration of ``actor_class``; `of` does it once for each class."""
        self.actor_class = actor_class
        declaring, argument = _declaration(actor_class)
        handled = set(_classes(argument, declaring))
        self.handled: tuple[type, ...] | None = (
            None if None in handled else tuple(cls for cls in handled if cls is not None)
        )
        mro = actor_class.__mro__
        self._derived = mro[: mro.index(declaring)]
        self.known: set[type] = set()

    @classmethod
    def of(cls, actor_class: type[Actor[Any]]) -> MessageTypes:
        """Return the message types of ``actor_class``, read at the first call."""
        found = actor_class.__dict__.get("_message_types")
        if not isinstance(found, cls):
            found = actor_class._message_types = cls(actor_class)
        return found

    @classmethod
    def of_factory(cls, factory: Callable[..., object]) -> MessageTypes | None:
        """Return the message types of the actors that ``factory`` creates, if it is a class."""
        actor_class = actor_class_of(factory)
        return None if actor_class is None else cls.of(actor_class)

    def require(self, message: object, path: str) -> None:
        """Raise unless the actor class handles ``message``; a success is noted in `known`.

        Raises:
            MessageTypeError: it does not.
        """
        kind = type(message)
        if self.handled is None or issubclass(kind, self.handled) or self._is_addressed_by(kind):
            self.known.add(kind)
            return
        names = ", ".join(sorted(cls.__name__ for cls in self.handled)) or "no message"
        actor = self.actor_class.__name__
        raise MessageTypeError(
            f"{path} is an actor of class {actor} and does not handle {kind.__name__}, only"
            f" {names}; send the message to another actor, or add {kind.__name__} to the parameter"
            f" of Actor[...] in the bases of {actor} and handle it. Nothing was sent."
        )

    def _is_addressed_by(self, kind: type) -> bool:
        """Return whether ``kind`` is a message for a class derived from the declaring one.

        A derived actor class may handle further messages without declaring ``Actor[...]`` again.
        """
        for cls in kind.__mro__:
            for base in cls.__dict__.get("__orig_bases__", ()):
                if get_origin(base) is Message:
                    receiver = get_args(base)[0]
                    if isinstance(receiver, ForwardRef):
                        names = set(_NAME.findall(receiver.__forward_arg__))
                        return any(derived.__name__ in names for derived in self._derived)
                    return any(derived in _flat(receiver) for derived in self._derived)
        return False


def _declaration(actor_class: type) -> tuple[type, object]:
    """Return the class whose bases give the parameter of ``Actor``, and the parameter."""
    for base in actor_class.__dict__.get("__orig_bases__", actor_class.__bases__):
        origin = get_origin(base) or base
        if origin is Actor:
            arguments = get_args(base)
            return actor_class, arguments[0] if arguments else Any
        if isinstance(origin, type) and issubclass(origin, Actor):
            declaring, argument = _declaration(origin)
            parameters: tuple[object, ...] = getattr(argument, "__parameters__", ())
            if isinstance(argument, TypeVar):
                parameters = (argument,)
            if not parameters:
                return declaring, argument
            given = dict(zip(getattr(origin, "__parameters__", ()), get_args(base), strict=False))
            values = tuple(given.get(parameter, Any) for parameter in parameters)
            if isinstance(argument, TypeVar):
                return actor_class, values[0]
            substituted: Any = argument
            return actor_class, substituted[values]
    return actor_class, Any


def _flat(argument: object) -> Iterator[object]:
    """Yield the members of a union, of nested ones too."""
    if get_origin(argument) in (Union, types.UnionType):
        for member in get_args(argument):
            yield from _flat(member)
    else:
        yield argument


def _classes(argument: object, declaring: type) -> Iterator[type | None]:
    """Yield the classes that ``argument`` names; None where it names none."""
    for member in _flat(argument):
        if isinstance(member, ForwardRef):
            resolved = _resolve(member, declaring)
            if resolved is None:
                yield None
            else:
                yield from _classes(resolved, declaring)
            continue
        alias = getattr(member, "__value__", None)  # of a ``type`` statement
        if alias is not None:
            yield from _classes(alias, declaring)
            continue
        cls = get_origin(member) or member
        if cls in (Any, object) or not isinstance(cls, type) or getattr(cls, "_is_protocol", False):
            yield None
        else:
            yield cls


def _resolve(reference: ForwardRef, declaring: type) -> object:
    """Return what ``reference`` names in the module of ``declaring``; None if nothing there."""
    holder = types.SimpleNamespace(__annotations__={"message": reference})
    namespace = vars(sys.modules[declaring.__module__])
    try:
        return get_type_hints(holder, namespace)["message"]
    except (NameError, TypeError, SyntaxError, AttributeError):
        return None
