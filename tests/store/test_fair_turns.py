"""Turns go to each holder in rotation, none has more than its part, and none is lost."""

import threading
from collections import Counter

import pytest
import trio
from hypothesis import given
from hypothesis import strategies as st

from octavo.store.fair_turns import FairThreads, FairTurns, working_for


async def work(turns: FairTurns, holder: str, done: list[str], seconds: float = 1.0) -> None:
    await turns.acquire(holder)
    try:
        await trio.sleep(seconds)
        done.append(holder)
    finally:
        turns.release(holder)


async def test_one_who_asks_for_little_does_not_wait_for_all_that_another_wants(
    autojump_clock: trio.testing.MockClock,
) -> None:
    turns, done = FairTurns(4, 2), list[str]()
    async with trio.open_nursery() as nursery:
        for _ in range(100):
            nursery.start_soon(work, turns, "busy", done)
        await trio.sleep(0.5)
        begun = trio.current_time()
        await work(turns, "other", done)
        # The busy one has half of the turns; the others are free.
        assert trio.current_time() - begun == 1
    assert Counter(done) == {"busy": 100, "other": 1}
    assert trio.current_time() == 50


async def test_holders_get_the_turns_in_rotation(
    autojump_clock: trio.testing.MockClock,
) -> None:
    turns, done = FairTurns(1, 1), list[str]()
    async with trio.open_nursery() as nursery:
        for holder in "aaaabbbc":
            nursery.start_soon(work, turns, holder, done)
            await trio.testing.wait_all_tasks_blocked()
    assert "".join(done) == "aabcabab"


async def test_waiter_that_leaves_takes_no_turn_and_loses_none(
    autojump_clock: trio.testing.MockClock,
) -> None:
    turns, done = FairTurns(1, 1), list[str]()
    async with trio.open_nursery() as nursery:
        nursery.start_soon(work, turns, "a", done)
        await trio.sleep(0.5)
        with trio.move_on_after(0.1) as left:
            await turns.acquire("b")
        assert left.cancelled_caught
        await work(turns, "c", done)
    assert done == ["a", "c"]


async def test_turn_given_to_a_waiter_that_is_cancelled_at_once_is_passed_on(
    autojump_clock: trio.testing.MockClock,
) -> None:
    turns, done = FairTurns(1, 1), list[str]()
    await turns.acquire("a")
    async with trio.open_nursery() as nursery:
        leaving = trio.CancelScope()

        async def leave() -> None:
            with leaving:
                await turns.acquire("b")

        nursery.start_soon(leave)
        await trio.testing.wait_all_tasks_blocked()
        nursery.start_soon(work, turns, "c", done)
        await trio.testing.wait_all_tasks_blocked()
        # In one step, before the waiter runs again.
        leaving.cancel()
        turns.release("a")
    assert done == ["c"]


@given(
    st.integers(1, 4),
    st.integers(1, 4),
    st.lists(
        st.tuples(st.sampled_from("abc"), st.integers(0, 5), st.integers(1, 4), st.integers(1, 9)),
        max_size=20,
    ),
)
def test_turns_are_never_exceeded_or_left_free_while_somebody_may_have_one(
    size: int, most: int, visits: list[tuple[str, int, int, int]]
) -> None:
    turns = FairTurns(size, most)
    running: Counter[str] = Counter()
    waiting: Counter[str] = Counter()
    served = left = 0

    def check() -> None:
        assert running.total() <= size
        assert all(each <= most for each in running.values())

    async def visit(holder: str, start: int, seconds: int, patience: int) -> None:
        nonlocal served, left
        await trio.sleep(start)
        waiting[holder] += 1
        with trio.move_on_after(patience + 0.5) as scope:
            await turns.acquire(holder)
        waiting[holder] -= 1
        if scope.cancelled_caught:
            left += 1
            return
        running[holder] += 1
        check()
        await trio.sleep(seconds)
        running[holder] -= 1
        turns.release(holder)
        served += 1

    async def watch() -> None:
        while True:
            await trio.sleep(0.25)
            await trio.testing.wait_all_tasks_blocked()
            free = running.total() < size
            assert not any(free and waiting[each] and running[each] < most for each in waiting)

    async def main() -> None:
        async with trio.open_nursery() as nursery:
            nursery.start_soon(watch)
            async with trio.open_nursery() as visitors:
                for each in visits:
                    visitors.start_soon(visit, *each)
            nursery.cancel_scope.cancel()

    trio.run(main, clock=trio.testing.MockClock(autojump_threshold=0))
    assert served + left == len(visits)


async def test_turn_is_not_given_to_a_caller_that_was_cancelled_before() -> None:
    turns = FairTurns(1, 1)
    with trio.CancelScope() as scope:
        scope.cancel()
        with pytest.raises(trio.Cancelled):
            await turns.acquire("a")
    with trio.fail_after(1):
        await turns.acquire("b")


async def test_thread_works_for_one_holder_while_another_one_fills_its_part() -> None:
    threads, go = FairThreads(2), threading.Event()
    done: list[str] = []

    async def ask(holder: str) -> None:
        working_for.set(holder)
        await threads.run(go.wait)
        done.append(holder)

    async with trio.open_nursery() as nursery:
        for _ in range(10):
            nursery.start_soon(ask, "busy")
        await trio.testing.wait_all_tasks_blocked()
        working_for.set("other")
        with trio.fail_after(5):
            assert await threads.run(lambda: "served") == "served"
        assert done == []
        go.set()
    assert done == ["busy"] * 10
