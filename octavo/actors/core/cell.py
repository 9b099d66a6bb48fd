"""The lasting part of an actor: its mailbox, its place in the tree, its counters.

An actor object lives from one start to the next crash; the cell lives on. It
runs one incarnation at a time: make the actor, ``started``, messages in order,
``stopping``. Who starts it again, and when, is its supervisor's or its
directory's to decide.
"""

from __future__ import annotations

import enum
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any, Literal

import trio

from octavo.actors.core.actor import Actor, ActorContext
from octavo.actors.core.envelope import Envelope, EnvelopeState
from octavo.actors.core.errors import NotExecuted, StartTimeout, is_crash, stopped, unwrap
from octavo.actors.core.mailbox import Mailbox, ParkObserver
from octavo.actors.core.monitor import Down, StopReason, Watchers
from octavo.actors.core.options import ActorOptions
from octavo.actors.core.runtime import Runtime
from octavo.actors.core.serving import Serving
from octavo.actors.core.statistics import ActorStatistics, MailboxStatistics
from octavo.actors.core.waiting import Waiter

CellState = Literal["new", "starting", "running", "stopping", "down", "closed"]


class _Mode(enum.Enum):
    SERVE = "serve"
    RETIRE = "retire"  # end after the present message; the others stay in the mailbox
    DRAIN = "drain"  # end when the closed mailbox is empty


