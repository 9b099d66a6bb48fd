"""A message in transit with its reply slot, which is filled once.

An envelope is in one of four states and moves only along the arrows::

    QUEUED ──take()──→ TAKEN ──reply()/fail()──→ DONE
      │  └───────────fail()───────────────────────↑
      └──asker gives up──→ ABANDONED

trio runs one task at a time, and none of these methods awaits, so each transition is an atomic
compare-and-set. Two guarantees follow. A message whose asker gave up while it was QUEUED is never
handled, so the asker can report *not executed*. And replying never blocks, never fails and happens
at most once, whatever the asker does, so an asker can't stop or stall an actor.
"""

from __future__ import annotations

import enum
from collections.abc import Awaitable
from typing import TYPE_CHECKING, Generic, TypeVar

from trio.lowlevel import Abort, Task, current_task, reschedule, wait_task_rescheduled

from greenroom.errors import BadReply, Refusal
from greenroom.message import Reply

if TYPE_CHECKING:
    from greenroom.mailbox import Mailbox

M_co = TypeVar("M_co", covariant=True)


class EnvelopeState(enum.Enum):
    """The state of a message; see the diagram of the module."""

    QUEUED = "queued"
    TAKEN = "taken"
    DONE = "done"
    ABANDONED = "abandoned"


_QUEUED, _TAKEN = EnvelopeState.QUEUED, EnvelopeState.TAKEN
_DONE, _ABANDONED = EnvelopeState.DONE, EnvelopeState.ABANDONED


class Envelope(Generic[M_co]):
    """A message with its reply slot; `Actor.handle_batch` receives a sequence of these.

    Attributes:
        message: the message that was asked or told.
        is_ask: whether an asker waits for the reply.
        enqueued_at: trio's clock when it was added to the mailbox, in seconds.
    """

    __slots__ = (
        "__weakref__",
        "_asker",
        "_error",
        "_mailbox",
        "_state",
        "_value",
        "enqueued_at",
        "is_ask",
        "message",
    )

    def __init__(self, message: M_co, *, is_ask: bool) -> None:
        """Wrap ``message`` in a new envelope in state QUEUED."""
        self.message = message
        self.is_ask = is_ask
        self._state = _QUEUED
        self._asker: Task | None = None
        self._mailbox: Mailbox | None = None
        # Set later: the constructor runs for every message, so it does as little as possible.
        self.enqueued_at: float
        self._value: object
        self._error: BaseException | None

    def __repr__(self) -> str:
        """Return kind, state and message, for logs and failing tests."""
        kind = "ask" if self.is_ask else "tell"
        return f"<{kind} {self._state.value} {self.message!r}>"

    @property
    def state(self) -> EnvelopeState:
        """The current state."""
        return self._state

    @property
    def pending(self) -> bool:
        """Whether there is no reply yet (QUEUED or TAKEN)."""
        return self._state is _QUEUED or self._state is _TAKEN

    # The actor's side

    def take(self) -> bool:
        """Claim the message for handling; called on the actor's side.

        Returns False if the asker gave up before; the message must then be skipped. After True
        the message counts as executed.
        """
        if self._state is not _QUEUED:
            return False
        self._state = _TAKEN
        return True

    def reply(self, reply: Reply) -> None:
        """Reply to the ask, from `Actor.handle_batch`. A second reply is ignored.

        Args:
            reply: made by ``envelope.message.reply(value)``, so that the type checker verifies
                the value against the message.

        Raises:
            BadReply: the message was told and the value is not None.
        """
        if self.is_ask:
            self._settle(reply, None)
        else:
            self.reply_with(reply)

    def refuse(self, refusal: Refusal) -> None:
        """Make the ask raise ``refusal``, from `Actor.handle_batch`. A second reply is ignored.

        Raises:
            BadReply: it is not a `Refusal`. Other errors are crashes; raise them.
        """
        if not isinstance(refusal, Refusal):
            raise BadReply(
                f"only a Refusal can refuse a message, not {refusal!r}; raise it instead"
            )
        self.fail(refusal)

    def reply_with(self, value: object) -> None:
        """Reply with a value of any type; called by the core.

        Raises:
            BadReply: the message was told and the value is not None.
        """
        if not self.is_ask and value is not None:
            raise BadReply(
                f"{type(self.message).__name__} was told, not asked: nobody waits for the reply"
                f" {value!r}; return None, or send the message with ask()"
            )
        self._settle(value, None)

    def fail(self, error: BaseException) -> None:
        """Make the ask raise ``error``; called by the core. A second reply is ignored."""
        self._settle(None, error)

    def _settle(self, value: object, error: BaseException | None) -> None:
        if self._state is _DONE or self._state is _ABANDONED:
            return
        self._state = _DONE
        self._value = value
        self._error = error
        asker = self._asker
        if asker is not None:
            self._asker = None
            reschedule(asker)

    # The asker's side

    def abandon(self) -> bool:
        """Withdraw the message if no actor has taken it yet; return whether it was withdrawn.

        Called by an asker that gives up. After True the message has no effect.
        """
        if self._state is not _QUEUED:
            return False
        self._state = _ABANDONED
        if self._mailbox is not None:
            self._mailbox.discard(self)
        return True

    def withdraw(self, error: BaseException) -> None:
        """Remove a QUEUED message from the mailbox and make the ask raise ``error``."""
        if self._state is _QUEUED:
            if self._mailbox is not None:
                self._mailbox.discard(self)
            self.fail(error)

    def settled(self) -> Awaitable[object]:
        """Wait until the envelope is DONE; the asker must await the result immediately.

        Not a checkpoint if it is DONE already. Cancellation withdraws the message if it is still
        QUEUED, and leaves it to the actor if it was TAKEN; `state` tells which.
        """
        if self._state is _DONE:
            return _nothing()
        self._asker = current_task()
        # Not an async function: that saves every ask one coroutine.
        return wait_task_rescheduled(self._give_up)  # noqa: ASYNC105

    def _give_up(self, _raise_cancel: object) -> Abort:
        self._asker = None
        self.abandon()
        return Abort.SUCCEEDED

    def result(self) -> object:
        """Return the reply of a DONE envelope, or raise its error."""
        if self._error is not None:
            # The reference is dropped: its traceback would tie this frame, the envelope and the
            # error into a reference cycle.
            error, self._error = self._error, None
            try:
                raise error
            finally:
                del error
        return self._value


async def _nothing() -> None:
    pass
