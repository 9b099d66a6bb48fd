"""The lasting part of an actor: its mailbox, its place in the tree, its counters.

An actor object lives from one start to the next crash; the cell lives on. It
runs one incarnation at a time: make the actor, ``started``, messages in order,
``stopping``. Who starts it again, and when, is its supervisor's or its
directory's to decide.
"""

from __future__ import annotations

import enum
from collections.abc import Callable
from typing import Any, Literal

import trio
from trio import current_time

from .actor import Actor, ActorContext, handles_batches
from .crash import is_crash, unwrap
from .envelope import Envelope
from .errors import (
    ActorCrashed,
    BadReply,
    NotExecuted,
    OutcomeUnknown,
    Refusal,
    StartTimeout,
)
from .histogram import Histogram
from .mailbox import Mailbox, ParkObserver, stopped
from .monitor import Down, StopReason, Watchers
from .options import ActorOptions
from .runtime import Observer, Runtime
from .timers import Timers
from .waiting import Waiter

CellState = Literal["new", "starting", "running", "stopping", "down", "closed"]


class _Mode(enum.Enum):
    SERVE = "serve"
    RETIRE = "retire"  # end after the present message; the others stay in the mailbox
    DRAIN = "drain"  # end when the closed mailbox is empty


class ActorStatistics:
    """Counters of one actor, or of all actors of one directory."""

    __slots__ = ("handling", "refused", "wait")

    def __init__(self) -> None:
        """Start at zero."""
        self.wait = Histogram()
        self.handling = Histogram()
        self.refused = 0


class Cell(Waiter):
    """Runs the incarnations of one actor, one after the other.

    ``served`` tells whether the present incarnation has handled a message.

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

    def down(self) -> None:
        """Tell watchers that an incarnation ended and another one will come."""
        self._tell_watchers(final=False)

    def _tell_watchers(self, *, final: bool) -> None:
        if self._watchers is not None:
            self._watchers.tell(Down(self.path, self._reason, self.last_error, final))

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
            self.state = "down"
            self.leave()

    async def _live(self, ready: Callable[[], None]) -> None:
        actor = self._factory()
        serve = self._serve_batches if handles_batches(actor) else self._serve_each
        context = actor.context = ActorContext(self)
        try:
            await self._start(actor, context)
            self.state = "running"
            ready()
            try:
                await serve(actor, context)
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

    async def _receive_until_due(self, timers: Timers) -> list[Envelope[Any]]:
        """The next messages, those of timers that are due among them."""
        limit = self.options.batch_limit
        timers.post_due(self.mailbox, trio.current_time())
        due = timers.next_due()
        if due is None or self.mailbox.depth:
            return await self.mailbox.receive(limit)
        with trio.CancelScope(deadline=due):
            return await self.mailbox.receive(limit)
        return []

    def _is_done(self) -> bool:
        if not self.mailbox.depth:
            return True
        # One who must make room for others has been of use first: no rotation without progress.
        return self._mode is _Mode.RETIRE and (self.served or self._reason != "passivated")

    async def _receive(self, context: ActorContext) -> list[Envelope[Any]] | None:
        """The next messages; an empty list if there may be more later; None at the end."""
        if self._mode is not _Mode.SERVE and self._is_done():
            return None
        if context.timers is None:
            return await self.mailbox.receive(self.options.batch_limit)
        return await self._receive_until_due(context.timers)

    async def _serve_each(self, actor: Actor[Any], context: ActorContext) -> None:
        handle, faults, path = actor.handle, self.runtime.faults, self.path
        while (batch := await self._receive(context)) is not None:
            done = 0
            try:
                now = current_time()
                for envelope in batch:
                    done += 1
                    if not envelope.take():
                        continue
                    try:
                        if faults is not None:
                            await faults.reach("actor.taken", path)
                        value = await handle(envelope.message)
                        if faults is not None:
                            await faults.reach("actor.handled", path)
                    except BaseException as error:  # noqa: BLE001 - the actor boundary
                        self._fail(envelope, error)
                    else:
                        self._answer(envelope, value)
                    now = self._count(envelope, now)
                    if self._mode is _Mode.RETIRE and self._reason != "passivated":
                        break
            finally:
                if done < len(batch):
                    self.mailbox.unreceive(batch[done:])

    def _answer(self, envelope: Envelope[Any], value: object) -> None:
        faults = self.runtime.faults
        if faults is not None and faults.loses_reply(self.path):
            envelope.fail(OutcomeUnknown(f"the answer of {self} was lost"))
        else:
            try:
                envelope.answer(value)
            except BadReply as error:
                envelope.fail(error)
                raise

    def _fail(self, envelope: Envelope[Any], error: BaseException) -> None:
        """Answer with the failure; raises it unless it is a refusal."""
        if not is_crash(error):
            envelope.fail(OutcomeUnknown(f"{self} was cancelled while it handled the message"))
            raise error
        single = unwrap(error)
        if isinstance(single, Refusal):
            self.statistics.refused += 1
            envelope.fail(single)
            if not envelope.is_ask:
                observer = self.runtime.observer
                self.runtime.notify(observer.unheard_refusal, self.path, envelope.message, single)
            return
        envelope.fail(self._crashed(single))
        raise error

    def _crashed(self, error: BaseException) -> ActorCrashed:
        crash = ActorCrashed(f"{self} crashed while it handled the message: {error!r}")
        crash.__cause__ = error
        return crash

    async def _serve_batches(self, actor: Actor[Any], context: ActorContext) -> None:
        faults = self.runtime.faults
        while (batch := await self._receive(context)) is not None:
            taken = [envelope for envelope in batch if envelope.take()]
            if not taken:
                continue
            now = trio.current_time()
            try:
                if faults is not None:
                    await faults.reach("actor.taken", self.path)
                await actor.handle_batch(taken)
                if faults is not None:
                    await faults.reach("actor.handled", self.path)
                self._require_answers(taken)
            except BaseException as error:
                single = unwrap(error)
                for envelope in taken:
                    if envelope.pending:
                        envelope.fail(
                            self._crashed(single)
                            if is_crash(error)
                            else OutcomeUnknown(f"{self} was cancelled while it handled a batch")
                        )
                raise
            for envelope in taken:
                self._count(envelope, now, share=len(taken))

    def _require_answers(self, taken: list[Envelope[Any]]) -> None:
        unanswered = 0
        for envelope in taken:
            if not envelope.is_ask:
                envelope.answer(None)
            elif envelope.pending:
                unanswered += 1
        if unanswered:
            raise BadReply(
                f"{self}.handle_batch left {unanswered} of {len(taken)} messages without an answer;"
                " call reply() or refuse() on each ask"
            )

    def _count(self, envelope: Envelope[Any], since: float, share: int = 1) -> float:
        """Count a handled message; returns the time at which the next one began."""
        now = current_time()
        statistics = self.statistics
        wait, handling = since - envelope.enqueued_at, (now - since) / share
        statistics.wait.record(wait)
        statistics.handling.record(handling)
        self.served = True
        observer = self.runtime.observer
        if type(observer).handled is not Observer.handled:
            self.runtime.notify(observer.handled, self.path, envelope.message, wait, handling)
        return now
