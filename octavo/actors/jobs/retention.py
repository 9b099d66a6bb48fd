"""Prune histories and remove expired data periodically, in small transactions."""

import logging
from collections.abc import Callable, Sequence
from functools import partial

import trio
from octavo_rules.identity import Position

from octavo.documents import merged
from octavo.features.history.rules.retention import Retention
from octavo.features.history.sql.history_pruning import FIRST, FileKey, files_to_prune, prune_file
from octavo.store import Script, Store, StoreError

PERIOD_SECONDS = 3600.0
"""Seconds between the end of one round and the start of the next."""
PAUSE = 0.01
"""Seconds between two steps, which leave the database to other work."""

_log = logging.getLogger(__name__)

Step = Callable[[int], Script[bool]]
"""Returns a script for a time in Unix milliseconds; the script returns whether more is left."""


class RetentionJob:
    """Prunes histories and runs the given steps, one small transaction at a time.

    Several processes may run it on the same database concurrently.

    Args:
        store: the store to prune.
        now: returns Unix time in seconds.
        retention: which revisions of a file are kept.
        steps: further steps, each repeated until nothing is left for it.
    """

    def __init__(
        self,
        store: Store,
        *,
        now: Callable[[], float],
        retention: Retention,
        steps: Sequence[Step] = (),
    ) -> None:
        self._store = store
        self._now = now
        self._retention = retention
        self._steps = steps

    async def run(self) -> None:
        """Run rounds until cancelled; a cancelled step is committed entirely or not at all."""
        while True:
            try:
                await self.round()
            except StoreError as error:
                _log.info("retention is postponed: %s", error)
            await trio.sleep(PERIOD_SECONDS)

    async def round(self) -> None:
        """Run every step and prune every file once; raises `StoreError`."""
        now = int(self._now() * 1000)
        failed: StoreError | None = None
        for step in self._steps:
            try:
                await self._finish(partial(step, now))
            except StoreError as error:
                # What can't be removed keeps nothing else from being removed.
                failed = failed or error
        after: FileKey | None = FIRST
        while after is not None:
            found = await self._store.read_much(files_to_prune(after, self._retention, now))
            for key in found.files:
                await self._prune(key, now)
            after = found.following
            await trio.sleep(PAUSE)
        try:
            if failed is not None:
                raise failed
        finally:
            del failed

    async def _prune(self, key: FileKey, now: int) -> None:
        after: Position | None = Position(0)
        while after is not None:
            after = await self._store.write(prune_file(key, after, self._retention, now, merged))
            await trio.sleep(PAUSE)

    async def _finish(self, step: Callable[[], Script[bool]]) -> None:
        more = True
        while more:
            more = await self._store.write(step())
            await trio.sleep(PAUSE)
