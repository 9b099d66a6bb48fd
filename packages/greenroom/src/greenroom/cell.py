"""The part of an actor that survives restarts: its mailbox, its path, its counters.

An actor object lives from a start to the next crash; the cell survives. It runs one incarnation at
a time: create the actor, ``started``, messages in order, ``stopping``. Its supervisor or directory
decides whether and when it is started again.
"""

from __future__ import annotations

import enum
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any, Literal

import trio

from greenroom.errors import MessageTypeError, NotExecuted, is_crash, stopped, unwrap
from greenroom.mailbox import Envelope, EnvelopeState, Mailbox, ParkObserver
from greenroom.message import UNANSWERED, MessageTypes, Reply
from greenroom.monitor import Down, StopReason, Watchers
from greenroom.options import ActorOptions
from greenroom.runtime import Runtime
from greenroom.statistics import ActorStatistics, MailboxStatistics
from greenroom.waiting import Waiter

CellState = Literal["new", "starting", "running", "stopping", "down", "closed"]


class _Mode(enum.Enum):
    SERVE = "serve"
    RETIRE = "retire"  # end after the current message; the others stay in the mailbox
    DRAIN = "drain"  # end when the closed mailbox is empty


class Cell(Waiter):
    """Runs the incarnations of one actor sequentially.

    Args:
        parent: the path of the supervisor or directory.
        name: the name or key below it.
        factory: creates an actor object for each incarnation.
        options: the limits of the actor.
        runtime: what the whole tree shares.
        statistics: the counters to update.
        message_types: the messages that the actor accepts, if its class is known.
        park_observer: receives the transitions between idle and busy.

    Attributes:
        served: whether the current incarnation has handled a message.
        batch: the messages that the current incarnation received last.
        message_types: the messages that the actor accepts; None until its class is known, that is
            until the first incarnation if the factory is not a class.
        answer: the method `Actor.answer` of the running incarnation, if it has one.
        answered: whether it has answered since the directory last checked.
    """

    __slots__ = (
        "_mode",
        "_name",
        "_parent",
        "_reason",
        "_watchers",
        "answer",
        "answered",
        "batch",
        "factory",
        "last_error",
        "mailbox",
        "message_types",
        "options",
        "runtime",
        "served",
        "state",
        "statistics",
    )

    def __init__(
        self,
        parent: str,
        name: object,
        factory: Callable[[], object],
        options: ActorOptions,
        runtime: Runtime,
        statistics: ActorStatistics,
        message_types: MessageTypes | None = None,
        park_observer: ParkObserver | None = None,
    ) -> None:
        """Create a cell that has not been started: its mailbox refuses messages."""
        super().__init__()
        self._parent = parent
        self._name = name
        self.factory = factory
        self.options = options
        self.runtime = runtime
        self.statistics = statistics
        self.mailbox = Mailbox(self, options.mailbox_capacity, park_observer)
        self.mailbox.close(stopped(self, "is not started"))
        self.state: CellState = "new"
        self.last_error: BaseException | None = None
        self.served = False
        self.batch: Sequence[Envelope[Any]] = ()
        self._mode = _Mode.SERVE
        self._reason: StopReason = "drained"
        self._watchers: Watchers | None = None
        self.answer: Callable[[Any], Reply] | None = None
        self.answered = False
        self.message_types = message_types

    def __str__(self) -> str:
        """Return the path."""
        return self.path

    @property
    def path(self) -> str:
        """The actor's path in the tree."""
        return f"{self._parent}/{self._name}"

    def answer_at_once(self, message: object) -> Reply:
        """Return the answer of an actor that waits for messages, or `UNANSWERED`."""
        if self.answer is None or not self.mailbox.parked:
            return UNANSWERED
        reply = self.answer(message)
        if reply is not UNANSWERED:
            self.answered = True
            self.statistics.wait.record(0.0)
            self.statistics.handling.record(0.0)
        return reply

    def require_accepted(self, message: object) -> None:
        """Raise unless the actor handles messages of this type, as far as that is known.

        Raises:
            MessageTypeError: it does not.
        """
        types = self.message_types
        if types is not None and type(message) not in types.known:
            types.require(message, self.path)

    # Control by the supervisor or directory

    def open(self) -> None:
        """Accept messages, whether or not an incarnation runs yet."""
        self.restarts_with(None)
        self.mailbox.reopen()

    def drain(self) -> None:
        """Refuse new messages; handle those that wait, then end."""
        self._end_when_empty("drained")

    def finish(self) -> None:
        """Do the same as `drain`, at the actor's own request."""
        self._end_when_empty("finished")

    def _end_when_empty(self, reason: StopReason) -> None:
        self.mailbox.close(stopped(self, "is stopping"))
        if self._mode is not _Mode.DRAIN:
            self._mode = _Mode.DRAIN
            self._reason = reason
        self.mailbox.interrupt()

    def retire(self, reason: StopReason) -> None:
        """End after the current message; the mailbox stays open and keeps its messages."""
        if self._mode is _Mode.SERVE:
            self._mode = _Mode.RETIRE
            self._reason = reason
        self.mailbox.interrupt()

    def close(self, refusal: Callable[[], NotExecuted] | None = None) -> None:
        """Refuse every waiting and every later message.

        Must not be called while an incarnation runs.
        """
        refusal = refusal or stopped(self)
        self.mailbox.reopen()
        self.mailbox.close(refusal)
        self.mailbox.refuse_waiting(refusal)
        self.state = "closed"
        self._notify_watchers(final=True)

    def handled_first_message(self) -> None:
        """Handle that the current incarnation has handled its first message."""

    def mailbox_statistics(self) -> MailboxStatistics:
        """Return the statistics of the mailbox, including messages received but not yet taken."""
        statistics = self.mailbox.statistics()
        received = [e for e in self.batch if e.state is EnvelopeState.QUEUED]
        if not received:
            return statistics
        oldest = trio.current_time() - received[0].enqueued_at
        depth = statistics.depth + len(received)
        return replace(statistics, depth=depth, oldest_age=oldest)

    def down(self) -> None:
        """Notify the watchers that an incarnation ended and another one will follow."""
        self._notify_watchers(final=False)

    def _notify_watchers(self, *, final: bool) -> None:
        if self._watchers is not None:
            self._watchers.notify(Down(self.path, self._reason, self.last_error, final))

    @property
    def retiring(self) -> bool:
        """Whether the actor was asked to end and to keep the waiting messages."""
        return self._mode is _Mode.RETIRE

    @property
    def makes_room(self) -> bool:
        """Whether the actor was asked to end so that another one can be activated."""
        return self._mode is _Mode.RETIRE and self._reason == "passivated"

    @property
    def is_done(self) -> bool:
        """Whether the actor was asked to end and has nothing left to do."""
        if self._mode is _Mode.SERVE:
            return False
        if not self.mailbox.depth:
            return True
        # An actor that makes room handles a message first, so that each activation has a use.
        return self.retiring and (self.served or not self.makes_room)

    @property
    def reason(self) -> StopReason:
        """Why the last incarnation ended."""
        return self._reason

    @property
    def watched(self) -> bool:
        """Whether this actor has watchers."""
        return self._watchers is not None and self._watchers.any

    @property
    def watchers(self) -> Watchers:
        """The watchers of this actor's ends."""
        if self._watchers is None:
            self._watchers = Watchers()
            if self.state == "closed":
                self._notify_watchers(final=True)
        return self._watchers

    # One incarnation

    def begin(self) -> None:
        """Handle that an incarnation starts."""
        self.enter()
        self.mailbox.now = trio.lowlevel.current_clock().current_time
        self.served = False
        self.last_error = None
        self.state = "starting"

    def fail(self, error: BaseException) -> BaseException | None:
        """Note why an incarnation ends; return the error of a crash, None for a cancellation."""
        if not is_crash(error):
            self._reason = "cancelled"
            return None
        self._reason = "crashed"
        self.last_error = unwrap(error)
        return self.last_error

    def end(self) -> None:
        """Handle that an incarnation has ended."""
        self._mode = _Mode.SERVE
        self.mailbox.now = trio.current_time
        self.batch = ()
        self.state = "down"
        self.leave()

    def learn_message_types(self, types: MessageTypes) -> None:
        """Note what the actor accepts; refuse what was sent while that was not known."""
        if self.message_types is types:
            return
        self.message_types = types
        for envelope in self.mailbox.waiting:
            try:
                types.require(envelope.message, self.path)
            except MessageTypeError as error:
                if not envelope.is_ask:
                    observer = self.runtime.observer
                    self.runtime.notify(observer.tell_refused, self.path, envelope.message, error)
                self.mailbox.refuse(envelope, error)
