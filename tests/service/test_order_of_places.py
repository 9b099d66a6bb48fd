"""No request waits for a place with one that comes after it in the order.

The order is: memory, the making of a large response, a turn of threads and connections. Otherwise
requests could wait for each other.
"""

from collections import defaultdict
from collections.abc import Awaitable, Callable
from typing import Any

import pytest
import trio

from octavo.http.contract.call import Call
from octavo.http.contract.memory_budget import Hold, MemoryBudget
from octavo.store.fair_turns import FairTurns
from tests.fakes.notes_api import NotesApi

Waits = Callable[..., Awaitable[Any]]


class Places:
    """Watches the places that tasks hold and wait for.

    Attributes:
        waits: the kinds of places that were waited for.
        faults: what was waited for with which place.
    """

    def __init__(self, patch: pytest.MonkeyPatch) -> None:
        self.waits: set[str] = set()
        self.faults: set[str] = set()
        self._turns: dict[trio.lowlevel.Task, int] = defaultdict(int)
        self._making: dict[trio.lowlevel.Task, Hold] = {}
        acquire, release = FairTurns.acquire, FairTurns.release
        wait, wait_briefly = MemoryBudget.wait, MemoryBudget.wait_briefly

        async def acquire_turn(turns: FairTurns, holder: str) -> None:
            self._wait("turn")
            await acquire(turns, holder)
            self._turns[trio.lowlevel.current_task()] += 1

        def release_turn(turns: FairTurns, holder: str) -> None:
            self._turns[trio.lowlevel.current_task()] -= 1
            release(turns, holder)

        async def wait_for_room(budget: MemoryBudget, client: str | None, size: int) -> Hold:
            # A place of making is one byte of a budget of its own.
            self._wait("memory" if size > 1 else "making")
            hold = await wait(budget, client, size)
            if size == 1:
                self._making[trio.lowlevel.current_task()] = hold
            return hold

        async def wait_a_moment(budget: MemoryBudget, client: str | None, size: int) -> Hold:
            self._wait("memory")
            return await wait_briefly(budget, client, size)

        patch.setattr(FairTurns, "acquire", acquire_turn)
        patch.setattr(FairTurns, "release", release_turn)
        patch.setattr(MemoryBudget, "wait", wait_for_room)
        patch.setattr(MemoryBudget, "wait_briefly", wait_a_moment)

    def _wait(self, place: str) -> None:
        self.waits.add(place)
        task = trio.lowlevel.current_task()
        if task in self._making and self._making[task].size and place != "turn":
            self.faults.add(f"{place} while making")
        if self._turns[task] and place != "turn":
            self.faults.add(f"{place} with a turn")


async def test_operations_take_places_in_one_order(
    api: NotesApi, monkeypatch: pytest.MonkeyPatch
) -> None:
    note = await api.note("a.md", "".join(f"{at} old\n" for at in range(20_000)))
    await note.update(text="".join(f"{at} new\n" for at in range(20_000)))
    places = Places(monkeypatch)
    base = note.place.rpartition("/files/")[0]
    paths = [
        *(note.place, f"{note.place}?content=full", f"{note.place}?content=text"),
        *(f"{note.place}/diff", f"{note.place}/diff?by=words", f"{note.place}/revisions"),
        *(f"{base}/feed?include=text", f"{base}/files", f"{base}/search?q=new"),
    ]
    # The second time, large responses are expected.
    for _ in range(2):
        for path in paths:
            response = await api.owner.get(path, sync_protocol="1")
            assert response.status == 200, (path, response.body[:200])
    assert places.waits == {"memory", "turn", "making"}
    assert places.faults == set()


async def test_memory_that_is_waited_for_with_a_turn_is_found(
    api: NotesApi, monkeypatch: pytest.MonkeyPatch
) -> None:
    note = await api.note("a.md", "x" * 200_000)
    turns = FairTurns(1, 1)
    reserve = Call.reserve

    async def reserve_with_a_turn(call: Call, size: int) -> None:
        async with turns.turn():
            await reserve(call, size)

    monkeypatch.setattr(Call, "reserve", reserve_with_a_turn)
    places = Places(monkeypatch)
    assert (await api.owner.get(f"{note.place}/diff")).status == 200
    assert places.faults == {"memory with a turn"}
