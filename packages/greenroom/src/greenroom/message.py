"""Messages, typed by the actor that may receive them and by the type of the reply.

A message is any object of a class derived from ``Message[Receiver, Result]``, usually a frozen
dataclass. The type checker uses the two parameters: ``ActorRef[Receiver].ask`` accepts only
messages for that receiver, and returns ``Result``.
"""

from __future__ import annotations

from typing import Generic, NewType, TypeVar

Receiver_contra = TypeVar("Receiver_contra", contravariant=True)
Result_co = TypeVar("Result_co", covariant=True)

Reply = NewType("Reply", object)
"""A result that `Message.reply` has checked against its message."""


UNANSWERED = Reply(object())
"""What `greenroom.Actor.answer` returns for a message that has to be handled."""


class Message(Generic[Receiver_contra, Result_co]):
    """Base class of everything that can be asked or told.

    ``Receiver`` is the actor class (a message for a base class may be sent to an actor of a
    derived class), ``Result`` the type of the reply. A message whose result is ``None`` can also
    be told.

    Example::

        @dataclass(frozen=True, slots=True)
        class Add(Message["Counter", int]):
            amount: int
    """

    __slots__ = ()

    # A parameter may not be covariant. It is safe here: a reply may be used where a wider type is
    # expected, and `reply` is called on messages of a known class.
    def reply(self, value: Result_co) -> Reply:  # type: ignore[misc]
        """Return ``value``; the type checker verifies that it is a result of this message.

        A handler declared ``-> Reply`` that returns only what this method returns cannot return
        the wrong type for a message, nor forget to return.
        """
        return Reply(value)
