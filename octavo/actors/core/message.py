"""Messages that know who may receive them and what the answer is.

A message is any object of a class derived from ``Message[Receiver, Reply]``,
usually a frozen dataclass. The two parameters exist for the type checker
alone: ``ActorRef[Receiver].ask`` accepts only messages for that receiver, and
returns ``Reply``.
"""

from __future__ import annotations

from typing import Generic, NewType, TypeVar

Receiver_contra = TypeVar("Receiver_contra", contravariant=True)
Result_co = TypeVar("Result_co", covariant=True)

Reply = NewType("Reply", object)
"""An answer that was checked against its message by `Message.reply`."""


class Message(Generic[Receiver_contra, Result_co]):
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

    # Strictly, a parameter forbids covariance. It is wanted all the same: an answer may be put
    # where something wider is expected, and `reply` is called on messages of a known class.
    def reply(self, value: Result_co) -> Reply:  # type: ignore[misc]
        """``value`` itself, checked by the type checker to answer this message.

        A handler declared ``-> Reply`` that answers only through this method
        cannot return the wrong type for a message, nor forget to return.
        """
        return Reply(value)
