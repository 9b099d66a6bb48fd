"""Update the full-text and link indexes in the background, or on demand.

`IndexingJob` indexes changed notes shortly after each change, so that a search finds few unindexed
notes. `catch_up_links` completes the link index of one workspace for callers that need every link.
"""

import logging

import trio

from octavo.model.identity import WorkspaceId
from octavo.store import Store, StoreError
from octavo.store.scripts.index_backlog import (
    first_unlinked,
    index_backlog,
    index_unlinked,
    workspaces_to_index,
)

CATCH_UP_SECONDS = 5.0
"""The longest time that a caller waits; thousands of notes are indexed per second."""


async def catch_up_links(store: Store, workspace_id: WorkspaceId) -> bool:
    """Index the links of files that the link index lacks; return whether it is complete.

    The index lacks notes written before it existed, until this function or the indexer reaches
    them. It stops after `CATCH_UP_SECONDS`; the progress remains for the next call. Raises
    `octavo.store.StoreUnavailable`.
    """
    with trio.move_on_after(CATCH_UP_SECONDS):
        # A workspace without a full-text backlog has no link backlog, so most calls end here.
        if not await store.read(workspaces_to_index([workspace_id])):
            return True
        file_id = await store.read_much(first_unlinked(workspace_id))
        while file_id is not None:
            file_id = await store.write(index_unlinked(workspace_id, file_id))
        return True
    return False


QUIET = 5.0
"""Seconds between a change and its indexing; several saves in this time are indexed once."""
POLL_SECONDS = 600.0
"""Seconds between two searches for the backlog that another process left."""
SHORTEST_PAUSE = 0.01

_log = logging.getLogger(__name__)


class IndexingJob:
    """Indexes changed notes in small steps, and idles at least half of the time.

    Args:
        store: the store of the notes and the index.
    """

    def __init__(self, store: Store) -> None:
        self._store = store
        self._changed: set[WorkspaceId] = set()
        self._wake = trio.Event()

    def wake(self, workspace_id: WorkspaceId) -> None:
        """Schedule the indexing of a workspace that changed."""
        self._changed.add(workspace_id)
        self._wake.set()

    async def run(self) -> None:
        """Index until cancelled; a step that is cancelled is committed entirely or not at all."""
        next_look = trio.current_time()
        while True:
            try:
                if trio.current_time() >= next_look:
                    self._changed.update(await self._store.read_much(workspaces_to_index()))
                    next_look = trio.current_time() + POLL_SECONDS
                await self._index_all()
            except StoreError as error:
                _log.info("indexing is postponed: %s", error)
                await trio.sleep(QUIET)
            with trio.move_on_at(next_look):
                await self._wake.wait()
            await trio.sleep(QUIET)

    async def _index_all(self) -> None:
        self._wake = trio.Event()
        left, self._changed = sorted(self._changed), set()
        try:
            while left:
                began = trio.current_time()
                left = await self._store.write(index_backlog(left))
                await trio.sleep(max(SHORTEST_PAUSE, trio.current_time() - began))
        finally:
            self._changed.update(left)
