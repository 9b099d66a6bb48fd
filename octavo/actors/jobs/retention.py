"""Remove expired data periodically, in small transactions."""

import logging
from collections.abc import Awaitable, Callable, Sequence
from functools import partial

import trio

from octavo.store import Script, Store, StoreError

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
