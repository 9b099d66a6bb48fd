"""Update the indexes of links and words in the background, and before queries that need them.

`IndexingJob` indexes changed files shortly after each change, so that queries find few unindexed
ones. `catch_up` and `read_links` index the rest for a query that can't wait. Steps of the same
workspace at the same time do no harm: the first to be stored counts.
"""

import logging
import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple, TypeVar

import trio

from octavo.model.identity import WorkspaceId
from octavo.store import Script, Store, StoreError, StoreUnavailable
from octavo.store.scripts.index_backlog import (
    LINKS,
    WORDS,
    FileIndex,
    commit_step,
    next_step,
    workspaces_to_index,
)
from octavo.store.scripts.link_view import LinksOutdated
from octavo.store.transaction import T

E = TypeVar("E")

CATCH_UP_SECONDS = 5.0
"""The longest time that a query waits for an index."""


class StepDone(NamedTuple):
    """The workspaces that may have more to index after a step.

    Attributes:
        left: those of which the step has indexed some files, or none yet.
        overtaken: those of which others have indexed the same files meanwhile.
    """

    left: list[WorkspaceId]
    overtaken: list[WorkspaceId]


async def index_some(
    store: Store, index: FileIndex[E], workspace_ids: Sequence[WorkspaceId]
) -> StepDone:
    """Index some changed files of workspaces; raise `StoreUnavailable`.

    When cancelled, the step is stored entirely or not at all.
    """
    step = await store.read_much(next_step(index, workspace_ids))
    overtaken = await store.write(commit_step(step)) if step.parts else []
    return StepDone([each for each in step.left if each not in overtaken], overtaken)


async def _index_all(
    store: Store, index: FileIndex[E], workspace_ids: Sequence[WorkspaceId]
) -> None:
    while workspace_ids:
        done = await index_some(store, index, workspace_ids)
        workspace_ids = [*done.overtaken, *done.left]


async def catch_up(store: Store, index: FileIndex[E], workspace_ids: Sequence[WorkspaceId]) -> bool:
    """Index the changes of workspaces; return False if that takes longer than `CATCH_UP_SECONDS`.

    What was indexed until then remains, and the next call continues. Raises `StoreUnavailable`.
    """
    with trio.move_on_after(CATCH_UP_SECONDS):
        waiting = await store.read(workspaces_to_index(index, workspace_ids))
        await _index_all(store, index, waiting)
        return True
    return False


async def read_links(store: Store, workspace_id: WorkspaceId, query: Script[T]) -> T:
    """Run a query that may raise `LinksOutdated`; update the link index first when it does.

    The query sees all links at the position that it reads at. Raises `StoreUnavailable`, also when
    the updates take longer than `CATCH_UP_SECONDS`. What was indexed until then remains.
    """
    deadline = trio.current_time() + CATCH_UP_SECONDS
    while True:
        try:
            return await store.read_much(query)
        except LinksOutdated:
            pass
        with trio.move_on_at(deadline) as updating:
            await _index_all(store, LINKS, [workspace_id])
        if updating.cancelled_caught:
            raise StoreUnavailable(
                "The links of the workspace are still being indexed; try again soon."
            )


LINKS_QUIET = 1.0
"""Seconds between a change and the indexing of its links; several saves are indexed once."""
WORDS_QUIET = 5.0
"""Seconds between a change and the indexing of its words."""
POLL_SECONDS = 600.0
"""Seconds between two searches for the backlog that another process left."""
RETRY_SECONDS = 5.0
"""Seconds between a failure of the store and the next attempt."""
SHORTEST_PAUSE = 0.01
OVERTAKEN_PAUSE = 1.0
"""Seconds in which the job does nothing when others index the same files."""

_log = logging.getLogger(__name__)


@dataclass(slots=True)
class _PendingIndex:
    """The workspaces that an index lacks changes of.

    Attributes:
        quiet: seconds between a change and its indexing.
        due: the time of the next step; infinity when nothing is left.
    """

    index: FileIndex[Any]
    quiet: float
    workspaces: set[WorkspaceId] = field(default_factory=set)
    due: float = math.inf

    def add(self, workspace_ids: Iterable[WorkspaceId]) -> None:
        self.workspaces.update(workspace_ids)
        if self.workspaces:
            self.due = min(self.due, trio.current_time() + self.quiet)

    def stepped(self, done: StepDone) -> None:
        self.workspaces = {*done.left, *done.overtaken}
        self.due = trio.current_time() if self.workspaces else math.inf


class IndexingJob:
    """Indexes changed files in small steps, and idles at least half of the time.

    Links are indexed first: no step for words is done while one for links is due.

    Args:
        store: the store of the files and the indexes.
    """

    def __init__(self, store: Store) -> None:
        self._store = store
        self._changed: set[WorkspaceId] = set()
        self._wake = trio.Event()
        self._backlogs = (_PendingIndex(LINKS, LINKS_QUIET), _PendingIndex(WORDS, WORDS_QUIET))
        self._next_look = -math.inf

    def wake(self, workspace_id: WorkspaceId) -> None:
        """Schedule the indexing of a workspace that changed."""
        self._changed.add(workspace_id)
        self._wake.set()

    async def run(self) -> None:
        """Index until cancelled; a step that is cancelled is committed entirely or not at all."""
        while True:
            try:
                if trio.current_time() >= self._next_look:
                    await self._look()
                await self._step()
            except StoreError as error:
                _log.info("indexing is postponed: %s", error)
                await trio.sleep(RETRY_SECONDS)
            await self._wait()

    async def _look(self) -> None:
        for backlog in self._backlogs:
            backlog.add(await self._store.read_much(workspaces_to_index(backlog.index)))
        self._next_look = trio.current_time() + POLL_SECONDS

    async def _step(self) -> None:
        began = trio.current_time()
        backlog = next((each for each in self._backlogs if each.due <= began), None)
        if backlog is not None:
            done = await index_some(self._store, backlog.index, sorted(backlog.workspaces))
            backlog.stepped(done)
            took = trio.current_time() - began
            # A query that indexes the same files waits for them.
            pause = OVERTAKEN_PAUSE if done.overtaken else max(SHORTEST_PAUSE, took)
            await trio.sleep(pause)

    async def _wait(self) -> None:
        """Wait until a step or a look is due, and receive the changes until then."""
        due = [each.due for each in self._backlogs]
        with trio.move_on_at(min(*due, self._next_look)):
            if math.inf not in due:
                # Further changes are due later.
                await trio.sleep_forever()
            await self._wake.wait()
        self._wake = trio.Event()
        for backlog in self._backlogs:
            backlog.add(self._changed)
        self._changed.clear()
