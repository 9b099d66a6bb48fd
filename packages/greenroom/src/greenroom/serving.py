"""One incarnation of an actor: create it, `started`, receive, handle, reply, count, `stopping`.

This is the error boundary of an actor: whatever a handler raises becomes a reply, and only a crash
or a cancellation propagates.
"""

from __future__ import annotations

import inspect
from collections.abc import Awaitable, Callable, Sequence
from typing import Any

import trio

from greenroom import errors
from greenroom.actor import Actor, ActorContext, handles_batches
from greenroom.cell import Cell
from greenroom.mailbox import Envelope, EnvelopeState
from greenroom.monitor import StopReason
from greenroom.runtime import Observer
from greenroom.timers import Timers

_NOTHING: list[Envelope[Any]] = []


async def run_incarnation(cell: Cell, ready: Callable[[], None]) -> None:
    """Run one incarnation of the actor of ``cell``, from a new actor object to its end.

    Returns when the actor was retired, drained or finished; raises the error of a crash,
    unwrapped if its group contains no other. If cancelled, the message being handled fails
    with `OutcomeUnknown`. However it ends, the messages not taken are back in the mailbox.

    Raises:
        InvalidActor: the factory returned no usable actor.
    """
    cell.begin()
    try:
        actor = _require_actor(cell.factory(), cell.path)
        cell.learn_message_types(actor.message_types())
        await Serving(cell, actor).run(ready)
    except BaseException as error:
        crash = cell.fail(error)
        if crash is None:
            raise
        try:
            raise crash from crash.__cause__
        finally:
            del crash
    finally:
        cell.end()


def _require_actor(made: object, path: str) -> Actor[Any]:
    """Return what a factory made, if it is a usable actor.

    Raises:
        InvalidActor: it is not.
    """
    if not isinstance(made, Actor):
        if inspect.iscoroutine(made):
            made.close()
        raise errors.InvalidActor(
            f"the factory of {path} returned {made!r}, which is not an Actor; it is not called"
            " again. The message was not executed."
        )
    try:
        handles_batches(type(made))
    except TypeError as error:
        raise errors.InvalidActor(
            f"the factory of {path} returned an unusable actor: {error}"
        ) from None
    return made


