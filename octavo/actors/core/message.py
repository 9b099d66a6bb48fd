"""Messages that know who may receive them and what the answer is.

A message is any object of a class derived from ``Message[Receiver, Reply]``,
usually a frozen dataclass. The two parameters exist for the type checker
alone: ``ActorRef[Receiver].ask`` accepts only messages for that receiver, and
returns ``Reply``.
"""

from __future__ import annotations

from typing import Generic, NewType, TypeVar

Receiver = TypeVar("Receiver", contravariant=True)
Result = TypeVar("Result")

Reply = NewType("Reply", object)
"""An answer that was checked against its message by `Message.reply`."""


class Message(Generic[Receiver, Result]):
    """Base of everything that can be asked or told.

    ``Receiver`` is the actor class (a message for a base class may be sent to
    an actor of a derived one), ``Result`` the type of the answer; ``None``
    makes a message that can also be told.

    Example::

        @dataclass(frozen=True, slots=True)
        class Add(Message["Counter", int]):
            amount: int
    """

    __slots__ = ()

    def reply(self, value: Result) -> Reply:
        """``value`` itself, checked by the type checker to answer this message.

        A handler declared ``-> Reply`` that answers only through this method
        cannot return the wrong type for a message, nor forget to return.
        """
        return Reply(value)
