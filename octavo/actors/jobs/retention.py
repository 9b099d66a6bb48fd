"""Keep the house: thin out histories, and remove what has had its time, beside all other work."""

import logging
from collections.abc import Callable, Sequence
from functools import partial

import trio

from octavo.model.files.retention import Retention
from octavo.model.identity import Position
from octavo.store import Script, Store, StoreError
from octavo.store.scripts.history_pruning import FIRST, FileKey, files_to_prune, prune_file

EVERY = 3600.0
"""Seconds between the ends and the beginnings of two rounds."""
PAUSE = 0.01
"""Seconds of pause behind each step, in which others have the database for themselves."""

_log = logging.getLogger(__name__)

Step = Callable[[int], Script[bool]]
"""Makes a step of work for a time, in milliseconds; it answers whether there may be more."""


class RetentionJob:
    """Goes its rounds, one small transaction behind the other.

    Several at once, as in an installation of several processes, do no harm.

    Args:
        store: what is kept in order.
        now: the time, in seconds of Unix time.
        retention: which revisions of a file are kept.
        steps: what else there is to do, each until it is done.
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
        """Go round after round, until cancelled; a step that is under way then is kept or not."""
        while True:
            try:
                await self.round()
            except StoreError as error:
                _log.info("the house is kept later: %s", error)
            await trio.sleep(EVERY)

    async def round(self) -> None:
        """Do all that there is to do now; raises `StoreError`."""
        now = int(self._now() * 1000)
        for step in self._steps:
            await self._finish(partial(step, now))
        after: FileKey | None = FIRST
        while after is not None:
            found = await self._store.read_much(files_to_prune(after, self._retention, now))
            for place in found.files:
                await self._thin_out(place, now)
            after = found.following
            await trio.sleep(PAUSE)

    async def _thin_out(self, place: FileKey, now: int) -> None:
        after: Position | None = Position(0)
        while after is not None:
            after = await self._store.write(prune_file(place, after, self._retention, now))
            await trio.sleep(PAUSE)

    async def _finish(self, step: Callable[[], Script[bool]]) -> None:
        more = True
        while more:
            more = await self._store.write(step())
            await trio.sleep(PAUSE)
