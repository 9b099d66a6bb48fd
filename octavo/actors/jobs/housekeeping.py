"""Background jobs in small steps: retention, sweeping, and the collection of blobs."""

import logging
from collections.abc import Awaitable, Callable, Iterable, Sequence
from functools import partial
from typing import TypeVar

import trio
from attrs import define

from octavo.store import IndexDamaged, Script, Store, StoreError
from octavo.store.blobs import BlobStore
from octavo.store.queries import blobs

T = TypeVar("T")

POLL_SECONDS = 600.0
"""Seconds between two searches for work that nobody announced."""
FIRST_PAUSE = 1.0
"""Seconds to wait after a failure, doubled after each further one."""


class StepLoop:
    """Repeats a step until nothing is left, when woken and every `POLL_SECONDS`.

    Args:
        task: the name of the work in the log.
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
    """Return a step that repeats a script, called with the time ``days`` ago.

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


@define(eq=False)
class RetentionJob:
    """Runs the steps of retention, one small transaction at a time.

    Several processes may run it on the same database concurrently.

    Args:
        store: the store that they are run on.
        now: returns Unix time in seconds.
        steps: run one after the other, whatever their order.
    """

    _store: Store
    _now: Callable[[], float]
    _steps: Sequence[RetentionStep]

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

        async def run(step: RetentionStep) -> bool:
            await step(self._store, now)
            return False

        await first_done(self._steps, run)


async def first_done(steps: Iterable[T], run: Callable[[T], Awaitable[bool]]) -> bool:
    """Run steps until one returns True; return whether one has.

    A step that fails keeps no other from running: the first `StoreError` is raised at the end.
    """
    failed: StoreError | None = None
    for step in steps:
        try:
            if await run(step):
                return True
        except StoreError as error:
            failed = failed or error
    try:
        if failed is not None:
            raise failed
    finally:
        # It refers to this frame.
        del failed
    return False


async def collect_blobs(
    store: Store,
    stored: BlobStore,
    now: Callable[[], float],
    expired: Sequence[Callable[[int], Script[bool]]],
) -> bool:
    """Delete some blobs that nothing in the database names; return whether there may be more.

    Raises `StoreError` and `BlobsUnavailable`.

    Args:
        store: the database.
        stored: the blob store.
        now: the clock, in seconds of Unix time.
        expired: return scripts for a time in Unix milliseconds; each removes what has expired and
            refers to blobs, and returns whether more is left.
    """
    at = int(now() * 1000)
    for remove in expired:
        if await store.write(remove(at)):
            return True
    more = await store.write(blobs.check_some(at))
    keys = await store.read(blobs.to_delete())
    for key in keys:
        await stored.delete(key)
    if keys:
        await store.write(blobs.forget(keys))
    return more or bool(keys)


async def sweep_some(
    store: Store,
    swept: Callable[[], None],
    scripts: Sequence[Callable[[], Script[bool]]],
    renew: Callable[[IndexDamaged], Awaitable[None]],
) -> bool:
    """Remove some deleted data; return whether there may be more. Raises `StoreError`.

    Args:
        store: the store to sweep.
        swept: called when nothing is left; must not wait. Blobs may be without references then.
        scripts: each is run when nothing is left for those before it.
        renew: makes a damaged index anew.
    """

    async def run(script: Callable[[], Script[bool]]) -> bool:
        try:
            return await store.write(script())
        except IndexDamaged as error:
            await renew(error)
            return True

    if await first_done(scripts, run):
        return True
    swept()
    return False
