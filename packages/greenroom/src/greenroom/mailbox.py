"""A bounded, ordered mailbox with an admission timeout, and the messages in it with their replies.

It differs from a memory channel: the actor takes *all* waiting messages in one wake-up, an asker
that gives up removes its message, waiting senders learn why the mailbox closed, and the age of the
oldest message can be read.

Order is strict: messages are received in the order in which they were admitted, and a sender that
waits for a slot is never overtaken.
"""

from __future__ import annotations

import enum
from collections import OrderedDict
from collections.abc import Awaitable, Callable, Sequence
from typing import Any, Generic, Protocol, TypeVar

import outcome
import trio
from trio.lowlevel import (
    Abort,
    Task,
    current_task,
    enable_ki_protection,
    reschedule,
    wait_task_rescheduled,
)

from greenroom.errors import BadReply, MailboxFull, NotExecuted, Refusal
from greenroom.message import Reply
from greenroom.options import require_positive_count
from greenroom.statistics import MailboxStatistics

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


class ParkObserver(Protocol):
    """Receives the transitions of a mailbox between idle and busy."""

    def parked(self) -> None:
        """Handle that the receiver found no message and waits."""

    def woken(self) -> None:
        """Handle that a message arrived from outside, whether or not the receiver waits."""

    def emptied(self) -> None:
        """Handle that the last message was withdrawn and no sender waits."""


