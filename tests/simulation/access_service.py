"""Who may see what, in one run: processes on one database, devices that listen, and changes."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from itertools import count
from pathlib import Path
from random import Random
from tempfile import TemporaryDirectory

import pytest
import trio
from greenroom.testing import current_schedule, note_fault, scenario_random

from octavo.store.postgres import listening
from octavo.store.sqlite.transaction import SqliteTransaction
from tests.features.accounts.simulation.process import Sources
from tests.simulation.access_acts import (
    ACTS,
    LAST_ACTS,
    NAMES,
    NEVER,
    WORKSPACES,
    Crowd,
    Held,
    Somebody,
    account_of,
    begin_session,
    create_key,
    found,
    write,
)
from tests.simulation.access_device import DeviceSocket, Stream
from tests.simulation.access_disk import AccessDisk
from tests.simulation.access_process import AccessProcess
from tests.simulation.access_verdict import CHECK_SECONDS, FAST, AccessRun, judge_access
from tests.simulation.asking import Asking
from tests.simulation.channel import Channel
from tests.simulation.disk import Rooms
from tests.simulation.places import Places, pause
from tests.simulation.verdict import Violated
from tests.simulation.weather import FaultSchedule

TURNS = 5
ON_FILES = 0.2
"""The runs whose disk is in files, which a loss of power leaves as they are."""
FRESH = 5.0
"""Seconds for which a single process caches credentials and memberships; several can't."""
SILENT_SECONDS = 45
"""Seconds after which a process that has lost its connection must hear of the others again."""
PAUSES = (0.0, 0.0, 0.1, 0.6, 3.0)


@dataclass(frozen=True, slots=True)
class CrowdTurn:
    """The ``number``-th action of a person; the schedule decides what it is."""

    person: str
    number: int


ALL_CROWD_TURNS = [CrowdTurn(name, number) for number in range(TURNS) for name in NAMES]


async def simulate_access(
    turns: Sequence[CrowdTurn] = ALL_CROWD_TURNS,
    sighted: Callable[[str], None] = lambda _: None,
) -> None:
    """Let people change who may see what while devices listen, under faults; then judge it.

    ``sighted`` is called with every notable event.
    """
    with ExitStack() as stack:
        folder: Path | None = None
        if Random(f"disk of {current_schedule()}").random() < ON_FILES:
            folder = Path(stack.enter_context(TemporaryDirectory()))
        service = AccessService(scenario_random(), folder)
        stack.callback(service.close)
        patch = stack.enter_context(pytest.MonkeyPatch.context())
        patch.setattr(SqliteTransaction, "notify", service.collect)
        patch.setattr(listening, "connect", service.channel.connect)
        await service.run(turns)
        service.judge()
    for sight in service.sights():
        sighted(sight)


