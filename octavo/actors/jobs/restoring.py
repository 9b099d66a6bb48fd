"""Run restorations of workspaces: those that are asked for, and those that a process has left.

A restoration runs under the supervision of the service, not of the request that started it. The
database has what each has done: another process, or the next one, goes on with it. Two that run the
same one do no harm: each of its changesets has one identifier.
"""

import logging
from collections.abc import Awaitable, Callable
from typing import Protocol

import trio

from octavo.actors.core import ActorError
from octavo.actors.workspace.messages import CommitFailed
from octavo.store import Store, StoreError
from octavo.store.scripts.restorations import RestorationKey, unfinished

STALLED_SECONDS = 60.0
"""Seconds after the last step of a restoration until another process goes on with it."""
FIRST_PAUSE = 0.5
LONGEST_PAUSE = 60.0
"""Seconds until a restoration goes on that could not: doubled after each further failure."""
_AT_ONCE = 4
_FOUND_AT_ONCE = 100

_log = logging.getLogger(__name__)


class Runner(Protocol):
    """What `octavo.restoration.runner.RestorationRunner` does."""

    async def run(self, key: RestorationKey) -> None:
        """Run a restoration to its end."""

    async def stop(self, key: RestorationKey, code: str, detail: str) -> None:
        """Record why a restoration can't go on."""


class RestoringJob:
    """Runs restorations.

    Args:
        store: the database.
        runner: runs one.
        now: the clock, in seconds of Unix time.
        alone: whether no other process uses the database: then all that are left go on at once.
        postponing: further errors after which a restoration goes on later.
    """

    def __init__(
        self,
        store: Store,
        runner: Runner,
        now: Callable[[], float],
        *,
        alone: bool,
        postponing: tuple[type[Exception], ...] = (),
    ) -> None:
        self._store = store
        self._runner = runner
        self._now = now
        self._alone = alone
        self._postponing: tuple[type[Exception], ...] = (
            ActorError,
            CommitFailed,
            StoreError,
            *postponing,
        )
        self._nursery: trio.Nursery | None = None
        self._ended: dict[RestorationKey, trio.Event] = {}
        self._places = trio.CapacityLimiter(_AT_ONCE)

    async def run(self) -> None:
        """Run restorations until cancelled, which interrupts them."""
        async with trio.open_nursery() as nursery:
            self._nursery = nursery
            try:
                await self._go_on()
            finally:
                self._nursery = None
                for each in self._ended.values():
                    each.set()
                self._ended.clear()

    def start(self, key: RestorationKey) -> Callable[[], Awaitable[object]]:
        """Run a restoration that was recorded; return a function that waits for its end.

        It also returns when the service stops, which goes on with the restoration after a start.
        """
        if self._nursery is None:
            return trio.lowlevel.checkpoint
        ended = self._ended.get(key)
        if ended is None:
            ended = self._ended[key] = trio.Event()
            self._nursery.start_soon(self._run, key, ended)
        return ended.wait

    async def _go_on(self) -> None:
        """Go on with what other processes have left."""
        stalled = 0.0 if self._alone else STALLED_SECONDS
        while True:
            try:
                until = int((self._now() - stalled) * 1000)
                found = await self._store.read(unfinished(until, _FOUND_AT_ONCE))
            except StoreError as error:
                _log.info("restorations go on later: %s", error)
            else:
                # Those that began since are those of this process.
                stalled = STALLED_SECONDS
                for key in found:
                    self.start(key)
            await trio.sleep(STALLED_SECONDS)

    async def _run(self, key: RestorationKey, ended: trio.Event) -> None:
        pause = FIRST_PAUSE
        try:
            while True:
                try:
                    async with self._places:
                        await self._run_once(key)
                    return
                except self._postponing as error:
                    _log.info("a restoration goes on later: %s", error)
                    await trio.sleep(pause)
                    pause = min(2 * pause, LONGEST_PAUSE)
        finally:
            if self._ended.get(key) is ended:
                del self._ended[key]
            ended.set()

    async def _run_once(self, key: RestorationKey) -> None:
        try:
            await self._runner.run(key)
        except self._postponing:
            raise
        except Exception:  # noqa: BLE001 - a defect ends this restoration, not the others
            _log.exception("the restoration %s failed", key.restoration_id)
            await self._runner.stop(key, "internal_error", "The server failed: try again.")
