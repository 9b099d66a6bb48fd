"""Update the indexes of links and words in the background, and before queries that need them.

`IndexingJob` indexes changed files shortly after each change, so that queries find few unindexed
ones. `catch_up` and `read_links` index the rest for a query that can't wait. Concurrent steps of a
workspace do no harm: the first that is stored wins, and the others store nothing.
"""

import logging
import math
from collections.abc import Hashable, Iterable, Sequence
from functools import partial
from operator import attrgetter
from typing import Any, Generic, NamedTuple, TypeVar

import trio
from octavo_rules.identity import WorkspaceId

from octavo.actors.jobs.housekeeping import StepLoop
from octavo.store import IndexDamaged, Store, StoreError
from octavo.store.queries.index_backlog import (
    SLICE_BYTES,
    FileIndex,
    Upkeep,
    commit_step,
    next_step,
    workspaces_to_index,
)

K = TypeVar("K", bound=Hashable)


class Debounce(Generic[K]):
    """Keys that have changed. Each is due when its changes pause, or after a maximum time.

    Times are in seconds of one clock that does not go back.

    Args:
        quiet: the time without a change after which a key is due.
        longest: the time after its first change after which it is due in any case.
    """

    def __init__(self, quiet: float, longest: float) -> None:
        self._quiet = quiet
        self._longest = longest
        # In the order of the last changes, and of the first changes.
        self._last: dict[K, float] = {}
        self._first: dict[K, float] = {}

    def changed(self, key: K, now: float) -> None:
        """Record a change of ``key``; ``now`` is not before the time of another call."""
        self._last.pop(key, None)
        self._last[key] = now
        self._first.setdefault(key, now)

    def due(self) -> float:
        """Return the time when the next key is due; infinity without any."""
        if not self._last:
            return math.inf
        pause = next(iter(self._last.values())) + self._quiet
        return min(pause, next(iter(self._first.values())) + self._longest)

    def take(self, now: float) -> set[K]:
        """Remove the keys that are due, and return them."""
        taken: set[K] = set()
        for times, delay in ((self._last, self._quiet), (self._first, self._longest)):
            for key, time in times.items():
                if time + delay > now:
                    break
                taken.add(key)
        for key in taken:
            del self._last[key], self._first[key]
        return taken


E = TypeVar("E")

CATCH_UP_SECONDS = 5.0
"""The longest time that a query waits for an index."""


class StepDone(NamedTuple):
    """The workspaces that may have more to index after a step.

    Attributes:
        left: those of which the step has indexed none yet, then the one of which it has some.
        overtaken: those of which others have indexed the same files meanwhile.
    """

    left: list[WorkspaceId]
    overtaken: list[WorkspaceId]


async def index_some(
    store: Store,
    index: FileIndex[E],
    workspace_ids: Sequence[WorkspaceId],
    max_bytes: int = SLICE_BYTES,
) -> StepDone:
    """Index some changed files of workspaces, with ``max_bytes`` of text or a longer one alone.

    Raises `StoreUnavailable`. When cancelled, the step is stored entirely or not at all.
    """
    step = await store.read_much(next_step(index, workspace_ids, max_bytes))
    if not step.parts:
        return StepDone(step.left, [])
    stored = await store.write(commit_step(step))
    left = dict.fromkeys((*step.left, *stored.unfinished))
    overtaken = stored.overtaken
    return StepDone(
        [workspace_id for workspace_id in left if workspace_id not in overtaken], overtaken
    )


async def index_all(
    store: Store, index: FileIndex[E], workspace_ids: Sequence[WorkspaceId]
) -> None:
    """Index the changes of workspaces. Raises `StoreUnavailable`."""
    while workspace_ids:
        done = await index_some(store, index, workspace_ids)
        workspace_ids = [*done.overtaken, *done.left]


async def catch_up(store: Store, index: FileIndex[E], workspace_ids: Sequence[WorkspaceId]) -> bool:
    """Index the changes of workspaces; return False if that takes longer than `CATCH_UP_SECONDS`.

    What was indexed until then remains, and the next call continues. Raises `StoreUnavailable`.
    """
    with trio.move_on_after(CATCH_UP_SECONDS):
        waiting = await store.read(workspaces_to_index(index, workspace_ids))
        await index_all(store, index, waiting)
        return True
    return False


async def renew_damaged(
    store: Store, indexes: Iterable[FileIndex[Any]], error: IndexDamaged
) -> None:
    """Empty the indexes that can be damaged, after ``error``: all files are indexed again.

    Raises `StoreUnavailable`. Cancelling leaves each empty or as it is.
    """
    _log.warning("%s; it is made anew", error)
    for index in indexes:
        if index.upkeep is not None:
            await store.write(index.upkeep.renew)


LONGEST_DELAY = 10.0
"""Seconds after which changes are indexed although others follow, as during an import."""
BUSY_SECONDS = 5.0
"""Seconds after a change in which steps are small."""
SMALL_BYTES = 16 * 1024
"""Bytes of texts in a small step; other writes wait while it is stored."""
POLL_SECONDS = 600.0
"""Seconds between two searches for the backlog that another process left."""
TURN_SECONDS = 2.0
"""Seconds that an index waits for one before it until they take turns."""
RETRY_SECONDS = 5.0
"""Seconds between a failure of the store and the next attempt."""
SHORTEST_PAUSE = 0.003
OVERTAKEN_PAUSE = 1.0
"""Seconds in which the job does nothing when others index the same files."""

_log = logging.getLogger(__name__)