class Mailbox:
    """Holds the envelopes of one actor across all its restarts.

    Args:
        owner: the owner of the mailbox, for error messages.
        capacity: how many messages may wait, at least 1.
        park_observer: receives the transitions between idle and busy.

    Attributes:
        now: returns trio's time; the cell sets it to the method of the run's clock, which is
            called once for each message.

    Raises:
        ValueError: ``capacity`` is not a positive integer.
    """

    __slots__ = (
        "_capacity",
        "_closed",
        "_interrupted",
        "_messages",
        "_owner",
        "_park_observer",
        "_peak",
        "_receiver",
        "_senders",
        "now",
    )

    def __init__(
        self,
        owner: object,
        capacity: int,
        park_observer: ParkObserver | None = None,
    ) -> None:
        """Create an empty, open mailbox."""
        require_positive_count("mailbox capacity", capacity)
        self._owner = owner
        self._capacity = capacity
        self._park_observer = park_observer
        self._messages: list[Envelope[Any]] = []
        self._senders: OrderedDict[trio.lowlevel.Task, Envelope[Any]] | None = None
        self._receiver: trio.lowlevel.Task | None = None
        self._interrupted = False
        self._closed: Callable[[], NotExecuted] | None = None
        self._peak = 0
        self.now: Callable[[], float] = trio.current_time

    # Senders

    @enable_ki_protection
    def put_nowait(self, envelope: Envelope[Any]) -> None:
        """Add the message, or refuse it immediately.

        Raises:
            MailboxFull: there is no free slot, or others wait for one.
            NotExecuted: the mailbox is closed; the error that `close` was given.
        """
        if self._closed is not None:
            raise self._closed()
        if self._senders or len(self._messages) >= self._capacity:
            raise MailboxFull(f"{self._owner} has {len(self._messages)} messages waiting")
        if self._park_observer is not None:
            self._park_observer.woken()
        self._admit(envelope)

    @enable_ki_protection
    async def put(self, envelope: Envelope[Any], timeout: float) -> None:
        """Add the message, waiting at most ``timeout`` seconds for a slot.

        A checkpoint only if it has to wait. If cancelled while waiting, the message was not
        admitted and is abandoned.

        Raises:
            MailboxFull: no slot became free in time; the message is abandoned.
            NotExecuted: the mailbox is closed, or was closed meanwhile.
        """
        try:
            self.put_nowait(envelope)
        except MailboxFull:
            if timeout <= 0:
                envelope.abandon()
                raise
        else:
            return
        with trio.move_on_after(timeout):
            await self._wait_for_slot(envelope)
            return
        raise MailboxFull(f"the mailbox of {self._owner} had no free slot for {timeout:g} s")

    async def _wait_for_slot(self, envelope: Envelope[Any]) -> None:
        task = current_task()
        if self._senders is None:
            self._senders = OrderedDict()
        self._senders[task] = envelope

        def give_up(_raise_cancel: object) -> trio.lowlevel.Abort:
            if self._senders is not None:
                self._senders.pop(task, None)
            envelope.abandon()
            return trio.lowlevel.Abort.SUCCEEDED

        await wait_task_rescheduled(give_up)

    def put_over_capacity(self, envelope: Envelope[Any]) -> bool:
        """Add a message that the actor has requested itself (timers, death notices).

        Such messages are few and limited by the actor's own requests, so the capacity does not
        apply. Returns False, and drops the message, if the mailbox is closed.
        """
        if self._closed is not None:
            return False
        self._admit(envelope)
        return True

    def _admit(self, envelope: Envelope[Any]) -> None:
        envelope.enqueued_at = self.now()
        envelope._mailbox = self
        messages = self._messages
        messages.append(envelope)
        if len(messages) > self._peak:
            self._peak = len(messages)
        task = self._receiver
        if task is not None:
            self._receiver = None
            reschedule(task)

    def discard(self, envelope: Envelope[Any]) -> None:
        """Remove a message whose asker gave up, and admit the next sender."""
        try:
            self._messages.remove(envelope)
        except ValueError:
            return  # already received: take() returns False, and the actor skips it
        self._admit_senders()
        if self._park_observer is not None and not self._messages:
            self._park_observer.emptied()

    def _admit_senders(self) -> None:
        while self._senders and len(self._messages) < self._capacity:
            task, envelope = self._senders.popitem(last=False)
            self._admit(envelope)
            reschedule(task)

    # The receiver

    async def receive(self, limit: int) -> list[Envelope[Any]]:
        """Wait for messages and return all of them, at most ``limit``, in order.

        Only one task may receive. Always a checkpoint, before any message is removed; if
        cancelled, no message is lost. Returns an empty list after `interrupt`, or if the messages
        were withdrawn during the checkpoint; a receiver that ends with an empty mailbox must check
        then.
        """
        if self._messages or self._interrupted:
            await trio.lowlevel.checkpoint()
        else:
            if self._park_observer is not None:
                self._park_observer.parked()
            if self._interrupted or self._messages:
                # The observer did that; a task must not be rescheduled before it waits.
                await trio.lowlevel.checkpoint()
            else:
                self._receiver = current_task()
                await wait_task_rescheduled(self._stop_receiving)
        self._interrupted = False
        messages = self._messages
        if len(messages) <= limit:
            self._messages = []
        else:
            self._messages = messages[limit:]
            del messages[limit:]
        if self._senders:
            self._admit_senders()
        return messages

    def _stop_receiving(self, _raise_cancel: object) -> trio.lowlevel.Abort:
        self._receiver = None
        return trio.lowlevel.Abort.SUCCEEDED

    def _wake(self) -> None:
        task, self._receiver = self._receiver, None
        if task is not None:
            reschedule(task)

    def interrupt(self) -> None:
        """Make the current or next `receive` return with the messages there are."""
        self._interrupted = True
        self._wake()

    def nudge(self) -> None:
        """End the current wait of the receiver, if it waits."""
        if self._receiver is not None:
            self.interrupt()

    def unreceive(self, envelopes: Sequence[Envelope[Any]]) -> None:
        """Return messages that were received but not taken to the front.

        Senders may have been admitted since, so the depth may exceed the capacity by at most the
        limit of that `receive`.
        """
        queued = [envelope for envelope in envelopes if envelope.state is EnvelopeState.QUEUED]
        self._messages[:0] = queued

    # The end

    def close(self, refusal: Callable[[], NotExecuted]) -> None:
        """Refuse new messages; waiting messages can still be received.

        Senders that wait for a slot are refused immediately. ``refusal`` makes the exception that
        each of them, and every later sender, gets.
        """
        if self._closed is None:
            self._closed = refusal
        while self._senders:
            task, _ = self._senders.popitem(last=False)
            reschedule(task, outcome.Error(self._closed()))

    def reopen(self) -> None:
        """Accept new messages again (a quarantine has ended, a subtree restarts)."""
        self._closed = None

    def refuse_waiting(self, refusal: Callable[[], NotExecuted]) -> int:
        """Fail every waiting message with a refusal; return how many there were."""
        messages, self._messages = self._messages, []
        for envelope in messages:
            envelope.fail(refusal())
        return len(messages)

    def refuse(self, envelope: Envelope[Any], error: Exception) -> None:
        """Fail one message that waits in the mailbox, or whose sender waits for a slot."""
        for task, other in (self._senders or {}).items():
            if other is envelope and self._senders is not None:
                del self._senders[task]
                reschedule(task, outcome.Error(error))
                return
        envelope.withdraw(error)

    # Introspection

    @property
    def waiting(self) -> list[Envelope[Any]]:
        """The messages that wait, and then those whose senders wait for a slot."""
        return [*self._messages, *(self._senders or {}).values()]

    @property
    def depth(self) -> int:
        """The number of messages that wait to be received."""
        return len(self._messages)

    @property
    def parked(self) -> bool:
        """Whether the receiver waits for messages, and the mailbox is open."""
        return self._receiver is not None and self._closed is None

    @property
    def in_use(self) -> bool:
        """Whether a message or a sender waits."""
        return bool(self._messages or self._senders)

    @property
    def closed(self) -> bool:
        """Whether new messages are refused."""
        return self._closed is not None

    def statistics(self) -> MailboxStatistics:
        """Return a snapshot for operators; must be called inside a trio run."""
        oldest = trio.current_time() - self._messages[0].enqueued_at if self._messages else 0.0
        return MailboxStatistics(
            depth=len(self._messages),
            capacity=self._capacity,
            senders_waiting=len(self._senders or ()),
            peak=self._peak,
            oldest_age=oldest,
            closed=self._closed is not None,
        )
