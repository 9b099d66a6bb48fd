"""Usage in one run: processes that start and end on a disk, and the reads that they count."""

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from itertools import count
from random import Random

import trio
from greenroom.testing import current_schedule, note, scenario_random

from octavo.features.usage import sql as usage
from octavo.features.usage.meter import INTERVAL_SECONDS
from octavo.model.usage import Amount, DownloadLimitReached, Month, month_end, month_of
from octavo.store import StoreUnavailable
from tests.fakes.usage_rig import ANN, usage_rig
from tests.features.usage.simulation.process import CountedRead, UsageProcess
from tests.simulation.disk import Disk
from tests.simulation.places import ENDS, Places
from tests.simulation.weather import FaultSchedule

READERS = 3
TURNS = 12
ALL_READS = [(reader, turn) for turn in range(TURNS) for reader in range(READERS)]
DELAYS = 2.0
"""Seconds that faults may delay one batch."""
_START = 1.7952e9
"""A time in November 2026."""


async def simulate_usage(
    reads: Sequence[tuple[int, int]] = ALL_READS, sighted: Callable[[str], None] = lambda _: None
) -> None:
    """Count ``reads`` under injected faults; then judge the stored counts.

    ``sighted`` is called with every notable event.
    """
    run = _Run(scenario_random())
    try:
        await run.run(reads)
        await run.judge()
    finally:
        run.disk.close()
    for sight in run.sights():
        sighted(sight)


class _Run:
    def __init__(self, random: Random) -> None:
        self._random = random
        self._weather = FaultSchedule(random)
        self.disk = Disk(None, self._weather)
        self._limit = random.choice([None, 60, 150])
        # Some runs see the month end.
        self._start = month_end(_START) - random.choice([3.0, 1000.0])
        self._ids = count()
        self._places = Places(random, random.choice([1, 1, 2]), self._process)
        self._ended: list[UsageProcess] = []
        self._sights: list[str] = []

    def _now(self) -> float:
        return self._start + trio.current_time()

    async def run(self, reads: Sequence[tuple[int, int]]) -> None:
        await usage_rig(self.disk).account(size=self._limit)
        async with trio.open_nursery() as nursery:
            await self._places.begin_all(nursery)
            self._weather.armed = True
            async with trio.open_nursery() as users:
                for reader in range(READERS):
                    turns = [turn for each, turn in reads if each == reader]
                    users.start_soon(self._read, reader, turns)
                users.start_soon(self._suffer, nursery)
            self._weather.armed = False
            stopped = await self._places.stop_all()
            self._ended += stopped
            if any(each.writes.stored < len(each.writes.reads) for each in stopped):
                raise AssertionError("a process that was stopped has lost counts")

    async def _read(self, reader: int, turns: Sequence[int]) -> None:
        for turn in turns:
            random = Random(f"{reader} {turn} of {current_schedule()}")
            process = self._places.pick(random)
            if process is not None:
                await self._count(process, Amount(random.randrange(1, 20), 1))
            await trio.sleep(random.choice([0, 0.1, 0.4, 1.5]))

    async def _count(self, process: UsageProcess, amount: Amount) -> None:
        with process.connected():
            try:
                await process.meter.count(ANN, amount)
            except DownloadLimitReached as refusal:
                note(f"{process.name} refuses {amount.size} bytes")
                self._sights.append(refusal.limit)
            except StoreUnavailable:
                note(f"{process.name} can't count {amount.size} bytes")
                self._sights.append("not counted")
            else:
                note(f"{process.name} has counted {amount.size} bytes")
                now = self._now()
                read = CountedRead(month_of(now), amount, trio.current_time())
                process.writes.reads.append(read)

    async def _suffer(self, nursery: trio.Nursery) -> None:
        for _ in range(self._random.choice([0, 1, 2, 3])):
            await trio.sleep(self._random.choice([0.3, 2.0, 4.0]))
            place = self._random.randrange(len(self._places))
            end = self._random.choice(ENDS)
            process = await self._places.end(place, end)
            self._ended.append(process)
            self._sights.append(f"{end} of {len(self._places)}")
            self._judge_end(process)
            await self._places.begin(place, nursery)

    def _process(self, name: str, random: Random) -> UsageProcess:
        return UsageProcess(
            name,
            self.disk,
            self._weather,
            random,
            now=self._now,
            writer_id=f"01900000-0000-7000-8000-{next(self._ids):012x}",
            shared=self._places.shared,
        )

    def _judge_end(self, process: UsageProcess) -> None:
        """Raise if counts are lost that are older than the interval of batches."""
        lost = process.writes.reads[process.writes.stored :]
        if lost:
            self._sights.append("lost")
        oldest = trio.current_time() - INTERVAL_SECONDS - DELAYS
        # Time may leap over any interval when it passes early.
        punctual = not process.writes.failed and not current_schedule().early_time
        if punctual and any(each.at < oldest for each in lost):
            raise AssertionError("counts are lost that are older than some seconds")

    async def judge(self) -> None:
        """Raise unless every month has what was counted in it, but for what was lost."""
        counted, lost = Counter[Month](), Counter[Month]()
        for process in self._ended:
            for number, read in enumerate(process.writes.reads):
                counted[read.month] += read.amount.size
                if number >= process.writes.stored:
                    lost[read.month] += read.amount.size
        self._sights.append(f"{len(counted)} months")
        for month, total in counted.items():
            found = await self.disk.read(usage.totals([ANN], month))
            stored = found.accounts[ANN].downloads.size
            if not total - lost[month] <= stored <= total:
                raise AssertionError(
                    f"{stored} are stored of {total}, of which {lost[month]} may be lost"
                )
            if found.installation.downloads.size != stored:
                raise AssertionError("the installation has another sum than its only account")
            alone = not self._places.shared
            if alone and self._limit is not None and total > self._limit + lost[month]:
                raise AssertionError(f"{total} were read with a limit of {self._limit}")

    def sights(self) -> Iterator[str]:
        yield from self._sights
        yield from self._weather.injected
