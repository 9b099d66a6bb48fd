"""The whole service in one run: processes that start and end on a disk, and their devices."""

import math
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from functools import partial
from itertools import count
from pathlib import Path
from random import Random
from tempfile import TemporaryDirectory

import pytest
import trio
from greenroom import NotExecuted
from greenroom.testing import History, current_schedule, note_fault, scenario_random
from octavo_rules.identity import WorkspaceId
from trio.testing import wait_all_tasks_blocked

from octavo.actors.jobs import housekeeping
from octavo.actors.workspace.messages import HeadOf
from octavo.features.images.feature import ATTACHING_SECONDS
from octavo.features.images.uploading import LIFETIME_SECONDS
from octavo.features.links.sql import link_index
from octavo.model.documents.update_log import DocumentLimits
from octavo.store.queries import index_backlog
from tests.simulation.asking import Asking
from tests.simulation.blob_disk import BlobDisk, DiskWithBlobs
from tests.simulation.coincidences import watch
from tests.simulation.device import ALL_WORKSPACES, Device
from tests.simulation.disk import Disk, found
from tests.simulation.drafting import FILES
from tests.simulation.image_user import PICTURES
from tests.simulation.ledger import SHARED, Ledger
from tests.simulation.places import Places, pause
from tests.simulation.process import Process, ProcessOptions
from tests.simulation.sending import attempt
from tests.simulation.specification import Accepted, Rejected, Request, subjects_of
from tests.simulation.verdict import judge
from tests.simulation.weather import FaultSchedule

DEVICES = ("a", "b", "c")
TURNS = 8
EDITING = 0.6
"""The turns spent on the notes that are edited together, if any."""
PICTURING = 0.8
"""The other turns that are spent on images, if any."""
SPEEDS = (60, 600)
"""How many times faster the clock of images may be: with the second, uploads expire."""
LIMITS = (DocumentLimits(logged=4), DocumentLimits(history=2, history_free=200, logged=1))
"""With the second limits, a document soon has to discard its history."""
QUIET = LIFETIME_SECONDS + 2 * ATTACHING_SECONDS
"""Seconds on the clock of images after which every upload has expired."""
COLLECTING = 1
"""Seconds between two looks whether a process has deleted everything that it can."""
PATIENCE = 100
"""Attempts at an action that eventually succeeds."""


@dataclass(frozen=True, slots=True)
class Turn:
    """The ``number``-th action of a device; the schedule decides what it is."""

    device: str
    number: int


ALL_TURNS = [Turn(device, number) for number in range(TURNS) for device in DEVICES]


async def simulate(
    turns: Sequence[Turn] = ALL_TURNS,
    sighted: Callable[[str], None] = lambda _: None,
    together: bool | None = None,
    images: bool | None = None,
) -> None:
    """Run the service under injected faults while devices take ``turns``; then judge everything.

    ``sighted`` is called with every notable event. ``together``: whether the devices also edit
    notes together, ``images``: whether they also upload images; drawn by the run if it is None.
    """
    random = scenario_random()
    if together is None:
        # Only in some runs, as it takes twice the time.
        together = random.random() < 0.2
    if images is None:
        images = random.random() < 0.1
    with ExitStack() as stack:
        folder: Path | None = None
        if random.random() < 0.1:
            folder = Path(stack.enter_context(TemporaryDirectory()))
        # So that the indexes are updated in several steps, and also before queries.
        patch = stack.enter_context(pytest.MonkeyPatch.context())
        # The jobs work when they are woken alone: time passes in any amount here.
        patch.setattr(housekeeping, "POLL_SECONDS", math.inf)
        drawn = Random(f"indexing of {current_schedule()}")
        patch.setattr(index_backlog, "_MAX_FILES", drawn.choice([1, 2, 100]))
        patch.setattr(link_index, "MAX_FILES", drawn.choice([0, 1, 100]))
        seen: dict[str, None] = {}
        watch(patch, lambda sight: seen.update({sight: None}))
        service = Service(random, folder, together=together, images=images)
        stack.callback(service.close)
        await service.run(turns)
        await service.judge()
        for sight in (*service.sights(), *seen):
            sighted(sight)


