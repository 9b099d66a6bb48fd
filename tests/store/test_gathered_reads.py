"""Those who ask at once share a read, which begins after they asked."""

from collections.abc import Mapping, Sequence
from random import Random

import pytest
import trio
from trio.testing import wait_all_tasks_blocked

from octavo.store import Script, StoreUnavailable, Transaction
from octavo.store.fair_turns import working_for
from octavo.store.gathered_reads import HOLDER, MOST, GatheredReads
from octavo.store.transaction import T


class Slow:
    """A store whose reads last until they are let go; ``values`` is what it has."""

    def __init__(self) -> None:
        self.values = {"a": 1, "b": 2}
        self.asked: list[list[str]] = []
        self.running = 0
        self.go = trio.Event()
        self.failing = False

    def script(self, keys: Sequence[str]) -> Script[Mapping[str, int]]:
        async def look(_: Transaction) -> Mapping[str, int]:
            self.asked.append(list(keys))
            return {key: self.values[key] for key in keys if key in self.values}

        return look

    async def read(self, script: Script[T]) -> T:
        assert not self.running
        self.running += 1
        try:
            found = await script(None)  # type: ignore[arg-type]  # it has none
            await self.go.wait()
        finally:
            self.running -= 1
        if self.failing:
            raise StoreUnavailable("away")
        return found

    async def read_much(self, script: Script[T]) -> T:
        return await self.read(script)

    async def write(self, script: Script[T]) -> T:
        raise NotImplementedError


class TotalsQuery:
    """Asks, and keeps the answers in the order in which they came."""

    def __init__(self, store: Slow, nursery: trio.Nursery) -> None:
        self.reads = GatheredReads(store, store.script)
        self.answers: list[tuple[str, int | None]] = []
        self.failures = 0
        self._nursery = nursery

    async def ask(self, key: str) -> trio.CancelScope:
        """Ask in a task, until it waits; return the scope that cancels it."""
        scope = trio.CancelScope()
        self._nursery.start_soon(self.wait, key, scope)
        await wait_all_tasks_blocked()
        return scope

    async def wait(self, key: str, scope: trio.CancelScope) -> None:
        with scope:
            try:
                self.answers.append((key, await self.reads.find(key)))
            except StoreUnavailable:
                self.failures += 1


async def test_who_asks_during_a_read_gets_what_is_there_afterwards() -> None:
    store = Slow()
    async with trio.open_nursery() as nursery:
        asked = TotalsQuery(store, nursery)
        await asked.ask("a")
        assert store.asked == [["a"]]
        store.values["a"] = 10
        for key in ("b", "a", "none", "b"):
            await asked.ask(key)
        store.go.set()
    assert store.asked == [["a"], ["b", "a", "none"]]
    assert asked.answers[0] == ("a", 1)
    assert sorted(asked.answers[1:], key=str) == [("a", 10), ("b", 2), ("b", 2), ("none", None)]


async def test_cancelled_read_is_done_by_another_one() -> None:
    store = Slow()
    async with trio.open_nursery() as nursery:
        asked = TotalsQuery(store, nursery)
        first = await asked.ask("a")
        second = await asked.ask("a")
        await asked.ask("b")
        first.cancel()
        await wait_all_tasks_blocked()
        assert store.asked == [["a"], ["a", "b"]]
        second.cancel()
        await wait_all_tasks_blocked()
        store.go.set()
    # The second one has led, or has waited.
    assert store.asked in ([["a"], ["a", "b"]], [["a"], ["a", "b"], ["a", "b"]])
    assert asked.answers == [("b", 2)]


async def test_failure_is_raised_by_all_that_share_the_read_and_no_others() -> None:
    store = Slow()
    async with trio.open_nursery() as nursery:
        asked = TotalsQuery(store, nursery)
        for key in ("a", "a", "b"):
            await asked.ask(key)
        store.failing = True
        go, store.go = store.go, trio.Event()
        go.set()
        await wait_all_tasks_blocked()
        assert asked.failures == 1
        store.failing = False
        store.go.set()
    assert (asked.failures, len(asked.answers)) == (1, 2)


async def test_reads_take_turns_for_nobody_who_asks() -> None:
    store, holders = Slow(), []

    async def look(_: Transaction) -> Mapping[str, int]:
        holders.append(working_for.get())
        return {}

    store.go.set()
    working_for.set("ann")
    await GatheredReads(store, lambda _: look).find("a")
    assert holders == [HOLDER]
    assert working_for.get() == "ann"


async def test_no_read_has_more_keys_than_a_statement() -> None:
    store = Slow()
    keys = [str(number) for number in range(2 * MOST + 1)]
    async with trio.open_nursery() as nursery:
        asked = TotalsQuery(store, nursery)
        await asked.ask("a")
        for key in keys:
            nursery.start_soon(asked.wait, key, trio.CancelScope())
        await wait_all_tasks_blocked()
        store.go.set()
    assert sorted(map(len, store.asked)) == [1, 1, MOST, MOST]
    assert sorted(key for read in store.asked[1:] for key in read) == sorted(keys)


@pytest.mark.parametrize("seed", range(50))
async def test_nobody_gets_what_was_read_before_it_asked(seed: int) -> None:
    """Values grow; whoever asks gets at least what was there when it asked."""
    random = Random(seed)
    store = Slow()
    store.values = {"a": 0, "b": 0}
    finished = 0

    async def use(reads: GatheredReads[str, int]) -> None:
        nonlocal finished
        for _ in range(20):
            key = random.choice("ab")
            least = store.values[key]
            with trio.CancelScope() as scope:
                if random.random() < 0.2:
                    scope.cancel()
                found = await reads.find(key)
                assert found is not None
                assert least <= found <= store.values[key]
                finished += 1
            await trio.lowlevel.checkpoint()

    async def change() -> None:
        while True:
            store.values[random.choice("ab")] += 1
            if random.random() < 0.5:
                store.go.set()
                store.go = trio.Event()
            await trio.lowlevel.checkpoint()

    with trio.fail_after(20):
        async with trio.open_nursery() as nursery:
            nursery.start_soon(change)
            async with trio.open_nursery() as users:
                reads = GatheredReads(store, store.script)
                for _ in range(5):
                    users.start_soon(use, reads)
            nursery.cancel_scope.cancel()
    assert finished > 50
