"""The places of the processes of a run: at each one runs, ends, and is followed by another."""

from collections.abc import Awaitable, Callable, Sequence
from random import Random
from typing import Generic, Literal, TypeVar

import trio
from greenroom.testing import note_fault

from tests.simulation.bare_process import BareProcess

End = Literal["stop", "cut"]
ENDS: Sequence[End] = ("stop", "cut")
"""How a process ends: as on SIGTERM, and as on SIGKILL."""

P = TypeVar("P", bound=BareProcess)


class Places(Generic[P]):
    """One place or several on one disk, at each of which a process runs most of the time.

    Args:
        random: decides when processes end, and how.
        number: how many places there are.
        new: returns a process with a name and a source of randomness, which does not run yet.
        reachable_to_the_end: whether requests still reach a process while it ends; otherwise, it is
            not picked any more, as by a load balancer that knows.
    """

    def __init__(
        self,
        random: Random,
        number: int,
        new: Callable[[str, Random], P],
        *,
        reachable_to_the_end: bool = False,
    ) -> None:
        self._random = random
        self._new = new
        self._reachable_to_the_end = reachable_to_the_end
        self._processes: list[P | None] = [None] * number

    def __len__(self) -> int:
        return len(self._processes)

    @property
    def shared(self) -> bool:
        """Whether several processes use the disk."""
        return len(self) > 1

    @property
    def processes(self) -> list[P]:
        """The processes of all places, each of which has to run."""
        running = self.running()
        assert len(running) == len(self), "a process was not started, or not started again"
        return running

    def running(self) -> list[P]:
        """Return the processes that can be reached."""
        return [process for process in self._processes if process is not None]

    def pick(self, random: Random) -> P | None:
        """Return the process of any place; None if it can't be reached."""
        return random.choice(self._processes)

    async def begin(self, place: int, nursery: trio.Nursery) -> None:
        """Start a process at a place where none runs."""
        process = self._new(f"p{place}", Random(self._random.getrandbits(32)))
        await nursery.start(process.run, name=process.name)
        note_fault(f"{process.name} has started")
        self._processes[place] = process

    async def begin_all(self, nursery: trio.Nursery) -> None:
        """Start a process at each place."""
        for place in range(len(self)):
            await self.begin(place, nursery)

    async def end(self, place: int, end: End) -> P:
        """End the process of a place, and return it when it has ended."""
        process = self._processes[place]
        assert process is not None, "nothing runs there"
        if not self._reachable_to_the_end:
            self._processes[place] = None
        note_fault(f"{process.name} is {'stopped' if end == 'stop' else 'killed'}")
        process.stop() if end == "stop" else process.cut()
        await process.ended.wait()
        self._processes[place] = None
        return process

    async def stop_all(self) -> list[P]:
        """Stop one process after the other, and return them."""
        return [await self.end(place, "stop") for place in range(len(self))]

    async def cut_all(self) -> None:
        """Kill all processes at one moment."""
        running = self.running()
        for process in running:
            note_fault(f"{process.name} is killed")
            process.cut()
        for process in running:
            await process.ended.wait()
        self._processes = [None] * len(self)

    async def disturb(
        self, nursery: trio.Nursery, lose_power: Callable[[], Awaitable[None]] | None = None
    ) -> str:
        """End a process, or all of them by a loss of power, and start others; return what it was.

        ``lose_power`` has to kill all of them; without it, there is power all the time.
        """
        ends: Sequence[End | Literal["power"]] = ENDS if lose_power is None else (*ENDS, "power")
        place = self._random.randrange(len(self))
        ended: Sequence[int] = [place]
        end = self._random.choice(ends)
        if end != "power":
            await self.end(place, end)
        elif lose_power is not None:
            ended = range(len(self))
            await lose_power()
        await trio.sleep(self._random.choice([0, 0.3]))
        for each in ended:
            await self.begin(each, nursery)
        return f"{end} of {len(self)}"


async def pause(random: Random, seconds: Sequence[float], steps: int) -> None:
    """Wait for one of ``seconds``, and for less than ``steps`` steps of the schedule then."""
    await trio.sleep(random.choice(seconds))
    for _ in range(random.randrange(steps)):
        await trio.lowlevel.checkpoint()
