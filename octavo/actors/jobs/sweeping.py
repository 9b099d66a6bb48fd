"""Remove the data of deleted workspaces, purged files and removed accounts in the background."""

import logging

import trio

from octavo.store import Store, StoreError
from octavo.store.scripts.audit import erase_clients
from octavo.store.scripts.fulltext_index import erase_removed_words
from octavo.store.scripts.sweeping import sweep

POLL_SECONDS = 600.0
"""Seconds between two searches for data that another process left."""
PAUSE = 0.01
"""Seconds between two steps, which leave the database to other work."""

FIRST_PAUSE = 1.0
"""Seconds to wait after a failure, doubled after each further one."""

_log = logging.getLogger(__name__)


class SweepingJob:
    """Removes deleted data when woken, and every `POLL_SECONDS`.

    Args:
        store: the store to sweep.
    """

    def __init__(self, store: Store) -> None:
        self._store = store
        self._wake = trio.Event()

    def wake(self) -> None:
        """Start a sweep immediately."""
        self._wake.set()

    async def run(self) -> None:
        """Sweep until cancelled; a cancelled step is committed entirely or not at all."""
        pause = FIRST_PAUSE
        while True:
            self._wake = trio.Event()
            try:
                more = await self._store.write(sweep())
                more = more or await self._store.write(erase_removed_words())
                more = more or await self._store.write(erase_clients())
            except StoreError as error:
                _log.info("removal of deleted data is postponed: %s", error)
                await trio.sleep(pause)
                pause = min(pause * 2, POLL_SECONDS)
                continue
            pause = FIRST_PAUSE
            if more:
                await trio.sleep(PAUSE)
                continue
            with trio.move_on_after(POLL_SECONDS):
                await self._wake.wait()