class _PendingIndex:
    """The workspaces that an index lacks changes of.

    Attributes:
        index: the index.
        debounce: the workspaces whose changes are indexed later.
        begun: those that are indexed now, in the order of their turns, with the time when they were
            due.
        used: seconds of steps since the indexes began to take turns.
    """

    def __init__(self, index: FileIndex[Any]) -> None:
        self.index = index
        self.debounce: Debounce[WorkspaceId] = Debounce(index.quiet, LONGEST_DELAY)
        self.begun: dict[WorkspaceId, float] = {}
        self.used = 0.0

    def begin(self, now: float) -> None:
        """Append the workspaces that are due to those that are indexed."""
        for workspace_id in sorted(self.debounce.take(now)):
            self.begun.setdefault(workspace_id, now)

    def due(self) -> float:
        """Return the time of the next step; infinity when nothing is left."""
        return -math.inf if self.begun else self.debounce.due()


class IndexingJob:
    """Indexes changed files in steps, and idles at least half of the time.

    Steps are small while others write.

    Workspaces take turns: a step begins with those that the previous one did not reach. The first
    index has priority; after another one has waited for `TURN_SECONDS`, they get equal time. Former
    entries are removed after new ones were indexed.

    Args:
        store: the store of the files and the indexes.
        indexes: the first is updated first.
    """

    def __init__(self, store: Store, indexes: Sequence[FileIndex[Any]]) -> None:
        self._store = store
        self._indexes = indexes
        # The time of the last change of each, in the order of these times.
        self._changed: dict[WorkspaceId, float] = {}
        self._changed_at = -math.inf
        self._wake = trio.Event()
        self._backlogs = [*map(_PendingIndex, indexes)]
        self._next_look = -math.inf
        self._removals = {
            index.name: StepLoop(f"removal of {index.name}", partial(self._remove, index.upkeep))
            for index in indexes
            if index.upkeep is not None
        }

    def wake(self, workspace_id: WorkspaceId, _: object = None) -> None:
        """Schedule the indexing of a workspace that changed; called with each commit, too."""
        self._changed_at = trio.current_time()
        self._changed.pop(workspace_id, None)
        self._changed[workspace_id] = self._changed_at
        self._wake.set()

    def look(self) -> None:
        """Search for files that are not indexed, for example after an index was emptied."""
        self._next_look = -math.inf
        self._wake.set()

    async def run(self) -> None:
        """Index until cancelled; a step that is cancelled is committed entirely or not at all."""
        async with trio.open_nursery() as nursery:
            for removal in self._removals.values():
                nursery.start_soon(removal.run)
            await self._index()

    async def _remove(self, upkeep: Upkeep) -> bool:
        if not await self._store.read(upkeep.is_left):
            return False
        began = trio.current_time()
        try:
            more = await self._store.write(upkeep.remove())
        except IndexDamaged as error:
            await renew_damaged(self._store, self._indexes, error)
            self.look()
            return False
        await trio.sleep(trio.current_time() - began)
        return more

    async def _index(self) -> None:
        while True:
            try:
                try:
                    if trio.current_time() >= self._next_look:
                        await self._look()
                    await self._step()
                except IndexDamaged as error:
                    await renew_damaged(self._store, self._indexes, error)
                    self.look()
            except StoreError as error:
                _log.info("indexing is postponed: %s", error)
                await trio.sleep(RETRY_SECONDS)
            await self._wait()

    async def _look(self) -> None:
        for backlog in self._backlogs:
            upkeep = backlog.index.upkeep
            if upkeep is not None and await self._store.read(upkeep.is_worn_out):
                await self._store.write(upkeep.renew)
            waiting = await self._store.read_much(workspaces_to_index(backlog.index))
            self._receive()
            now = trio.current_time()
            for workspace_id in waiting:
                backlog.debounce.changed(workspace_id, now)
        self._next_look = trio.current_time() + POLL_SECONDS

    async def _step(self) -> None:
        began = trio.current_time()
        for backlog in self._backlogs:
            backlog.begin(began)
        pending = self._next_index(began)
        if pending is not None:
            size = SMALL_BYTES if began - self._changed_at < BUSY_SECONDS else SLICE_BYTES
            done = await index_some(self._store, pending.index, [*pending.begun], size)
            if pending.index.name in self._removals:
                self._removals[pending.index.name].wake()
            pending.begun = {
                workspace_id: pending.begun[workspace_id]
                for workspace_id in (*done.left, *done.overtaken)
            }
            took = max(SHORTEST_PAUSE, trio.current_time() - began)
            pending.used += took
            # A query that indexes the same files waits for them.
            await trio.sleep(OVERTAKEN_PAUSE if done.overtaken else took)

    def _next_index(self, now: float) -> _PendingIndex | None:
        """Return the index that the next step updates; None when no workspace is due."""
        begun = [backlog for backlog in self._backlogs if backlog.begun]
        late = [
            backlog for backlog in begun[1:] if min(backlog.begun.values()) + TURN_SECONDS <= now
        ]
        if late:
            return min((begun[0], *late), key=attrgetter("used"))
        for backlog in self._backlogs:
            backlog.used = 0.0
        return begun[0] if begun else None

    async def _wait(self) -> None:
        """Wait until a step or a look is due, and receive the changes until then."""
        due = [backlog.due() for backlog in self._backlogs]
        with trio.move_on_at(min(*due, self._next_look)):
            if math.inf not in due:
                # Further changes are due later.
                await trio.sleep_forever()
            await self._wake.wait()
        self._receive()

    def _receive(self) -> None:
        self._wake = trio.Event()
        for backlog in self._backlogs:
            for workspace_id, changed_at in self._changed.items():
                backlog.debounce.changed(workspace_id, changed_at)
        self._changed.clear()
