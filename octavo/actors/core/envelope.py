"""The reply slot: one message on its way, and the one answer it will get.

An envelope is in one of four states and only ever moves along an arrow::

    QUEUED ──take()──→ TAKEN ──reply()/fail()──→ DONE
      │  └───────────fail()───────────────────────↑
      └──asker gave up──→ ABANDONED

trio runs one task at a time, and none of these methods awaits, so each move is
an exact compare-and-set. Two promises follow. A message whose asker gave up
while it was QUEUED is never handled: the asker may say *not executed*. And
answering never blocks, never fails and never happens twice, whatever became of
the asker, so an actor can't be stopped or stalled by one.
"""

from __future__ import annotations

import enum
from collections.abc import Awaitable
from typing import TYPE_CHECKING, Generic, TypeVar

from trio.lowlevel import Abort, Task, current_task, reschedule, wait_task_rescheduled

from octavo.actors.core.errors import BadReply, Refusal
from octavo.actors.core.message import Reply

if TYPE_CHECKING:
    from octavo.actors.core.mailbox import Mailbox

M_co = TypeVar("M_co", covariant=True)


class EnvelopeState(enum.Enum):
    """Where a message is; see the module's picture."""

    QUEUED = "queued"
    TAKEN = "taken"
    DONE = "done"
    ABANDONED = "abandoned"


_QUEUED, _TAKEN = EnvelopeState.QUEUED, EnvelopeState.TAKEN
_DONE, _ABANDONED = EnvelopeState.DONE, EnvelopeState.ABANDONED


class Envelope(Generic[M_co]):
    """A message with its reply slot; what `Actor.handle_batch` receives.

    Attributes:
        message: what was asked or told.
        is_ask: whether somebody waits for the answer.
        enqueued_at: trio's clock when it was put into the mailbox, in seconds.
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
        """Put ``message`` into a fresh envelope in state QUEUED."""
        self.message = message
        self.is_ask = is_ask
        self._state = _QUEUED
        self._asker: Task | None = None
        self._mailbox: Mailbox | None = None
        # Set when there is something to say: a message is made for every ask.
        self.enqueued_at: float
        self._value: object
        self._error: BaseException | None

    def __repr__(self) -> str:
        """Kind, state and message, for logs and failing tests."""
        kind = "ask" if self.is_ask else "tell"
        return f"<{kind} {self._state.value} {self.message!r}>"

    @property
    def state(self) -> EnvelopeState:
        """The present state."""
        return self._state

    @property
    def pending(self) -> bool:
        """Whether the answer is still to come (QUEUED or TAKEN)."""
        return self._state is _QUEUED or self._state is _TAKEN

    # The actor's side

    def take(self) -> bool:
        """Claim the message for handling; the actor's side.

        Returns False when the asker gave up before: the message must then be
        passed over. After True the message counts as executed.
        """
        if self._state is not _QUEUED:
            return False
        self._state = _TAKEN
        return True

    def reply(self, answer: Reply) -> None:
        """Answer; of use to `Actor.handle_batch`. A second answer is ignored.

        Args:
            answer: made by ``envelope.message.reply(value)``, which lets the
                type checker hold the value against the message.

        Raises:
            BadReply: a value other than None for a tell, which nobody awaits.
        """
        self.answer(answer)

    def refuse(self, refusal: Refusal) -> None:
        """Make the ask raise ``refusal``; of use to `Actor.handle_batch`.

        A second answer is ignored.

        Raises:
            BadReply: it is no `Refusal`. Whatever else goes wrong is a crash:
                raise it.
        """
        if not isinstance(refusal, Refusal):
            raise BadReply(
                f"only a Refusal can refuse a message, not {refusal!r}; raise it instead"
            )
        self.fail(refusal)

    def answer(self, value: object) -> None:
        """As `reply`, for a value of any type; the core's side.

        Raises:
            BadReply: a value other than None for a tell.
        """
        if not self.is_ask and value is not None:
            raise BadReply(
                f"{type(self.message).__name__} was told, not asked: nobody waits for the answer"
                f" {value!r}; return None, or send the message with ask()"
            )
        self._settle(value, None)

    def fail(self, error: BaseException) -> None:
        """Make the ask raise ``error``; the core's side. A second answer is ignored."""
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
        """Withdraw the message if no actor took it yet; True when withdrawn.

        Called by an asker that gave up. After True the message has no effect.
        """
        if self._state is not _QUEUED:
            return False
        self._state = _ABANDONED
        if self._mailbox is not None:
            self._mailbox.discard(self)
        return True

    def withdraw(self, error: BaseException) -> None:
        """Take a QUEUED message back on the asker's behalf and make the ask raise ``error``."""
        if self._state is _QUEUED:
            if self._mailbox is not None:
                self._mailbox.discard(self)
            self.fail(error)

    def settled(self) -> Awaitable[object]:
        """Wait until the envelope is DONE; to be awaited at once, by the asker.

        Not a checkpoint if it is DONE already. A cancellation withdraws the
        message if it is still QUEUED, and leaves it to the actor if it was
        TAKEN; `state` tells which.
        """
        if self._state is _DONE:
            return _nothing()
        self._asker = current_task()
        # One coroutine less on the way of every ask; settled() is awaited at once.
        return wait_task_rescheduled(self._give_up)  # noqa: ASYNC105

    def _give_up(self, _raise_cancel: object) -> Abort:
        self._asker = None
        self.abandon()
        return Abort.SUCCEEDED

    def result(self) -> object:
        """The answer of a DONE envelope; raises the failure if it carries one."""
        if self._error is not None:
            # The exception is handed over, not kept: its traceback would tie
            # this frame, the envelope and the error into a cycle.
            error, self._error = self._error, None
            try:
                raise error
            finally:
                del error
        return self._value


async def _nothing() -> None:
    pass
