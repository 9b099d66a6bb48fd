"""Run restorations of workspaces: those that are asked for, and those that a process has left.

A restoration runs under the supervision of the service, not of the request that started it. The
database has what each has done: another process, or the next one, goes on with it. Two that run the
same one do no harm: each of its changesets has one identifier.
"""

import logging
from collections.abc import Awaitable, Callable
from typing import Protocol

import trio
from greenroom import ActorError

from octavo.actors.workspace.messages import CommitFailed
from octavo.features.history.sql.restorations import RestorationKey, unfinished
from octavo.store import Store, StoreError

STALLED_SECONDS = 60.0
"""Seconds after the last step of a restoration until another process goes on with it."""
FIRST_PAUSE = 0.5
LONGEST_PAUSE = 60.0
"""Seconds until a restoration goes on that could not: doubled after each further failure."""
_AT_ONCE = 4
_FOUND_AT_ONCE = 100

_log = logging.getLogger(__name__)


class Runner(Protocol):
    """What `octavo.features.history.runner.RestorationRunner` does."""

    async def run(self, key: RestorationKey) -> None:
        """Run a restoration to its end."""

    async def stop(self, key: RestorationKey, code: str, detail: str) -> None:
        """Record why a restoration can't go on."""


class _Requests:
    """Requests to run one restoration, each with the event of its end.

    A run serves those that came before it began. One that comes later may be for what the run does
    not see any more: it has recorded a failure, and somebody has it go on before it has ended.
    """

    def __init__(self) -> None:
        self._served: list[trio.Event] = []
        self._later: list[trio.Event] = []
        self._came = trio.Event()

    def add(self) -> trio.Event:
        """Add a request; return the event of the end of the run that serves it."""
        ended = trio.Event()
        self._later.append(ended)
        self._came.set()
        return ended

    def begin(self) -> None:
        """Let a run that begins serve all of them."""
        self._served += self._later
        self._later = []
        self._came = trio.Event()

    def end(self) -> bool:
        """Tell those that the run has served; return whether there are later ones."""
        for each in self._served:
            each.set()
        self._served = []
        return bool(self._later)

    def give_up(self) -> None:
        """Tell all of them."""
        self.begin()
        self.end()

    async def wait(self, seconds: float) -> None:
        """Wait for a later one, and not longer than some seconds."""
        with trio.move_on_after(seconds):
            await self._came.wait()


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
        self._requests: dict[RestorationKey, _Requests] = {}
        self._places = trio.CapacityLimiter(_AT_ONCE)

    async def run(self) -> None:
        """Run restorations until cancelled, which interrupts them."""
        async with trio.open_nursery() as nursery:
            self._nursery = nursery
            try:
                await self._go_on()
            finally:
                self._nursery = None
                for each in self._requests.values():
                    each.give_up()
                self._requests.clear()

    def start(self, key: RestorationKey) -> Callable[[], Awaitable[object]]:
        """Run a restoration that was recorded; return a function that waits for its end.

        While it runs, it is run again afterwards. The function also returns when the service stops,
        which goes on with the restoration after a start.
        """
        if self._nursery is None:
            return trio.lowlevel.checkpoint
        requests = self._requests.get(key)
        if requests is None:
            requests = self._requests[key] = _Requests()
            self._nursery.start_soon(self._run, key, requests)
        return requests.add().wait

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
                    if key not in self._requests:
                        self.start(key)
            await trio.sleep(STALLED_SECONDS)

    async def _run(self, key: RestorationKey, requests: _Requests) -> None:
        pause = FIRST_PAUSE
        try:
            while True:
                try:
                    async with self._places:
                        requests.begin()
                        await self._run_once(key)
                except self._postponing as error:
                    _log.info("a restoration goes on later: %s", error)
                    await requests.wait(pause)
                    pause = min(2 * pause, LONGEST_PAUSE)
                else:
                    if not requests.end():
                        return
                    pause = FIRST_PAUSE
        finally:
            if self._requests.get(key) is requests:
                del self._requests[key]
            requests.give_up()

    async def _run_once(self, key: RestorationKey) -> None:
        try:
            await self._runner.run(key)
        except self._postponing:
            raise
        except Exception:  # noqa: BLE001 - a defect ends this restoration, not the others
            _log.exception("the restoration %s failed", key.restoration_id)
            await self._runner.stop(key, "internal_error", "The server failed: try again.")