class Cell(Waiter):
    """Runs the incarnations of one actor, one after the other.

    ``served`` tells whether the present incarnation has handled a message, ``batch`` holds what
    it received last.

    Args:
        parent: path of the supervisor or directory.
        name: name or key below it.
        factory: makes an actor object for each incarnation.
        options: its bounds.
        runtime: what the whole tree shares.
        statistics: where to count.
        park_observer: hears when the actor goes idle and when it is woken.
    """

    __slots__ = (
        "_factory",
        "_mode",
        "_name",
        "_parent",
        "_reason",
        "_watchers",
        "batch",
        "last_error",
        "mailbox",
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
        factory: Callable[[], Actor[Any]],
        options: ActorOptions,
        runtime: Runtime,
        statistics: ActorStatistics,
        park_observer: ParkObserver | None = None,
    ) -> None:
        """Make a cell that has not been started: its mailbox refuses."""
        super().__init__()
        self._parent = parent
        self._name = name
        self._factory = factory
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

    def __str__(self) -> str:
        """The path."""
        return self.path

    @property
    def path(self) -> str:
        """Where the actor stands in the tree."""
        return f"{self._parent}/{self._name}"

    # What the owner tells it

    def open(self) -> None:
        """Accept messages, whether or not an incarnation runs yet."""
        self.restarts_with(None)
        self.mailbox.reopen()

    def drain(self) -> None:
        """Refuse new messages; handle those that wait, then end."""
        self._end_when_empty("drained")

    def finish(self) -> None:
        """As `drain`, at the actor's own wish."""
        self._end_when_empty("finished")

    def _end_when_empty(self, reason: StopReason) -> None:
        self.mailbox.close(stopped(self, "is stopping"))
        if self._mode is not _Mode.DRAIN:
            self._mode = _Mode.DRAIN
            self._reason = reason
        self.mailbox.interrupt()

    def retire(self, reason: StopReason) -> None:
        """End after the present message; new ones and those that wait are kept."""
        if self._mode is _Mode.SERVE:
            self._mode = _Mode.RETIRE
            self._reason = reason
        self.mailbox.interrupt()

    def close(self, refusal: Callable[[], NotExecuted] | None = None) -> None:
        """The end: refuse every waiting and every later message.

        Must not be called while an incarnation runs.
        """
        refusal = refusal or stopped(self)
        self.mailbox.reopen()
        self.mailbox.close(refusal)
        self.mailbox.refuse_waiting(refusal)
        self.state = "closed"
        self._tell_watchers(final=True)

    def first_served(self) -> None:
        """Hear that the present incarnation handled its first message."""

    def mailbox_statistics(self) -> MailboxStatistics:
        """The mailbox as seen from outside, with what its actor received and did not take yet."""
        statistics = self.mailbox.statistics()
        received = [e for e in self.batch if e.state is EnvelopeState.QUEUED]
        if not received:
            return statistics
        oldest = trio.current_time() - received[0].enqueued_at
        depth = statistics.depth + len(received)
        return replace(statistics, depth=depth, oldest_age=oldest)

    def down(self) -> None:
        """Tell watchers that an incarnation ended and another one will come."""
        self._tell_watchers(final=False)

    def _tell_watchers(self, *, final: bool) -> None:
        if self._watchers is not None:
            self._watchers.tell(Down(self.path, self._reason, self.last_error, final))

    @property
    def retiring(self) -> bool:
        """Whether the actor was asked to end and to keep what waits."""
        return self._mode is _Mode.RETIRE

    @property
    def makes_room(self) -> bool:
        """Whether it is to end so that another one may be awake."""
        return self._mode is _Mode.RETIRE and self._reason == "passivated"

    @property
    def is_done(self) -> bool:
        """Whether the actor was asked to end and has nothing to do before."""
        if self._mode is _Mode.SERVE:
            return False
        if not self.mailbox.depth:
            return True
        # One who must make room for others has been of use first: no rotation without progress.
        return self.retiring and (self.served or not self.makes_room)

    @property
    def reason(self) -> StopReason:
        """Why the last incarnation ended."""
        return self._reason

    @property
    def watched(self) -> bool:
        """Whether somebody wants to hear of this actor's end."""
        return self._watchers is not None and self._watchers.any

    @property
    def watchers(self) -> Watchers:
        """Those who want to hear of this actor's end."""
        if self._watchers is None:
            self._watchers = Watchers()
            if self.state == "closed":
                self._tell_watchers(final=True)
        return self._watchers

    # One incarnation

    async def run(self, ready: Callable[[], None]) -> None:
        """Run one incarnation: from a new actor object to its end.

        Returns when the actor was retired, drained or finished; raises the
        error of a crash, taken out of its group if it is alone. If cancelled,
        the message in hand gets `OutcomeUnknown`; those that were not taken
        are back in the mailbox, whatever way this ends.
        """
        self.enter()
        self.served = False
        self.last_error = None
        self.state = "starting"
        try:
            await self._live(ready)
        except BaseException as error:
            if not is_crash(error):
                self._reason = "cancelled"
                raise
            self._reason = "crashed"
            self.last_error = single = unwrap(error)
            raise single from single.__cause__
        finally:
            self._mode = _Mode.SERVE
            self.batch = ()
            self.state = "down"
            self.leave()

    async def _live(self, ready: Callable[[], None]) -> None:
        actor = self._factory()
        if not isinstance(actor, Actor):
            raise TypeError(f"the factory of {self} made {actor!r}, which is no Actor")
        context = actor.context = ActorContext(self)
        serving = Serving(self, actor, context)
        try:
            await self._start(actor, context)
            self.state = "running"
            ready()
            try:
                await serving.run()
            except BaseException as error:
                await self._stop(actor, "crashed" if is_crash(error) else "cancelled", error)
                raise
            await self._stop(actor, self._reason, None)
        finally:
            context.close()

    async def _start(self, actor: Actor[Any], context: ActorContext) -> None:
        await context.fault_point("actor.starting")
        if type(actor).started is Actor.started:
            return
        limit = self.options.start_timeout
        with trio.move_on_after(limit) as scope:
            await actor.started()
        if scope.cancelled_caught:
            raise StartTimeout(f"{self} was not started within {limit:g} s")

    async def _stop(
        self, actor: Actor[Any], reason: StopReason, error: BaseException | None
    ) -> None:
        self.state = "stopping"
        if type(actor).stopping is Actor.stopping:
            return
        with trio.move_on_after(self.options.stopping_timeout, shield=True):
            try:
                await actor.stopping(reason)
            except BaseException as second:
                if error is not None and is_crash(error) and is_crash(second):
                    group = "the handler crashed, and then stopping did"
                    raise BaseExceptionGroup(group, [unwrap(error), second]) from None
                raise