class AccessService:
    """One process, or two that hear of each other over a channel; the disk may be in a folder.

    Attributes:
        disk: the database.
        channel: the notifications.
    """

    def __init__(self, random: Random, folder: Path | None) -> None:
        self._random = random
        self._weather = FaultSchedule(random)
        self.channel = Channel(random)
        self._late = Random(random.random())
        self._rooms = Rooms(folder)
        self.disk = self._open(self._rooms.first())
        self._sources = Sources()
        self._places = Places(
            random, random.choice([1, 1, 2, 2, 2]), self._process, reachable_to_the_end=True
        )
        self._all: list[AccessProcess] = []
        self._streams: list[Stream] = []
        self._crowd = Crowd(Asking(self._places.pick, self._weather), self._sources)
        self._crowd.people = {name: Somebody(name, account_of(name)) for name in NAMES}
        self._ends: list[str] = []
        self._resting = False
        self._ended = 0.0

    def close(self) -> None:
        """Close the disk."""
        self.disk.close()

    async def collect(self, channel: str, payload: str) -> None:
        """Take a notification of the script that runs."""
        await self.disk.collect(channel, payload)

    def _open(self, path: Path | None) -> AccessDisk:
        return AccessDisk(path, self._weather, self.channel, self._late)

    async def run(self, turns: Sequence[CrowdTurn]) -> None:
        """Serve ``turns``, and come to rest."""
        await self.disk.write(found)
        async with trio.open_nursery() as nursery:
            await self._places.begin_all(nursery)
            for person in self._crowd.people.values():
                await begin_session(self._crowd, person, self._random)
                await create_key(self._crowd, person, self._random)
            self._weather.armed = True
            async with trio.open_nursery() as devices:
                for person in self._crowd.people.values():
                    devices.start_soon(self._listen, person)
                async with trio.open_nursery() as users:
                    for person in self._crowd.people.values():
                        numbers = [turn.number for turn in turns if turn.person == person.name]
                        users.start_soon(self._use, person, numbers)
                    users.start_soon(self._suffer, nursery)
                await self._come_to_rest()
                devices.cancel_scope.cancel(reason="the run is over")
            await self._places.stop_all()

    def judge(self) -> None:
        """Judge the finished run; raise `Violated`."""
        judge_access(
            AccessRun(
                self.disk.moments,
                self._streams,
                self._crowd.done,
                self._crowd.looked,
                self._crowd.revoked,
                {process.name: process.listening for process in self._all},
                FRESH,
                self._ended,
            )
        )

    def sights(self) -> Iterator[str]:
        """Report what happened."""
        yield from self._crowd.sights
        yield from self._weather.injected
        yield from self._ends
        for stream in self._streams:
            yield "stream opened" if stream.opened else "stream refused"
            if stream.code:
                yield f"stream closed with {stream.code}"
            for event in stream.events:
                yield f"sent {event.kind} {event.reason}".rstrip()
        for process in self._all:
            if process.listening is not None:
                yield from ("gap" for _ in process.listening.gaps)

    async def _use(self, person: Somebody, numbers: Sequence[int]) -> None:
        for number in numbers:
            # Each turn draws for itself, so it is unchanged when others are removed.
            random = Random(f"{person.name}{number} of {current_schedule()}")
            await random.choice(ACTS)(self._crowd, person, random)
            await trio.sleep(random.choice(PAUSES))

    # The devices

    async def _listen(self, person: Somebody) -> None:
        """Keep a stream open, with one credential or another."""
        random = Random(f"device of {person.name} of {current_schedule()}")
        while True:
            process = self._places.pick(random)
            if process is None or not person.held:
                await trio.sleep(0.3)
                if not person.held and not self._resting:
                    await begin_session(self._crowd, person, random)
                continue
            held = random.choice(person.held[-2:])
            if not await self._follow(person, held, process, random) and held in person.held:
                # It has learned that it can't be used any more.
                person.held.remove(held)
            await trio.sleep(8.0 if self._resting else random.choice([0.3, 1.5, 4.0]))

    async def _follow(
        self, person: Somebody, held: Held, process: AccessProcess, random: Random
    ) -> bool:
        """Keep a stream open; return whether it was opened, or may be at another time."""
        stream = Stream(
            person.account_id,
            held.credential_id,
            held.expires_at,
            process.name,
            trio.current_time(),
        )
        self._streams.append(stream)
        socket = DeviceSocket(stream, random)
        name, value = (
            ("authorization", f"Bearer {held.secret}")
            if held.kind == "key"
            else ("cookie", f"__Host-octavo={held.secret}")
        )
        async with trio.open_nursery() as nursery:
            nursery.start_soon(self._talk, socket, random)
            await process.serve_stream(stream, socket, [(name.encode(), value.encode())])
            nursery.cancel_scope.cancel(reason="the stream has ended")
        return stream.opened or stream.code == 1013

    async def _talk(self, socket: DeviceSocket, random: Random) -> None:
        for workspace_id in random.sample(WORKSPACES, random.choice([1, 2, 3])):
            socket.say("subscribe", workspace_id)
            await trio.sleep(random.choice([0.0, 0.0, 0.2]))
        for _ in range(random.choice([0, 0, 1, 2])):
            await trio.sleep(random.choice([0.2, 2.0]))
            workspace_id = random.choice(WORKSPACES)
            last = socket.last_said(workspace_id)
            if last != "subscribe":
                follows = last in ("subscribed", "changed")
                socket.say("unsubscribe" if follows else "subscribe", workspace_id)
        await trio.sleep(random.choice([1.0, 15.0, NEVER, NEVER]))
        if not self._resting:
            socket.leave()

    # The ends of processes

    def _process(self, name: str, random: Random) -> AccessProcess:
        shared = self._places.shared
        process = AccessProcess(
            f"{name} #{len(self._all)}",
            self.disk,
            self._weather,
            random,
            sources=self._sources,
            channel=self.channel if shared else None,
            fresh=0.0 if shared else FRESH,
        )
        self._all.append(process)
        return process

    async def _suffer(self, nursery: trio.Nursery) -> None:
        for _ in range(self._random.choice([0, 1, 2, 3])):
            await pause(self._random, (0, 1.0, 3.0), steps=100)
            if self._places.shared and self._random.random() < 0.7:
                self._ends.append(self.channel.disturb())
            else:
                self._ends.append(await self._places.disturb(nursery, self._lose_power))

    async def _lose_power(self) -> None:
        """Kill all processes at one moment, and continue with the disk as it was then."""
        note_fault("the power is lost")
        copy, moments = self._rooms.copied(self.disk), [*self.disk.moments]
        await self._places.cut_all()
        if copy is not None:
            self.disk.close()
            self.disk = self._open(copy)
            self.disk.follow(moments)

    async def _come_to_rest(self) -> None:
        """Write for the last time, and wait until every promise has to be kept."""
        self._resting = True
        self._weather.armed = False
        if self._places.shared and self._random.random() < 0.7:
            self._ends.append(self.channel.disturb())
            # So that some of it is missed.
            self.channel.refusing += 1
        for person in self._crowd.people.values():
            await write(self._crowd, person, self._random)
            if self._random.random() < 0.6:
                await self._random.choice(LAST_ACTS)(self._crowd, person, self._random)
        for second in count():
            if all(each.hears for each in self._places.processes):
                break
            if second > SILENT_SECONDS:
                raise Violated(["a process does not hear of the others any more"])
            await trio.sleep(1.0)
        await trio.sleep(CHECK_SECONDS + 2 * FAST)
        self._ended = trio.current_time()
