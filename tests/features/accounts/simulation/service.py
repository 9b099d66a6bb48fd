"""Identity in one run: processes that start and end on a disk, and the people who use them."""

from collections.abc import Awaitable, Callable, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from itertools import count
from pathlib import Path
from random import Random
from tempfile import TemporaryDirectory

import trio
from greenroom.testing import current_schedule, note_fault, scenario_random

from octavo.store import StoreUnavailable
from tests.features.accounts.simulation import account_acts, program_acts, shared_acts
from tests.features.accounts.simulation.deeds import Deeds
from tests.features.accounts.simulation.disk import WatchedDisk
from tests.features.accounts.simulation.guesses import faults_of_guesses
from tests.features.accounts.simulation.process import IdentityProcess, Sources
from tests.features.accounts.simulation.town import NEWCOMERS, PROGRAMS, RESIDENTS, Person, Town
from tests.features.accounts.simulation.verdict import judge_identity
from tests.simulation.asking import Asking
from tests.simulation.places import Places, pause
from tests.simulation.weather import FaultSchedule

Act = Callable[[Town, Person, Random], Awaitable[None]]

TURNS = 8
FRESH = 5.0
"""Seconds for which a single process caches credentials; several can't."""
ACTS: Sequence[Act] = (
    *[account_acts.sign_in] * 2,
    account_acts.change_password,
    *[account_acts.request_reset] * 2,
    *[account_acts.deliver] * 3,
    *[account_acts.reset] * 4,
    account_acts.consent,
    account_acts.choose_policy,
    *[account_acts.create_key] * 3,
    *[account_acts.revoke] * 4,
    *[account_acts.open_portal] * 2,
    *[account_acts.redeem] * 2,
    *[shared_acts.invite] * 4,
    *[shared_acts.accept] * 4,
    shared_acts.withdraw,
    *[shared_acts.change_role] * 3,
    *[shared_acts.leave] * 2,
    *[shared_acts.decide] * 6,
    *[shared_acts.control] * 4,
    shared_acts.remove,
    shared_acts.remove_own,
)
"""What people do, as often as it is listed."""
PROGRAM_ACTS: Sequence[Act] = (
    *[program_acts.allow] * 5,
    *[program_acts.exchange] * 6,
    *[program_acts.renew] * 7,
    *[program_acts.end_access] * 2,
    *[program_acts.revoke_token] * 2,
    *[program_acts.steal] * 2,
    *[program_acts.uninstall] * 2,
    account_acts.request_reset,
    account_acts.deliver,
    *[account_acts.reset] * 2,
    *[shared_acts.invite] * 2,
    *[shared_acts.decide] * 3,
    shared_acts.control,
    shared_acts.remove,
    shared_acts.remove_own,
)
"""The same, in runs with programs."""


BURSTS = (0, 0, 0, 2, 5)
"""How often somebody guesses passwords."""


@dataclass(frozen=True, slots=True)
class PersonTurn:
    """The ``number``-th action of a person; the schedule decides what it is."""

    person: str
    number: int


ALL_PERSON_TURNS = [
    PersonTurn(person, number) for number in range(TURNS) for person in (*RESIDENTS, *NEWCOMERS)
]


async def simulate_identity(
    turns: Sequence[PersonTurn] = ALL_PERSON_TURNS,
    sighted: Callable[[str], None] = lambda _: None,
    *,
    programs: bool = False,
) -> None:
    """Run identity under injected faults while people take ``turns``; then judge everything.

    ``sighted`` is called with every notable event. With ``programs``, most of what people do is to
    allow programs access.
    """
    random = scenario_random()
    with ExitStack() as stack:
        folder: Path | None = None
        if random.random() < 0.1:
            folder = Path(stack.enter_context(TemporaryDirectory()))
        service = IdentityService(random, folder, PROGRAM_ACTS if programs else ACTS)
        stack.callback(service.close)
        await service.run(turns)
        await service.judge()
        for sight in service.sights():
            sighted(sight)


