"""A database that is put back to an earlier moment, at any time, under one process or two.

Devices write notes guarded by the heads that they know, also by those of a lost history, and follow
the feed by their cursors.
"""

from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, suppress
from itertools import count
from random import Random
from sqlite3 import Connection
from sqlite3 import connect as connect_to

import trio
from greenroom.testing import current_schedule, note_fault, scenario_random
from octavo_rules.changes import PurgeFile
from octavo_rules.content import note_text
from octavo_rules.identity import START, Cursor, FileId, MutationId, RevisionId, WorkspaceId
from trio.testing import wait_all_tasks_blocked

from octavo.actors.workspace.messages import ChangesetRefused, HeadOf, Push
from octavo.model.files.changeset import (
    ChangeOperation,
    Changeset,
    CreateFile,
    DeleteFile,
    UpdateFile,
    fingerprint,
)
from octavo.model.files.plan import Receipt
from octavo.model.files.revision import Revision
from octavo.store.queries.feed import Since, feed
from octavo.store.queries.marks import CursorUnknown, checked_cursor, cursor_of
from tests.simulation.asking import Asking, NothingDone, Unsettled
from tests.simulation.disk import ANN, Disk, found
from tests.simulation.forgetting import sweep_all
from tests.simulation.invariants import faults_of
from tests.simulation.kept import Kept, kept
from tests.simulation.places import Places, pause
from tests.simulation.taken_back_process import ProcessTakenBack
from tests.simulation.verdict import Violated
from tests.simulation.weather import FaultSchedule

WORKSPACE = WorkspaceId("v")
DEVICES = ("a", "b", "c")
TURNS = 8
ALL_TURNS = [(device, turn) for turn in range(TURNS) for device in DEVICES]
FILES = tuple(FileId(f"f{number}") for number in range(4))
PATHS = ("a.md", "b.md", "c.md")
PATIENCE = 100
HELD_SECONDS = 0.5


class Holding(FaultSchedule):
    """Faults, and a changeset that is held between its plan and its commit."""

    def __init__(self, random: Random) -> None:
        super().__init__(random)
        self._held: trio.Event | None = None

    async def hold_next(self) -> None:
        """Wait until a changeset is planned, which is committed a moment later then."""
        held = self._held = trio.Event()
        await held.wait()

    async def reach(self, point: str, subject: str) -> None:
        if point == "workspace.planned" and self._held is not None:
            held, self._held = self._held, None
            held.set()
            await trio.sleep(HELD_SECONDS)
        await super().reach(point, subject)


class TakenBackDisk(Disk):
    """A disk that can be put back to a moment that was kept.

    Attributes:
        times: how often it was put back.
    """

    def __init__(self, faults: FaultSchedule) -> None:
        super().__init__(None, faults)
        self._moment: Connection = connect_to(":memory:")
        self.times = 0

    def close(self) -> None:
        self._moment.close()
        super().close()

    async def keep(self) -> None:
        """Keep this moment."""
        async with self._free:
            self._connection.backup(self._moment)

    async def put_back(self) -> None:
        """Return to the moment that was kept."""
        async with self._free:
            self._moment.backup(self._connection)
            self.times += 1
            self._note()


