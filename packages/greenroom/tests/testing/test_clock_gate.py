"""The gate holds virtual time while a thread works; only these tests use real time."""

import math
import threading
import time

import pytest
import trio
from greenroom.testing.clock_gate import ClockGate
from greenroom.testing.deterministic import run_deterministic
from trio.testing import MockClock

WORK = 0.05


def threshold() -> float:
    clock = trio.lowlevel.current_clock()
    assert isinstance(clock, MockClock)
    return clock.autojump_threshold


async def work_in_a_thread() -> None:
    with trio.fail_after(30):
        await trio.to_thread.run_sync(time.sleep, WORK, abandon_on_cancel=True)


async def work_behind_a_gate() -> None:
    with trio.fail_after(30):
        await ClockGate().run_sync(time.sleep, WORK, abandon_on_cancel=True)


def test_without_gate_the_deadline_strikes_while_the_thread_works() -> None:
    with pytest.raises(trio.TooSlowError):
        run_deterministic(work_in_a_thread)


@pytest.mark.parametrize("schedule", ["random:0", "random+time:0", "pct+time:2:20:0"])
def test_with_gate_the_thread_is_awaited(schedule: str) -> None:
    assert run_deterministic(work_behind_a_gate, seed=schedule).duration == 0


async def test_gate_gives_the_result_and_passes_the_arguments(autojump_clock: MockClock) -> None:
    def name_of(prefix: str) -> str:
        return prefix + threading.current_thread().name

    named = await ClockGate().run_sync(name_of, "in ", thread_name="worker")
    assert named == "in worker"


async def test_threshold_is_restored_at_the_last_of_nested_releases(
    autojump_clock: MockClock,
) -> None:
    gate = ClockGate()
    with gate.hold():
        with gate.hold():
            assert threshold() == math.inf
        assert threshold() == math.inf
        held = gate.held
    assert threshold() == 0
    assert (held, gate.held) == (True, False)


async def test_threshold_is_restored_when_holders_overlap(autojump_clock: MockClock) -> None:
    gate = ClockGate()

    async def hold(entered: trio.Event, leave: trio.Event) -> None:
        with gate.hold():
            entered.set()
            await leave.wait()

    first, second = trio.Event(), trio.Event()
    leave_first, leave_second = trio.Event(), trio.Event()
    async with trio.open_nursery() as nursery:
        nursery.start_soon(hold, first, leave_first)
        await first.wait()
        nursery.start_soon(hold, second, leave_second)
        await second.wait()
        leave_first.set()
        await trio.testing.wait_all_tasks_blocked()
        assert threshold() == math.inf
        leave_second.set()
    assert threshold() == 0


async def test_threshold_is_restored_after_an_error(autojump_clock: MockClock) -> None:
    def fail() -> None:
        raise LookupError

    with pytest.raises(LookupError):
        await ClockGate().run_sync(fail)
    assert threshold() == 0


async def test_threshold_is_restored_after_a_cancellation(autojump_clock: MockClock) -> None:
    with trio.CancelScope() as scope:
        scope.cancel()
        await ClockGate().run_sync(time.sleep, WORK)
    assert scope.cancelled_caught
    assert threshold() == 0


async def test_abandoned_thread_releases_the_gate(autojump_clock: MockClock) -> None:
    gate = ClockGate()

    async def call() -> None:
        await gate.run_sync(time.sleep, WORK, abandon_on_cancel=True)

    async with trio.open_nursery() as nursery:
        nursery.start_soon(call)
        await trio.testing.wait_all_tasks_blocked()
        held = gate.held
        nursery.cancel_scope.cancel()
    assert (held, gate.held) == (True, False)
    assert threshold() == 0


async def test_gate_does_nothing_under_a_real_clock() -> None:
    gate = ClockGate()
    with gate.hold():
        await trio.lowlevel.checkpoint()
        held = gate.held
    assert (held, gate.held) == (True, False)


def test_gate_outside_of_a_run_is_refused() -> None:
    with pytest.raises(RuntimeError), ClockGate().hold():
        pass
