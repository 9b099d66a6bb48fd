"""The message loop of an incarnation: receive, handle, reply, count.

This is the error boundary of an actor: whatever a handler raises becomes a reply, and only a crash
or a cancellation propagates.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from typing import TYPE_CHECKING, Any

import trio

from greenroom.actor import Actor, ActorContext, handles_batches
from greenroom.envelope import Envelope, EnvelopeState
from greenroom.errors import (
    ActorCrashed,
    BadReply,
    OutcomeUnknown,
    Refusal,
    is_crash,
    unwrap,
)
from greenroom.runtime import Observer
from greenroom.timers import Timers

if TYPE_CHECKING:
    from greenroom.cell import Cell

_NOTHING: list[Envelope[Any]] = []


class Serving:
    """Handles the messages of ``cell`` with ``actor`` until the cell is done."""

    def __init__(self, cell: Cell, actor: Actor[Any], context: ActorContext) -> None:
        """Select the loop: single messages, or batches."""
        self._cell = cell
        self._actor = actor
        self._context = context
        self._serve: Callable[[], Awaitable[None]] = (
            self._serve_batches if handles_batches(type(actor)) else self._serve_each
        )

    # Not an async function: each message passes all of an actor's coroutines again.
    def run(self) -> Awaitable[None]:
        """Handle messages; raise the error of a crash, with untaken messages in the mailbox."""
        return self._serve()

    async def _receive_until_due(self, timers: Timers) -> list[Envelope[Any]]:
        """Return the next messages, including those of timers that are due."""
        limit = self._cell.options.batch_limit
        self._cell.mailbox.lends = False
        timers.post_due(self._cell.mailbox, trio.current_time())
        due = timers.next_due()
        if due is None or self._cell.mailbox.depth:
            return await self._cell.mailbox.receive(limit)
        with trio.CancelScope(deadline=due):
            return await self._cell.mailbox.receive(limit)
        return []

    def _receive(self) -> Awaitable[list[Envelope[Any]]]:
        """Wait for messages; the caller must await the result immediately. It may be empty."""
        timers = self._context.timers
        if timers is None:
            return self._cell.mailbox.receive(self._cell.options.batch_limit)
        return self._receive_until_due(timers)

    async def _serve_each(self) -> None:
        cell = self._cell
        handle, faults, path = self._actor.handle, self._cell.runtime.faults, self._cell.path
        current_time = cell.mailbox.now
        envelope: Envelope[Any] | None
        while not cell.is_done:
            # While it waits, it holds nothing of what it has handled.
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
                            envelope.fail(OutcomeUnknown(f"the reply of {path} was lost"))
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
        if not is_crash(error):
            envelope.fail(self._cancelled("the message"))
            return False
        single = unwrap(error)
        if isinstance(single, Refusal):
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

    def _crashed(self, error: BaseException) -> ActorCrashed:
        crash = ActorCrashed(f"{self._cell} crashed while it handled the message: {error!r}")
        crash.__cause__ = error
        return crash

    def _cancelled(self, what: str) -> OutcomeUnknown:
        """Return the error for a message whose handler was cancelled."""
        tasks = self._context.tasks
        if tasks is not None and tasks.error is not None:
            crash = ActorCrashed(
                f"a task of {self._cell} crashed while the actor handled {what}: {tasks.error!r}"
            )
            crash.__cause__ = tasks.error
            return crash
        return OutcomeUnknown(f"{self._cell} was cancelled while it handled {what}")

    async def _serve_batches(self) -> None:
        faults = self._cell.runtime.faults
        current_time = self._cell.mailbox.now
        while not self._cell.is_done:
            # While it waits, it holds nothing of what it has handled.
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
                single = unwrap(error)
                for envelope in taken:
                    if envelope.pending:
                        envelope.fail(
                            self._crashed(single) if is_crash(error) else self._cancelled("a batch")
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
            raise BadReply(
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
