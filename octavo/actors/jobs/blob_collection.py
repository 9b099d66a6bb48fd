"""Delete blobs that nothing refers to any more, in the background."""

from collections.abc import Callable

from octavo.actors.jobs.step_loop import StepLoop
from octavo.features.archives import sql as imports
from octavo.features.images import sql as uploads
from octavo.store import Store
from octavo.store.blobs import BlobStore, BlobsUnavailable
from octavo.store.queries import blobs

ATTACHING_SECONDS = 3600.0
"""Seconds for which an expired upload is kept: a change that attaches it may be under way."""


class BlobCollectionJob:
    """Collects blobs when woken, and periodically.

    Args:
        store: the database.
        blobs: the blob store.
        now: the clock, in seconds of Unix time.
    """

    def __init__(self, store: Store, blobs: BlobStore, now: Callable[[], float]) -> None:
        self._store = store
        self._blobs = blobs
        self._now = now
        self._loop = StepLoop("deletion of blobs", self._step, BlobsUnavailable)

    def wake(self) -> None:
        """Start a search immediately."""
        self._loop.wake()

    async def run(self) -> None:
        """Collect until cancelled. A blob is deleted after nothing in the database names it."""
        await self._loop.run()

    async def _step(self) -> bool:
        now = int(self._now() * 1000)
        if await self._store.write(uploads.expire(now - int(ATTACHING_SECONDS * 1000))):
            return True
        if await self._store.write(imports.expire_imports(now)):
            return True
        more = await self._store.write(blobs.check_some(now))
        keys = await self._store.read(blobs.to_delete())
        for key in keys:
            await self._blobs.delete(key)
        if keys:
            await self._store.write(blobs.forget(keys))
        return more or bool(keys)
