"""One timer passes on what was set, each after the same delay."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import trio
from antechamber.websocket.serving import CALLED_PER_TURN, SharedTimer
from hypothesis import given
from hypothesis import strategies as st
from trio.testing import MockClock, wait_all_tasks_blocked

ITEMS = st.sampled_from("abc")
ACTS = st.lists(
    st.tuples(st.sampled_from(["set", "clear"]), ITEMS, st.integers(0, 12)), max_size=30
)


class Recorder:
    """A timer with a delay of ten seconds, and what it passed on, with its time."""

    def __init__(self) -> None:
        self.passed: list[tuple[float, str]] = []
        self.timer = SharedTimer(10.0, self._pass)

    def _pass(self, item: str) -> None:
        self.passed.append((trio.current_time(), item))


@asynccontextmanager
async def recording() -> AsyncIterator[Recorder]:
    recorder = Recorder()
    async with trio.open_nursery() as nursery:
        nursery.start_soon(recorder.timer.run)
        yield recorder
        nursery.cancel_scope.cancel()


@given(ACTS)
def test_each_item_is_passed_on_ten_seconds_after_it_was_set_last(
    acts: list[tuple[str, str, int]],
) -> None:
    expected: list[tuple[float, str]] = []
    due: dict[str, float] = {}

    def advance(to: float) -> None:
        for item, time in sorted(due.items(), key=lambda pair: pair[1]):
            if time <= to:
                expected.append((time, item))
                del due[item]

    async def run() -> None:
        async with recording() as recorder:
            for act, item, pause in acts:
                if act == "set":
                    recorder.timer.set(item)
                    due[item] = trio.current_time() + 10
                else:
                    assert recorder.timer.clear(item) == (item in due)
                    due.pop(item, None)
                if pause:
                    # Between the ticks, so that order of acts and times is clear.
                    await trio.sleep(pause + 0.5)
                    advance(trio.current_time())
            await trio.sleep(20)
            advance(trio.current_time())
            assert sorted(recorder.passed) == sorted(expected)

    trio.run(run, clock=MockClock(autojump_threshold=0))


async def test_items_that_are_due_together_let_others_run(autojump_clock: MockClock) -> None:
    async with recording() as recorder:
        for number in range(10 * CALLED_PER_TURN):
            recorder.timer.set(str(number))
        await trio.sleep(10)
        while len(recorder.passed) < 10 * CALLED_PER_TURN:
            before = len(recorder.passed)
            await trio.lowlevel.checkpoint()
            # Twice, when it was the last in one round of the loop and the first in the next.
            assert len(recorder.passed) - before <= 2 * CALLED_PER_TURN
        assert [item for _, item in recorder.passed] == [str(each) for each in range(320)]


async def test_timer_that_was_emptied_before_it_ran_goes_on(autojump_clock: MockClock) -> None:
    async with recording() as recorder:
        await wait_all_tasks_blocked()
        recorder.timer.set("a")
        recorder.timer.clear("a")
        await trio.sleep(20)
        recorder.timer.set("b")
        await trio.sleep(20)
        assert recorder.passed == [(30.0, "b")]
