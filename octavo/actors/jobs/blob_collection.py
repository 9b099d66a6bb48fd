"""Delete blobs that nothing refers to any more, in the background."""

from collections.abc import Callable, Sequence

from octavo.actors.jobs.step_loop import StepLoop
from octavo.store import Script, Store
from octavo.store.blobs import BlobStore, BlobsUnavailable
from octavo.store.queries import blobs


class BlobCollectionJob:
    """Collects blobs when woken, and periodically.

    Args:
        store: the database.
        blobs: the blob store.
        now: the clock, in seconds of Unix time.
        expired: return scripts for a time in Unix milliseconds; each removes what has expired and
            refers to blobs, and returns whether more is left.
    """

    def __init__(
        self,
        store: Store,
        blobs: BlobStore,
        now: Callable[[], float],
        expired: Sequence[Callable[[int], Script[bool]]],
    ) -> None:
        self._expired = expired
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
        for remove in self._expired:
            if await self._store.write(remove(now)):
                return True
        more = await self._store.write(blobs.check_some(now))
        keys = await self._store.read(blobs.to_delete())
        for key in keys:
            await self._blobs.delete(key)
        if keys:
            await self._store.write(blobs.forget(keys))
        return more or bool(keys)