class Serving(ActorContext):
    """Handles the messages of ``cell`` with ``actor`` until the cell is done; is its context."""

    __slots__ = ("_actor", "_serve")

    def __init__(self, cell: Cell, actor: Actor[Any]) -> None:
        """Select the loop: single messages, or batches."""
        super().__init__(cell)
        self._actor = actor
        self._serve: Callable[[], Awaitable[None]] = (
            self._serve_batches if handles_batches(type(actor)) else self._serve_each
        )
        actor.context = self

    async def run(self, ready: Callable[[], None]) -> None:
        """Run from `Actor.started` to `Actor.stopping`; ``ready`` is called between them."""
        cell, actor = self._cell, self._actor
        try:
            try:
                # Each wake-up passes through every coroutine of the actor: so this is only one.
                try:
                    with self._scope:
                        await self._start()
                        cell.state = "running"
                        if type(actor).answer is not Actor.answer:
                            cell.answer = actor.answer
                        ready()
                        await self._serve()
                except BaseException as error:
                    await self._end_tasks(error)
                    raise
                await self._end_tasks(None)
            except BaseException as error:
                if cell.state == "running":
                    await self._stop("crashed" if errors.is_crash(error) else "cancelled", error)
                raise
            await self._stop(cell.reason, None)
        finally:
            self._close()

    async def _start(self) -> None:
        await self.fault_point("actor.starting")
        if type(self._actor).started is Actor.started:
            return
        limit = self._cell.options.start_timeout
        with trio.move_on_after(limit) as scope:
            await self._actor.started()
        if scope.cancelled_caught:
            raise errors.StartTimeout(f"{self._cell} did not start within {limit:g} s")

    async def _stop(self, reason: StopReason, error: BaseException | None) -> None:
        self._cell.state = "stopping"
        if type(self._actor).stopping is Actor.stopping:
            return
        with trio.move_on_after(self._cell.options.stopping_timeout, shield=True):
            try:
                await self._actor.stopping(reason)
            except BaseException as second:
                if error is not None and errors.is_crash(error) and errors.is_crash(second):
                    group = "the handler crashed, and then stopping did"
                    raise BaseExceptionGroup(group, [errors.unwrap(error), second]) from None
                raise

    async def _end_tasks(self, error: BaseException | None) -> None:
        """End the tasks of an actor that has handled its last message; raise what they raised."""
        self._cell.answer = None
        self._stopping = True
        if self._tasks is None:
            return
        await self._tasks.end(f"{self.path} has handled its last message")
        task_error = self._tasks.error
        if task_error is None:
            return
        try:
            if error is None:
                raise task_error
            if errors.is_crash(error):
                group = "the actor crashed, and one of its tasks did"
                raise BaseExceptionGroup(group, [errors.unwrap(error), task_error]) from None
        finally:
            del task_error, error

    def _close(self) -> None:
        """Drop timers and watches."""
        self._ended = True
        self._timers = None
        for watchers, callback in self._watched or ():
            watchers.remove(callback)
        self._watched = None

    async def _receive_until_due(self, timers: Timers) -> list[Envelope[Any]]:
        """Return the next messages, including those of timers that are due."""
        limit = self._cell.options.batch_limit
        timers.post_due(self._cell.mailbox, trio.current_time())
        due = timers.next_due()
        if due is None or self._cell.mailbox.depth:
            return await self._cell.mailbox.receive(limit)
        with trio.CancelScope(deadline=due):
            return await self._cell.mailbox.receive(limit)
        return []

    def _receive(self) -> Awaitable[list[Envelope[Any]]]:
        """Wait for messages; the caller must await the result immediately. It may be empty."""
        timers = self._timers
        if timers is None:
            return self._cell.mailbox.receive(self._cell.options.batch_limit)
        return self._receive_until_due(timers)

    async def _serve_each(self) -> None:
        cell = self._cell
        handle, faults, path = self._actor.handle, self._cell.runtime.faults, self._cell.path
        current_time = cell.mailbox.now
        envelope: Envelope[Any] | None
        while not cell.is_done:
            # While waiting, keep no reference to what was handled.
            batch, envelope, value = _NOTHING, None, None
            cell.batch = batch
            batch = await self._receive()
            done = 0
            cell.batch = batch
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
                        if faults is not None and faults.loses_reply(path):
                            envelope.fail(errors.OutcomeUnknown(f"the reply of {path} was lost"))
                        else:
                            envelope.reply_with(value)
                    except BaseException as error:
                        if not self._refused(envelope, error):
                            raise
                    began, now = now, current_time()
                    self._count((envelope,), began, now)
                    if cell.retiring and not cell.makes_room:
                        break
            finally:
                if done < len(batch):
                    self._cell.mailbox.unreceive(batch[done:])

    def _refused(self, envelope: Envelope[Any], error: BaseException) -> bool:
        """Reply with the failure; return whether it is a refusal, after which the actor goes on."""
        if not errors.is_crash(error):
            envelope.fail(self._cancelled("the message"))
            return False
        single = errors.unwrap(error)
        if isinstance(single, errors.Refusal):
            self._cell.statistics.refused += 1
            envelope.fail(single)
            if not envelope.is_ask:
                observer = self._cell.runtime.observer
                self._cell.runtime.notify(
                    observer.tell_refused, self._cell.path, envelope.message, single
                )
            return True
        envelope.fail(self._crashed(single))
        return False

    def _crashed(self, error: BaseException) -> errors.ActorCrashed:
        crash = errors.ActorCrashed(f"{self._cell} crashed while it handled the message: {error!r}")
        crash.__cause__ = error
        return crash

    def _cancelled(self, what: str) -> errors.OutcomeUnknown:
        """Return the error for a message whose handler was cancelled."""
        tasks = self._tasks
        if tasks is not None and tasks.error is not None:
            crash = errors.ActorCrashed(
                f"a task of {self._cell} crashed while the actor handled {what}: {tasks.error!r}"
            )
            crash.__cause__ = tasks.error
            return crash
        return errors.OutcomeUnknown(f"{self._cell} was cancelled while it handled {what}")

    async def _serve_batches(self) -> None:
        faults = self._cell.runtime.faults
        current_time = self._cell.mailbox.now
        while not self._cell.is_done:
            # While waiting, keep no reference to what was handled.
            batch = taken = _NOTHING
            batch = await self._receive()
            taken = [envelope for envelope in batch if envelope.take()]
            if not taken:
                continue
            now = current_time()
            try:
                if faults is not None:
                    await faults.reach("actor.taken", self._cell.path)
                await self._actor.handle_batch(taken)
                if faults is not None:
                    await faults.reach("actor.handled", self._cell.path)
                self._require_replies(taken)
            except BaseException as error:
                single = errors.unwrap(error)
                for envelope in taken:
                    if envelope.pending:
                        envelope.fail(
                            self._crashed(single)
                            if errors.is_crash(error)
                            else self._cancelled("a batch")
                        )
                raise
            self._count(taken, now, current_time())

    def _require_replies(self, taken: list[Envelope[Any]]) -> None:
        unanswered = 0
        for envelope in taken:
            if not envelope.is_ask:
                envelope.reply_with(None)
            elif envelope._state is not EnvelopeState.DONE:
                unanswered += 1
        if unanswered:
            raise errors.BadReply(
                f"{self._cell}.handle_batch left {unanswered} of {len(taken)} messages without a"
                " reply; call reply() or refuse() on each ask"
            )

    def _count(self, envelopes: Sequence[Envelope[Any]], since: float, until: float) -> None:
        """Count messages that were handled together."""
        cell = self._cell
        statistics, handling = cell.statistics, (until - since) / len(envelopes)
        for envelope in envelopes:
            statistics.wait.record(since - envelope.enqueued_at)
        statistics.handling.record(handling, len(envelopes))
        if not cell.served:
            cell.served = True
            cell.handled_first_message()
        observer = cell.runtime.observer
        if type(observer).handled is not Observer.handled:
            for envelope in envelopes:
                wait = since - envelope.enqueued_at
                cell.runtime.notify(observer.handled, cell.path, envelope.message, wait, handling)