class Device:
    """Writes, and follows the feed.

    Attributes:
        cursor: of its mirror.
        heads: those of its mirror.
        accepted: the receipts that it got, each with the times that the disk had been put back
            when it was asked for.
    """

    def __init__(self, name: str, disk: TakenBackDisk, asking: Asking[ProcessTakenBack]) -> None:
        self.name = name
        self._disk = disk
        self._asking = asking
        self._mutations = count()
        self._seen: dict[FileId, list[Revision]] = {}
        self.cursor = START
        self.heads: dict[FileId, Revision] = {}
        self.accepted: list[tuple[int, Receipt]] = []
        self.expected: dict[MutationId, dict[FileId, frozenset[str]]] = {}
        self.sights: dict[str, None] = {}

    async def turn(self, random: Random) -> None:
        """Write or read."""
        with suppress(NothingDone, Unsettled):
            if random.random() < 0.6:
                await self._write(random)
            elif random.random() < 0.5:
                await self._look(random)
            else:
                await self.synchronize(random)

    async def _write(self, random: Random) -> None:
        mutation = MutationId(f"m-{self.name}{next(self._mutations)}")
        operations = [self._operation(file, random) for file in random.sample(FILES, 1)]
        changeset = Changeset(mutation, fingerprint(operations), ANN, tuple(operations))
        self.expected[mutation] = {
            each.file_id: each.if_match
            for each in operations
            if isinstance(each, UpdateFile | DeleteFile)
        }
        times = self._disk.times
        with suppress(ChangesetRefused):
            receipt = await self._asking.ask(
                random,
                lambda process, limit: process.directory.ask(
                    WORKSPACE, Push(changeset), timeout=limit
                ),
                f"{self.name} sends {operations}",
                WORKSPACE,
            )
            self.accepted.append((times, receipt))
            for outcome in receipt.outcomes:
                self._learn(outcome.head)

    def _operation(self, file: FileId, random: Random) -> ChangeOperation:
        known = self._seen.get(file, [])
        path, text = random.choice(PATHS), f"{self.name} {random.getrandbits(20)}"
        if not known:
            return CreateFile(file, path, note_text(text))
        # Also a head that is not the newest.
        head = known[-1] if random.random() < 0.7 else random.choice(known)
        expected = frozenset({str(head.revision_id)})
        if head.state == "live":
            act = random.random()
            if act < 0.6:
                return UpdateFile(file, expected, note_text(text))
            if act < 0.8:
                return UpdateFile(file, expected, path=path)
            return DeleteFile(file, expected)
        return PurgeFile(file) if random.random() < 0.3 else CreateFile(file, path, note_text(text))

    async def _look(self, random: Random) -> None:
        file = random.choice(FILES)
        head = await self._asking.ask(
            random,
            lambda process, limit: process.directory.ask(WORKSPACE, HeadOf(file), timeout=limit),
            f"{self.name} asks for {file}",
            WORKSPACE,
        )
        if head is not None:
            self._learn(head)

    def _learn(self, head: Revision) -> None:
        self._seen.setdefault(head.file_id, []).append(head)

    async def synchronize(self, random: Random) -> None:
        """Bring the mirror up to the feed, or make it anew."""
        while True:
            script = feed(
                WORKSPACE, Since(*self.cursor), random.choice([1, 2]), 1 << 30, texts=False
            )
            try:
                page = await self._asking.ask(
                    random,
                    lambda process, _, script=script: process.store.read(script),  # type: ignore[misc]
                    f"{self.name} reads after {self.cursor}",
                    WORKSPACE,
                )
            except CursorUnknown:
                self.sights["cursor unknown"] = None
                self.cursor, self.heads = START, {}
                continue
            assert page is not None, "the workspace is gone"
            for entry in page.entries:
                self.heads[entry.revision.file_id] = entry.revision
                self._learn(entry.revision)
            self.cursor = page.following
            if page.following == page.cursor:
                return


async def simulate_taken_back(
    turns: Sequence[tuple[str, int]] = ALL_TURNS, sighted: Callable[[str], None] = lambda _: None
) -> None:
    """Write and read while the database is put back; then judge what is stored and known.

    ``sighted`` is called with every notable event.
    """
    random = scenario_random()
    weather = Holding(random)
    with closing(TakenBackDisk(weather)) as disk:
        run = _Run(random, weather, disk)
        await run.run(turns)
        await run.judge()
        for sight in run.sights():
            sighted(sight)


