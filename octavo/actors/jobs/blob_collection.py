"""Delete blobs that nothing refers to any more, in the background."""

import logging
from collections.abc import Callable

import trio

from octavo.store import Store, StoreError
from octavo.store.blobs import BlobStore, BlobsUnavailable
from octavo.store.scripts import blobs, uploads

POLL_SECONDS = 600.0
"""Seconds between two searches."""
PAUSE = 0.01
"""Seconds between two steps, which leave the database to other work."""
FIRST_PAUSE = 1.0
"""Seconds to wait after a failure, doubled after each further one."""
ATTACHING_SECONDS = 3600.0
"""Seconds for which an expired upload is kept: a change that attaches it may be under way."""

_log = logging.getLogger(__name__)


class BlobCollectionJob:
    """Collects blobs when woken, and every `POLL_SECONDS`.

    Args:
        store: the database.
        blobs: the blob store.
        now: the clock, in seconds of Unix time.
    """

    def __init__(self, store: Store, blobs: BlobStore, now: Callable[[], float]) -> None:
        self._store = store
        self._blobs = blobs
        self._now = now
        self._wake = trio.Event()

    def wake(self) -> None:
        """Start a search immediately."""
        self._wake.set()

    async def run(self) -> None:
        """Collect until cancelled. A blob is deleted after nothing in the database names it."""
        pause = FIRST_PAUSE
        while True:
            self._wake = trio.Event()
            try:
                more = await self._step()
            except (StoreError, BlobsUnavailable) as error:
                _log.info("deletion of blobs is postponed: %s", error)
                await trio.sleep(pause)
                pause = min(pause * 2, POLL_SECONDS)
                continue
            pause = FIRST_PAUSE
            if more:
                await trio.sleep(PAUSE)
                continue
            with trio.move_on_after(POLL_SECONDS):
                await self._wake.wait()

    async def _step(self) -> bool:
        now = int(self._now() * 1000)
        if await self._store.write(uploads.expire(now - int(ATTACHING_SECONDS * 1000))):
            return True
        more = await self._store.write(blobs.check_some(now))
        keys = await self._store.read(blobs.to_delete())
        for key in keys:
            await self._blobs.delete(key)
        if keys:
            await self._store.write(blobs.forget(keys))
        return more or bool(keys)
