"""Remove the data of deleted workspaces, purged files and removed accounts in the background."""

from collections.abc import Callable

from octavo.actors.jobs.indexing import renew_damaged_words
from octavo.actors.jobs.step_loop import StepLoop
from octavo.features.search.sql.fulltext_index import erase_removed_words
from octavo.store import IndexDamaged, Script, Store, StoreError
from octavo.store.queries.audit import erase_clients
from octavo.store.queries.sweeping import sweep


class SweepingJob:
    """Removes deleted data when woken, and periodically.

    Args:
        store: the store to sweep.
        swept: called when nothing is left; must not wait. Blobs may be without references then.
    """

    def __init__(self, store: Store, swept: Callable[[], None]) -> None:
        self._store = store
        self._swept = swept
        self._loop = StepLoop("removal of deleted data", self._step)

    def wake(self) -> None:
        """Start a sweep immediately, as something was deleted."""
        self._loop.wake()

    async def run(self) -> None:
        """Sweep until cancelled; a cancelled step is committed entirely or not at all."""
        await self._loop.run()

    async def _step(self) -> bool:
        failed: StoreError | None = None
        for script in (sweep, erase_removed_words, erase_clients):
            try:
                if await self._write(script()):
                    return True
            except StoreError as error:
                # What can't be removed keeps nothing else from being removed.
                failed = failed or error
        try:
            if failed is not None:
                raise failed
        finally:
            del failed
        self._swept()
        return False

    async def _write(self, script: Script[bool]) -> bool:
        try:
            return await self._store.write(script)
        except IndexDamaged as error:
            await renew_damaged_words(self._store, error)
            return True