class _Run:
    def __init__(self, random: Random, weather: Holding, disk: TakenBackDisk) -> None:
        self._random = random
        self._weather = weather
        self._disk = disk
        self._ids = count()
        self._violations: list[str] = []
        self._places = Places(random, random.choice([1, 2]), self._process)
        asking = Asking(self._places.pick, weather)
        self._devices = [Device(name, disk, asking) for name in DEVICES]

    def _process(self, name: str, random: Random) -> ProcessTakenBack:
        return ProcessTakenBack(
            name, self._disk, self._weather, random, WORKSPACE, lambda: f"r{next(self._ids)}"
        )

    async def run(self, turns: Sequence[tuple[str, int]]) -> None:
        """Serve ``turns``, and come to rest."""
        await found(self._disk, [WORKSPACE])
        async with trio.open_nursery() as nursery:
            await self._places.begin_all(nursery)
            self._weather.armed = True
            async with trio.open_nursery() as users:
                for device in self._devices:
                    numbers = [turn for name, turn in turns if name == device.name]
                    users.start_soon(self._use, device, numbers)
                users.start_soon(self._take_back)
            self._weather.armed = False
            await self._come_to_rest()
            await self._places.stop_all()

    async def _use(self, device: Device, numbers: Sequence[int]) -> None:
        for number in numbers:
            random = Random(f"{device.name}{number} of {current_schedule()}")
            await device.turn(random)
            await trio.sleep(random.choice([0, 0, 0.1, 0.6]))

    async def _take_back(self) -> None:
        for _ in range(self._random.choice([1, 2, 4, 8])):
            await pause(self._random, (0, 0.1, 0.3), steps=20)
            await self._disk.keep()
            with trio.move_on_after(self._random.choice([0.1, 0.5])):
                for _ in range(self._random.choice([1, 1, 2])):
                    await self._disk.wait_for_a_commit()
            with trio.move_on_after(self._random.choice([0, 0, 0.5])):
                await self._weather.hold_next()
            await pause(self._random, (0, 0, 0.1), steps=10)
            note_fault("the database is put back")
            await self._disk.put_back()

    async def _come_to_rest(self) -> None:
        """Let every process notice the last history, and every device follow it."""
        # The first round of requests is served after all that was under way, in every process.
        for _ in range(2):
            for process in self._places.processes:
                await process.directory.ask(WORKSPACE, HeadOf(FILES[0]))
                await process.check(WORKSPACE)
        stored = await self._disk.read(kept(WORKSPACE))
        for process in self._places.processes:
            for file in FILES:
                head = await process.directory.ask(WORKSPACE, HeadOf(file))
                if head != stored.heads.get(file):
                    wanted = stored.heads.get(file)
                    self._violations.append(f"{process.name} has {head} for {wanted}")
        await wait_all_tasks_blocked()
        newest = await self._disk.read(cursor_of(WORKSPACE))
        for process in self._places.processes:
            if process.listening.cursor != newest:
                self._violations.append(
                    f"{process.name} told {process.listening.cursor} of {newest}"
                )
        for device in self._devices:
            for _ in range(PATIENCE):
                with suppress(NothingDone, Unsettled):
                    await device.synchronize(self._random)
                    break

    async def judge(self) -> None:
        """Raise `Violated` unless all that is known belongs to the history that is stored."""
        await sweep_all(self._disk)
        stored = await self._disk.read(kept(WORKSPACE))
        faults = [*self._violations, *faults_of(stored), *self._faults_of_guards(stored)]
        for device in self._devices:
            if device.heads != stored.heads:
                faults.append(f"{device.name} has {device.heads} of {stored.heads}")
            for times, receipt in device.accepted:
                is_lost = receipt.mutation_id not in stored.receipts
                if is_lost and times == self._disk.times:
                    faults.append(f"{device.name}: {receipt} is lost")
                if not is_lost and not await self._is_known(receipt.cursor):
                    faults.append(f"{device.name}: the cursor of {receipt} is not known")
        if faults:
            raise Violated(faults)

    def _faults_of_guards(self, stored: Kept) -> Iterator[str]:
        """Return the saves that replaced another head than they expected."""
        expected = {
            mutation: files
            for device in self._devices
            for mutation, files in device.expected.items()
        }
        before: dict[FileId, RevisionId] = {}
        for revision in stored.revisions:
            guards = expected.get(revision.mutation_id, {}).get(revision.file_id)
            replaced = before.get(revision.file_id)
            if guards is not None and str(replaced) not in guards:
                yield f"{revision} replaced {replaced}, and expected {guards}"
            before[revision.file_id] = revision.revision_id

    async def _is_known(self, cursor: Cursor) -> bool:
        found = await self._disk.read(checked_cursor(WORKSPACE, cursor))
        assert found is not None
        return found[1]

    def sights(self) -> Iterator[str]:
        """Return what happened."""
        yield f"put back with {len(self._places)}"
        for device in self._devices:
            yield from device.sights
            for _, receipt in device.accepted:
                yield from (outcome.outcome for outcome in receipt.outcomes)
