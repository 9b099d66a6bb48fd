"""Remove the data of deleted workspaces, purged files and removed accounts in the background."""

from collections.abc import Awaitable, Callable, Sequence

from octavo.actors.jobs.step_loop import StepLoop
from octavo.store import IndexDamaged, Script, Store, StoreError
from octavo.store.queries.audit import erase_clients
from octavo.store.queries.sweeping import sweep


class SweepingJob:
    """Removes deleted data when woken, and periodically.

    Args:
        store: the store to sweep.
        steps: further scripts, each run when nothing is left for those before it.
        renew: makes a damaged index anew.
        swept: called when nothing is left; must not wait. Blobs may be without references then.
    """

    def __init__(
        self,
        store: Store,
        swept: Callable[[], None],
        steps: Sequence[Callable[[], Script[bool]]],
        renew: Callable[[IndexDamaged], Awaitable[None]],
    ) -> None:
        self._store = store
        self._steps = (sweep, *steps, erase_clients)
        self._renew = renew
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
        for script in self._steps:
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
            await self._renew(error)
            return True