class Service:
    """A disk, in ``folder`` or in memory, and one or two processes on it."""

    def __init__(
        self, random: Random, folder: Path | None, *, together: bool, images: bool
    ) -> None:
        self._random = random
        self._folder = folder
        self._weather = FaultSchedule(random)
        self._history: History[Request] = History(subjects_of)
        self._ledger = Ledger()
        self._limits = random.choice(LIMITS)
        without = [each for each, used in ((SHARED, together), (PICTURES, images)) if not used]
        self._workspaces = [each for each in ALL_WORKSPACES if each not in without]
        self._violations: list[str] = []
        self._ids = count()
        self._ends: list[str] = []
        self._rooms = count()
        self._stopped: list[Process] = []
        self._blobs = BlobDisk(self._violations.append, random.choice(SPEEDS)) if images else None
        self._disk = self._open(self._room() / "octavo.db" if folder else None)
        number = random.choice([1, 2])
        self._places = Places(random, number, self._process, reachable_to_the_end=True)
        self._devices = {
            name: Device(
                name,
                self._history,
                Asking(self._places.pick, self._weather, self._violations.append),
                self._ledger,
                EDITING if together else 0,
                PICTURING if images else 0,
                self._violations.append,
            )
            for name in DEVICES
        }

    def close(self) -> None:
        """Close the disk."""
        self._disk.close()

    async def run(self, turns: Sequence[Turn]) -> None:
        """Serve ``turns``, and come to rest."""
        await found(self._disk, self._workspaces)
        async with trio.open_nursery() as nursery:
            await self._places.begin_all(nursery)
            for device in self._devices.values():
                await device.push_everywhere(self._random)
            if SHARED in self._workspaces:
                await self._devices[DEVICES[0]].editor.make(self._random)
            if self._blobs is not None:
                for device in self._devices.values():
                    await attempt(partial(device.images.make, self._random))
            self._weather.armed = True
            async with trio.open_nursery() as users:
                for device in self._devices.values():
                    numbers = [turn.number for turn in turns if turn.device == device.name]
                    users.start_soon(self._use, device, numbers, name=f"device {device.name}")
                users.start_soon(self._suffer, nursery, name="ends of processes")
            self._weather.armed = False
            await self._come_to_rest()
            self._stopped = await self._places.stop_all()

    async def judge(self) -> None:
        """Judge the finished run; raise what `judge` does."""
        await judge(
            self._disk,
            self._history,
            [*self._devices.values()],
            self._workspaces,
            self._ledger,
            self._limits,
            self._violations,
            self._stopped,
            self._random,
        )

    def sights(self) -> Iterator[str]:
        """Report what happened: results, faults and ends of processes."""
        for entry in self._history.entries:
            if isinstance(entry.result, Accepted):
                yield from entry.result.outcomes
            elif isinstance(entry.result, Rejected):
                yield entry.result.code
            else:
                yield f"{entry.status.value} {type(entry.operation).__name__}"
        yield from self._ledger.sights
        yield from self._weather.injected
        yield from self._ends
        if self._blobs is not None and self._blobs.deleted:
            yield "blobs deleted"

    async def _use(self, device: Device, numbers: Sequence[int]) -> None:
        for number in numbers:
            # Each turn draws for itself, so it is unchanged when others are removed.
            random = Random(f"{device.name}{number} of {current_schedule()}")
            await device.turn(random)
            await trio.sleep(random.choice([0, 0, 0.1, 0.6]))

    # The ends of processes

    def _process(self, name: str, random: Random) -> Process:
        options = ProcessOptions(
            new_id=lambda: f"r{next(self._ids)}",
            shared=self._places.shared,
            violated=self._violations.append,
            limits=self._limits,
            blobs=self._blobs,
        )
        return Process(name, self._disk, self._weather, random, options)

    async def _suffer(self, nursery: trio.Nursery) -> None:
        for _ in range(self._random.choice([0, 1, 2, 3])):
            await pause(self._random, (0, 0.3, 1.0), steps=100)
            self._ends.append(await self._places.disturb(nursery, self._lose_power))

    async def _lose_power(self) -> None:
        """Kill all processes at one moment, and continue with the disk as it was then."""
        note_fault("the power is lost")
        copy = self._disk.copied(self._room()) if self._folder else None
        if self._blobs is not None:
            self._blobs.lose_power()
        await self._places.cut_all()
        if copy is not None:
            self._disk.close()
            self._disk = self._open(copy)

    def _open(self, path: Path | None) -> Disk:
        if self._blobs is None:
            return Disk(path, self._weather)
        return DiskWithBlobs(path, self._weather, self._blobs)

    def _room(self) -> Path:
        assert self._folder is not None
        room = self._folder / str(next(self._rooms))
        room.mkdir()
        return room

    # The end

    async def _come_to_rest(self) -> None:
        """Let all devices write concurrently for the last time; then synchronize everything.

        The first round of requests afterwards is served after all that was under way, in every
        process. So the second round changes nothing.
        """
        editors = [device.editor for device in self._devices.values()]
        editors = editors if SHARED in self._workspaces else []
        last = [
            *(device.push_everywhere for device in self._devices.values()),
            *(editor.write_for_the_last_time for editor in editors),
        ]
        async with trio.open_nursery() as users:
            for act in last:
                random = Random(self._random.getrandbits(32))
                users.start_soon(act, random, name=f"last {act.__name__.lstrip('_')}")
        if editors:
            await self._touch_all([SHARED])
            await editors[0].revive(self._random)
        for editor in editors:
            await editor.save_all(self._random)
        for editor in editors:
            await editor.take_all(self._random)
        for _ in range(2):
            await self._touch_all(self._workspaces)
        await wait_all_tasks_blocked()
        if self._blobs is not None:
            await self._collect_all(self._blobs)
        for process in self._places.processes:
            self._violations.extend(process.audience.faults_at_rest())
            for workspace_id, position in self._disk.committed.items():
                told = process.audience.listeners[0].told.get(workspace_id)
                if told != position:
                    self._violations.append(
                        f"{process.name} told {workspace_id} {told} of {position}"
                    )
        for device in self._devices.values():
            for workspace_id in self._workspaces:
                for _ in range(PATIENCE):
                    if await device.synchronize(workspace_id, self._random):
                        break

    async def _collect_all(self, blobs: BlobDisk) -> None:
        """Wait until every upload has expired, and no blob is left that nobody names."""
        await trio.sleep(QUIET / blobs.speed)
        for process in self._places.processes:
            for _ in range(PATIENCE):
                process.images.wake()
                await trio.sleep(COLLECTING)
                if not blobs.faults_at_rest():
                    break
        self._violations.extend(blobs.faults_at_rest())

    async def _touch_all(self, workspaces: Sequence[WorkspaceId]) -> None:
        for process in self._places.processes:
            for workspace_id in workspaces:
                await _touch(process, workspace_id)


async def _touch(process: Process, workspace_id: WorkspaceId) -> None:
    for _ in range(PATIENCE):
        try:
            await process.directory.ask(workspace_id, HeadOf(FILES[0]))
        except NotExecuted:
            # In quarantine, perhaps.
            await trio.sleep(1)
        else:
            return
    raise AssertionError(f"{workspace_id} is out of reach")