class IdentityService:
    """A disk, in ``folder`` or in memory, and one or two processes on it.

    ``acts`` are what people do.
    """

    def __init__(self, random: Random, folder: Path | None, acts: Sequence[Act]) -> None:
        self._acts = acts
        self._random = random
        self._folder = folder
        self._weather = FaultSchedule(random)
        self._sources = Sources()
        self._violations: list[str] = []
        self._ends: list[str] = []
        self._rooms = count()
        self._disk = WatchedDisk(self._room() / "octavo.db" if folder else None, self._weather)
        number = random.choice([1, 1, 2])
        self._places = Places(random, number, self._process, reachable_to_the_end=True)
        self._deeds = Deeds(
            Asking(self._places.pick, self._weather),
            self._places.running,
            lambda: self._disk.steps,
            self._violations.append,
        )
        self._town = Town(self._deeds)

    def close(self) -> None:
        """Close the disk."""
        self._disk.close()

    async def run(self, turns: Sequence[PersonTurn]) -> None:
        """Serve ``turns``, and come to rest."""
        async with trio.open_nursery() as nursery:
            await self._places.begin_all(nursery)
            await self._town.settle(self._places.processes[0])
            if self._acts is PROGRAM_ACTS:
                for _ in range(PROGRAMS):
                    await self._town.install(self._places.processes[0])
            self._weather.armed = True
            async with trio.open_nursery() as users:
                for person in self._town.people.values():
                    numbers = [turn.number for turn in turns if turn.person == person.name]
                    users.start_soon(self._use, person, numbers)
                users.start_soon(self._suffer, nursery)
                users.start_soon(self._guess)
            self._weather.armed = False
            await self._come_to_rest()
            await self._places.stop_all()

    async def judge(self) -> None:
        """Judge the finished run; raise `Violated`."""
        violations = [*self._violations, *faults_of_guesses(self._town.guesses)]
        await judge_identity(self._disk, self._deeds.done, violations)

    def sights(self) -> Iterator[str]:
        """Report what happened: outcomes, refusals, faults and ends of processes."""
        yield from self._deeds.sights
        yield from self._weather.injected
        yield from self._ends
        yield from (f"guess {each.verdict}" for each in self._town.guesses)

    async def _use(self, person: Person, numbers: Sequence[int]) -> None:
        for number in numbers:
            # Each turn draws for itself, so it is unchanged when others are removed.
            random = Random(f"{person.name}{number} of {current_schedule()}")
            removed = person.account_id not in self._disk.steps[-1].state.accounts
            act = shared_acts.register if removed else random.choice(self._acts)
            await act(self._town, person, random)
            ended = [*self._deeds.ended]
            if ended:
                await self._deeds.check_ended(random.sample(ended, 1))
            await trio.sleep(random.choice([0, 0, 0.1, 0.6]))

    async def _guess(self) -> None:
        """Guess passwords as somebody without an account, in some runs."""
        random = Random(f"guesses of {current_schedule()}")
        for _ in range(random.choice(BURSTS)):
            await trio.sleep(random.choice([0.0, 0.3, 31.0, 65.0]))
            await account_acts.guess(self._town, random)

    # The ends of processes

    def _process(self, name: str, random: Random) -> IdentityProcess:
        fresh = 0.0 if self._places.shared else FRESH
        return IdentityProcess(
            name, self._disk, self._weather, random, sources=self._sources, fresh=fresh
        )

    async def _suffer(self, nursery: trio.Nursery) -> None:
        for _ in range(self._random.choice([0, 1, 2, 3])):
            await pause(self._random, (0, 0.3, 1.0), steps=100)
            self._ends.append(await self._places.disturb(nursery, self._lose_power))

    async def _lose_power(self) -> None:
        """Kill all processes at one moment, and continue with the disk as it was then."""
        note_fault("the power is lost")
        copy = self._disk.copied(self._room()) if self._folder else None
        committed = len(self._disk.steps)
        await self._places.cut_all()
        if copy is not None:
            self._disk.close()
            disk = WatchedDisk(copy, self._weather)
            disk.follow(self._disk.steps[:committed])
            self._disk = disk

    def _room(self) -> Path:
        assert self._folder is not None
        room = self._folder / str(next(self._rooms))
        room.mkdir()
        return room

    async def _come_to_rest(self) -> None:
        """Deliver all mail, as its last attempt."""
        for _ in range(100):
            try:
                while await account_acts.deliver_one(self._town, self._places.processes[0]):
                    pass
            except StoreUnavailable:
                continue
            await trio.sleep(account_acts.CLAIM / 1000)
            if not await account_acts.deliver_one(self._town, self._places.processes[0]):
                return
