"""Take the words of changed notes into the index, so that a search need not wait for it."""

import logging

import trio

from octavo.store import Store, StoreError
from octavo.store.scripts.indexing import index_some

QUIET = 1.0
"""Seconds between a change and the taking in: what is saved often meanwhile is taken in once."""
LOOK_EVERY = 600.0
"""Seconds between two looks for what another process left."""
SHORTEST_PAUSE = 0.01

_log = logging.getLogger(__name__)


class Indexer:
    """Takes words in, some at a time, at most half of the time.

    Args:
        store: where notes and words are.
    """

    def __init__(self, store: Store) -> None:
        self._store = store
        self._wake = trio.Event()

    def wake(self) -> None:
        """Something was changed."""
        self._wake.set()

    async def run(self) -> None:
        """Take in what there is, until cancelled; a step that is under way then is kept or not."""
        while True:
            self._wake = trio.Event()
            try:
                await self._take_in_all()
            except StoreError as error:
                _log.info("words are taken into the index later: %s", error)
                await trio.sleep(QUIET)
            with trio.move_on_after(LOOK_EVERY):
                await self._wake.wait()
            await trio.sleep(QUIET)

    async def _take_in_all(self) -> None:
        more = True
        while more:
            began = trio.current_time()
            more = await self._store.write(index_some())
            await trio.sleep(max(SHORTEST_PAUSE, trio.current_time() - began))
