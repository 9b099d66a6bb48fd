"""One process that counts what an account reads, without sockets."""

import math
from collections.abc import Callable
from random import Random
from typing import NamedTuple

import trio
from greenroom import WorkerContext, WorkerSpec
from greenroom.testing import note

from octavo.features.usage.meter import UsageMeter
from octavo.model.usage import Amount, Month
from octavo.store import Script, Store
from octavo.store.transaction import T
from tests.simulation.bare_process import BareProcess
from tests.simulation.disk import Disk
from tests.simulation.weather import FaultSchedule


class CountedRead(NamedTuple):
    """A read that a process has counted, and when."""

    month: Month
    amount: Amount
    at: float


class WatchedWrites:
    """The store of a process, which knows up to which read everything was certainly stored.

    Attributes:
        reads: what the process has counted, in order.
        stored: how many of these are certainly stored.
        failed: whether a write has failed.
    """

    def __init__(self, store: Store, name: str) -> None:
        self._store = store
        self._name = name
        # When the batch was written that is not certainly stored.
        self._begun: int | None = None
        self.reads: list[CountedRead] = []
        self.stored = 0
        self.failed = False

    async def read(self, script: Script[T]) -> T:
        return await self._store.read(script)

    async def read_much(self, script: Script[T]) -> T:
        return await self._store.read_much(script)

    async def write(self, script: Script[T]) -> T:
        if self._begun is None:
            self._begun = len(self.reads)
        try:
            result = await self._store.write(script)
        except BaseException as error:
            note(f"{self._name} could not store a batch: {error!r}")
            self.failed = True
            raise
        note(f"{self._name} has stored {self._begun - self.stored} reads")
        self.stored, self._begun = self._begun, None
        return result


class UsageProcess(BareProcess):
    """Counts reads on a disk until it is stopped or killed.

    Attributes:
        meter: counts.
        writes: what it has counted, and stored.
    """

    def __init__(
        self,
        name: str,
        disk: Disk,
        faults: FaultSchedule,
        random: Random,
        *,
        now: Callable[[], float],
        writer_id: str,
        shared: bool,
    ) -> None:
        super().__init__(name, disk, faults, random)
        self.writes = WatchedWrites(self.store, name)
        self.meter = UsageMeter(self.writes, now=now, writer_id=writer_id, shared=shared)
        self._root.add(WorkerSpec("usage", self._write_usage, drain_timeout=math.inf))

    async def _write_usage(self, worker: WorkerContext) -> None:
        async with trio.open_nursery() as nursery:
            nursery.start_soon(self.meter.run)
            await worker.stopping.wait()
            nursery.cancel_scope.cancel(reason="the service stops")
        await self.meter.flush()
