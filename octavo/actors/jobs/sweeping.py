"""Remove what deleted workspaces and purged files held, beside all other work."""

import logging

import trio

from octavo.store import Store, StoreError
from octavo.store.scripts.fulltext_index import erase_removed_words
from octavo.store.scripts.sweeping import sweep

LOOK_EVERY = 600.0
"""Seconds between two looks for what another process left."""
PAUSE = 0.01
"""Seconds of pause behind each step, in which others have the database for themselves."""

FIRST_PAUSE = 1.0
"""Seconds of pause behind a failure; twice as long behind the next."""

_log = logging.getLogger(__name__)


class SweepingJob:
    """Sweeps when there is something to sweep, and from time to time.

    Args:
        store: what is swept.
    """

    def __init__(self, store: Store) -> None:
        self._store = store
        self._wake = trio.Event()

    def wake(self) -> None:
        """Sweep now."""
        self._wake.set()

    async def run(self) -> None:
        """Sweep, until cancelled; a step that is under way then is kept or was never made."""
        pause = FIRST_PAUSE
        while True:
            self._wake = trio.Event()
            try:
                more = await self._store.write(sweep())
                more = more or await self._store.write(erase_removed_words())
            except StoreError as error:
                _log.info("what was deleted is removed later: %s", error)
                await trio.sleep(pause)
                pause = min(pause * 2, LOOK_EVERY)
                continue
            pause = FIRST_PAUSE
            if more:
                await trio.sleep(PAUSE)
                continue
            with trio.move_on_after(LOOK_EVERY):
                await self._wake.wait()
