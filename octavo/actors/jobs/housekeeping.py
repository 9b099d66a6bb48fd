"""Background jobs in small steps: retention, sweeping, and the collection of blobs."""

import logging
from collections.abc import Awaitable, Callable, Sequence
from functools import partial

import trio

from octavo.store import IndexDamaged, Script, Store, StoreError
from octavo.store.blobs import BlobStore, BlobsUnavailable
from octavo.store.queries import blobs
from octavo.store.queries.audit import erase_clients
from octavo.store.queries.sweeping import sweep

POLL_SECONDS = 600.0
"""Seconds between two searches for work that nobody announced."""

"""Seconds between two steps, which leave the database to other work."""
FIRST_PAUSE = 1.0
"""Seconds to wait after a failure, doubled after each further one."""


class StepLoop:
    """Repeats a step until nothing is left, when woken and every `POLL_SECONDS`.

    Args:
        task: what the log says is postponed when a step fails.
        step: does some of the work, and returns whether there may be more.
        postponing: errors of a step after which it is repeated later, besides `StoreError`.
    """

    def __init__(
        self,
        task: str,
        step: Callable[[], Awaitable[bool]],
        *postponing: type[Exception],
    ) -> None:
        self._task = task
        self._step = step
        self._postponing: tuple[type[Exception], ...] = (StoreError, *postponing)
        self._wake = trio.Event()

    def wake(self) -> None:
        """Search for work immediately; after a failure, when its pause has ended."""
        self._wake.set()

    async def run(self) -> None:
        """Run steps until cancelled."""
        pause = FIRST_PAUSE
        while True:
            self._wake = trio.Event()
            try:
                more = await self._step()
            except self._postponing as error:
                _log.info("%s is postponed: %s", self._task, error)
                await trio.sleep(pause)
                pause = min(pause * 2, POLL_SECONDS)
                continue
            pause = FIRST_PAUSE
            if more:
                await trio.sleep(PAUSE)
                continue
            with trio.move_on_after(POLL_SECONDS):
                await self._wake.wait()


PERIOD_SECONDS = 3600.0
"""Seconds between the end of one round and the start of the next."""
PAUSE = 0.01
"""Seconds between two transactions, which leave the database to other work."""
DAY = 86_400_000
"""Milliseconds."""

_log = logging.getLogger(__name__)

RetentionStep = Callable[[Store, int], Awaitable[None]]
"""Removes what has expired at a time in Unix milliseconds. Raises `StoreError`."""


def removal(script: Callable[[int], Script[bool]], days: float = 0) -> RetentionStep:
    """Return the step that repeats a script with the time some days before the present.

    The script returns whether more is left.
    """

    async def remove(store: Store, now: int) -> None:
        await repeat(store, partial(script, now - int(days * DAY)))

    return remove


async def repeat(store: Store, script: Callable[[], Script[bool]]) -> None:
    """Write scripts until one returns that nothing is left. Raises `StoreError`."""
    more = True
    while more:
        more = await store.write(script())
        await trio.sleep(PAUSE)


class RetentionJob:
    """Runs the steps of retention, one small transaction at a time.

    Several processes may run it on the same database concurrently.

    Args:
        store: the store that they are run on.
        now: returns Unix time in seconds.
        steps: run one after the other, whatever their order.
    """

    def __init__(
        self, store: Store, *, now: Callable[[], float], steps: Sequence[RetentionStep]
    ) -> None:
        self._store = store
        self._now = now
        self._steps = steps

    async def run(self) -> None:
        """Run rounds until cancelled; a cancelled transaction is committed entirely or not."""
        while True:
            try:
                await self.round()
            except StoreError as error:
                _log.info("retention is postponed: %s", error)
            await trio.sleep(PERIOD_SECONDS)

    async def round(self) -> None:
        """Run every step once. Raises `StoreError`."""
        now = int(self._now() * 1000)
        failed: StoreError | None = None
        for step in self._steps:
            try:
                await step(self._store, now)
            except StoreError as error:
                # What can't be removed keeps nothing else from being removed.
                failed = failed or error
        try:
            if failed is not None:
                raise failed
        finally:
            del failed


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
