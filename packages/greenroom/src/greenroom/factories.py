"""Actor factories: what is checked before the first call, and of what a call returns.

A factory that can't work is a mistake of the program, not a failure that a restart may cure. So it
is reported where the specification is made, or, if only a call can tell, without a restart.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from functools import partial
from typing import Any

from greenroom.actor import Actor, handles_batches
from greenroom.errors import InvalidActor
from greenroom.message import MessageTypes
from greenroom.options import require_callable


def actor_class_of(factory: Callable[..., object]) -> type[Actor[Any]] | None:
    """Return the class that ``factory`` is, if need be under `functools.partial`; or None."""
    while isinstance(factory, partial):
        factory = factory.func
    return factory if isinstance(factory, type) and issubclass(factory, Actor) else None


def message_types_of(factory: Callable[..., object]) -> MessageTypes | None:
    """Return the messages of the actors that ``factory`` creates, if it is a class; or None."""
    actor_class = actor_class_of(factory)
    return None if actor_class is None else actor_class.message_types()


def require_factory(what: str, factory: Callable[..., object], *arguments: str) -> None:
    """Raise unless ``factory`` can be called with ``arguments`` and may return an actor.

    Args:
        what: names the factory in errors.
        factory: the factory.
        *arguments: what it will be called with, by name.

    Raises:
        TypeError: it can't be called, its signature does not fit, it is an async function, or a
            class whose instances are not usable actors.
    """
    require_signature(what, factory, *arguments)
    inner: object = factory
    while isinstance(inner, partial):
        inner = inner.func
    if inspect.iscoroutinefunction(inner) or inspect.isasyncgenfunction(inner):
        raise TypeError(
            f"{what} must return an actor, but {_name(inner)} is an async function; load state in"
            " the actor's started() instead"
        )
    if not isinstance(inner, type):
        return
    if not issubclass(inner, Actor):
        raise TypeError(f"{what} must make an Actor, but {inner.__name__} does not derive from it")
    if inspect.isabstract(inner):
        raise TypeError(f"{what} must make an actor, but the class {inner.__name__} is abstract")
    handles_batches(inner)


def require_signature(what: str, function: Callable[..., object], *arguments: str) -> None:
    """Raise TypeError unless ``function`` can be called with ``arguments``, given by name."""
    require_callable(what, function)
    try:
        signature = inspect.signature(function)
    except (TypeError, ValueError) as error:
        if isinstance(function, partial) and "incorrect arguments" in str(error):
            raise TypeError(f"{what} can't be called: {error}: {function!r}") from None
        return  # some callables written in C have no signature
    try:
        signature.bind(*arguments)
    except TypeError as error:
        given = f"the argument {arguments[0]}" if arguments else "no argument"
        raise TypeError(
            f"{what} is called with {given}, but {_name(function)}{signature} does not accept"
            f" that: {error}"
        ) from None


def require_actor(made: object, path: str) -> Actor[Any]:
    """Return what a factory made, if it is a usable actor.

    Raises:
        InvalidActor: it is not.
    """
    if not isinstance(made, Actor):
        if inspect.iscoroutine(made):
            made.close()
        raise InvalidActor(
            f"the factory of {path} returned {made!r}, which is not an Actor; it is not called"
            " again. The message was not executed."
        )
    try:
        handles_batches(type(made))
    except TypeError as error:
        raise InvalidActor(f"the factory of {path} returned an unusable actor: {error}") from None
    return made


def _name(value: object) -> str:
    name = getattr(value, "__qualname__", None)
    return name if isinstance(name, str) else repr(value)
