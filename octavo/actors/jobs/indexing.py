"""Have the index of links know every file of a workspace, for whoever needs all links there are.

Take the words of changed notes into the index, so that a search need not wait for it.
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
"""For which somebody waits at most; thousands of notes are taken in each second."""


async def catch_up_links(store: Store, workspace_id: WorkspaceId) -> bool:
    """Have the links taken in of files that the index lacks; return whether it has all of them.

    It lacks those from before there was one, until somebody asks, or the indexer has come to them.
    This gives up in time, and what was taken in stays for the next call. Raises
    `octavo.store.StoreUnavailable`.
    """
    with trio.move_on_after(CATCH_UP_SECONDS):
        # Where no words wait, no links do; so nothing is looked through as a rule.
        if not await store.read(workspaces_to_index([workspace_id])):
            return True
        behind = await store.read_much(first_unlinked(workspace_id))
        while behind is not None:
            behind = await store.write(index_unlinked(workspace_id, behind))
        return True
    return False


QUIET = 5.0
"""Seconds between a change and the taking in: what is saved often meanwhile is taken in once."""
LOOK_EVERY = 600.0
"""Seconds between two looks for what another process left."""
SHORTEST_PAUSE = 0.01

_log = logging.getLogger(__name__)


class IndexingJob:
    """Takes words in, some at a time, at most half of the time.

    Args:
        store: where notes and words are.
    """

    def __init__(self, store: Store) -> None:
        self._store = store
        self._changed: set[WorkspaceId] = set()
        self._wake = trio.Event()

    def wake(self, workspace_id: WorkspaceId) -> None:
        """Something was changed in the workspace."""
        self._changed.add(workspace_id)
        self._wake.set()

    async def run(self) -> None:
        """Take in what there is, until cancelled; a step that is under way then is kept or not."""
        next_look = trio.current_time()
        while True:
            try:
                if trio.current_time() >= next_look:
                    self._changed.update(await self._store.read_much(workspaces_to_index()))
                    next_look = trio.current_time() + LOOK_EVERY
                await self._take_in_all()
            except StoreError as error:
                _log.info("words are taken into the index later: %s", error)
                await trio.sleep(QUIET)
            with trio.move_on_at(next_look):
                await self._wake.wait()
            await trio.sleep(QUIET)

    async def _take_in_all(self) -> None:
        self._wake = trio.Event()
        left, self._changed = sorted(self._changed), set()
        try:
            while left:
                began = trio.current_time()
                left = await self._store.write(index_backlog(left))
                await trio.sleep(max(SHORTEST_PAUSE, trio.current_time() - began))
        finally:
            self._changed.update(left)
