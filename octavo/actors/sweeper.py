"""Remove what deleted workspaces held, beside all other work."""

import logging

import trio

from octavo.store import Store, StoreUnavailable
from octavo.store.scripts.sweeping import sweep

LOOK_EVERY = 600.0
"""Seconds between two looks for what another process left."""
PAUSE = 0.01
"""Seconds of pause behind each step, in which others have the database for themselves."""

_log = logging.getLogger(__name__)


class Sweeper:
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
        while True:
            self._wake = trio.Event()
            try:
                more = await self._store.write(sweep())
            except StoreUnavailable as error:
                _log.info("what deleted workspaces held is removed later: %s", error)
                more = False
            if more:
                await trio.sleep(PAUSE)
                continue
            with trio.move_on_after(LOOK_EVERY):
                await self._wake.wait()
