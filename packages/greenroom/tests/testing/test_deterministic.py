"""Deterministic runs: equal seeds give equal steps, and a run always ends."""

import contextlib
import os
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest
import trio
from greenroom.testing.deterministic import EARLY, Deadlock, Livelock, run_deterministic
from greenroom.testing.schedules import MalformedSchedule, Schedule
from trio.testing import MockClock

SCHEDULES = [
    Schedule.random(81),
    Schedule.random(81, early_time=True),
    Schedule.pct(3, 300, 81),
    Schedule.pct(3, 300, 81, early_time=True),
]


async def busy(log: list[str]) -> None:
    """Tasks that meet in locks and channels, time out together and are cancelled together."""
    lock = trio.Lock()
    send, receive = trio.open_memory_channel[int](1)

    async def worker(number: int) -> None:
        with trio.move_on_after(3):
            async with lock:
                log.append(f"locked {number}")
                await trio.lowlevel.checkpoint()
            await trio.sleep(number % 3)
            await send.send(number)
            await trio.sleep_forever()
        log.append(f"timeout {number}")
        try:
            await trio.sleep_forever()
        finally:
            log.append(f"cancelled {number}")

    async with trio.open_nursery() as nursery:
        for number in range(20):
            nursery.start_soon(worker, number)
        for _ in range(20):
            with trio.move_on_after(1):
                log.append(f"received {await receive.receive()}")
        await trio.sleep(5)
        nursery.cancel_scope.cancel()


def course(schedule: Schedule) -> tuple[tuple[int, ...], list[str]]:
    log: list[str] = []
    return run_deterministic(busy, log, seed=schedule).trace, log


@pytest.mark.parametrize("schedule", SCHEDULES, ids=str)
def test_equal_seeds_take_equal_steps_in_one_process(schedule: Schedule) -> None:
    first = course(schedule)
    assert len(set(first[0])) > 20
    for _ in range(50):
        assert course(schedule) == first


def test_equal_seeds_take_equal_steps_in_processes_with_other_addresses_and_hashes() -> None:
    here = Path(__file__)
    program = (
        "import importlib.util, sys\n"
        f"spec = importlib.util.spec_from_file_location('subject', {str(here)!r})\n"
        "subject = importlib.util.module_from_spec(spec)\n"
        "spec.loader.exec_module(subject)\n"
        "ballast = [object() for _ in range(int(sys.argv[1]))]\n"
        "print([subject.course(schedule) for schedule in subject.SCHEDULES])\n"
    )
    outputs = {
        subprocess.run(
            [sys.executable, "-c", program, str(1000 * int(seed))],
            env={
                **os.environ,
                "PYTHONHASHSEED": seed,
                "PYTHONPATH": os.pathsep.join(filter(None, sys.path)),
            },
            capture_output=True,
            check=True,
            text=True,
        ).stdout
        for seed in ("0", "1", "2")
    }
    assert outputs == {f"{[course(schedule) for schedule in SCHEDULES]}\n"}


def test_other_seeds_take_other_steps() -> None:
    traces = {run_deterministic(busy, [], seed=seed).trace for seed in range(100)}
    assert len(traces) == 100


def test_trace_is_the_order_in_which_the_run_loop_lets_tasks_step() -> None:
    steps: list[str] = []

    class Steps(trio.abc.Instrument):
        def before_task_step(self, task: trio.lowlevel.Task) -> None:
            steps.append(task.name)

    async def main() -> None:
        trio.lowlevel.add_instrument(Steps())
        async with trio.open_nursery() as nursery:
            for name in "abcd":
                nursery.start_soon(trio.lowlevel.checkpoint, name=name)

    for schedule in (Schedule.random(3), Schedule.pct(2, 30, 3)):
        steps.clear()
        run = run_deterministic(main, seed=schedule)
        named = [run.tasks[index] for index in run.trace]
        assert named[-len(steps) :] == steps
        assert run.steps == len(run.trace)


def test_value_arguments_and_schedule_are_returned() -> None:
    async def double(number: int) -> int:
        return 2 * number

    run = run_deterministic(double, 21, seed="pct:1:9:4")
    assert (run.value, run.schedule) == (42, Schedule.pct(1, 9, 4))


def test_duration_is_virtual_time() -> None:
    async def long_sleep() -> bool:
        await trio.sleep(3600)
        return isinstance(trio.lowlevel.current_clock(), MockClock)

    run = run_deterministic(long_sleep)
    assert run.value
    assert run.duration == 3600


def test_time_passes_early_only_in_schedules_that_say_so() -> None:
    async def work_under_deadline() -> bool:
        with trio.move_on_after(60) as scope:
            for _ in range(100):
                await trio.lowlevel.checkpoint()
        return scope.cancelled_caught

    early = [
        run_deterministic(work_under_deadline, seed=f"random+time:{seed}") for seed in range(20)
    ]
    assert any(run.value and EARLY in run.trace for run in early)
    assert not any(
        run_deterministic(work_under_deadline, seed=f"random:{seed}").value for seed in range(20)
    )


def test_early_time_does_not_affect_a_clock_that_the_program_drives() -> None:
    async def main() -> float:
        clock = trio.lowlevel.current_clock()
        assert isinstance(clock, MockClock)
        clock.autojump_threshold = float("inf")
        with trio.move_on_after(60):
            for _ in range(100):
                await trio.lowlevel.checkpoint()
        return trio.current_time()

    assert run_deterministic(main, seed="random+time:1").value == 0


def test_errors_of_the_function_are_raised_unchanged() -> None:
    error = LookupError("as it was")

    async def fail() -> None:
        raise error

    with pytest.raises(LookupError) as caught:
        run_deterministic(fail)
    assert caught.value is error


def test_deadlock_is_reported_with_who_waits_where() -> None:
    async def take(first: trio.Lock, second: trio.Lock) -> None:
        async with first:
            await trio.testing.wait_all_tasks_blocked()
            async with second:
                pass

    async def main() -> None:
        a, b = trio.Lock(), trio.Lock()
        async with trio.open_nursery() as nursery:
            nursery.start_soon(take, a, b)
            nursery.start_soon(take, b, a)

    with pytest.raises(Deadlock) as caught:
        run_deterministic(main)
    assert [task.name for task in caught.value.blocked].count("take") == 2
    assert "in test_deadlock_is_reported_with_who_waits_where.<locals>.take" in str(caught.value)
    assert "acquire" in str(caught.value)


def test_waiting_for_a_deadline_however_late_is_no_deadlock() -> None:
    async def main() -> None:
        with trio.move_on_after(1e9):
            await trio.sleep_forever()

    assert run_deterministic(main).duration == pytest.approx(1e9)


def test_waiting_for_all_tasks_to_block_is_no_deadlock() -> None:
    async def main() -> None:
        async with trio.open_nursery() as nursery:
            nursery.start_soon(trio.sleep_forever)
            await trio.testing.wait_all_tasks_blocked(0.01)
            nursery.cancel_scope.cancel()

    run_deterministic(main)


def test_waiting_for_a_thread_of_trio_is_no_deadlock() -> None:
    async def main() -> None:
        await trio.to_thread.run_sync(time.sleep, 0.02)

    run_deterministic(main)


def test_waiting_for_a_socket_is_no_deadlock() -> None:
    async def main() -> bytes:
        here, there = socket.socketpair()
        with trio.socket.from_stdlib_socket(here) as receiver, there:
            timer = threading.Timer(0.02, there.send, [b"x"])
            timer.start()
            try:
                return await receiver.recv(1)
            finally:
                timer.join()

    assert run_deterministic(main).value == b"x"


def test_waiting_until_a_socket_takes_more_is_no_deadlock() -> None:
    more = 4 * 1024 * 1024
    here, there = socket.socketpair()

    def read_all() -> None:
        time.sleep(0.02)
        while there.recv(more):
            pass

    async def main() -> None:
        with trio.socket.from_stdlib_socket(here) as sender:
            await trio.SocketStream(sender).send_all(bytes(more))

    reader = threading.Thread(target=read_all)
    reader.start()
    with there:
        run_deterministic(main)
        reader.join()


async def wait_shielded() -> None:
    with trio.CancelScope(shield=True):
        await trio.sleep_forever()


async def spin() -> None:
    while True:
        await trio.lowlevel.checkpoint()


async def spin_shielded() -> None:
    with trio.CancelScope(shield=True):
        await spin()


async def swallow_cancellation() -> None:
    while True:
        with contextlib.suppress(trio.Cancelled):
            await spin()


@pytest.mark.parametrize("schedule", ["random:1", "random+time:1", "pct:2:50:1"])
@pytest.mark.parametrize("fn", [spin, spin_shielded, swallow_cancellation])
def test_run_without_end_is_reported(fn: Callable[[], Awaitable[None]], schedule: str) -> None:
    with pytest.raises(Livelock, match=r"no end after 50 steps; the latest: .*(spin|swallow)"):
        run_deterministic(fn, seed=schedule, max_steps=50)


def test_deadlock_under_a_shield_is_reported_and_unwound() -> None:
    with pytest.raises(Deadlock, match="wait_shielded"):
        run_deterministic(wait_shielded)


def test_cleanup_of_a_deadlocked_run_may_take_its_time() -> None:
    cleaned = False

    async def main() -> None:
        nonlocal cleaned
        try:
            await trio.sleep_forever()
        finally:
            with trio.CancelScope(shield=True):
                await trio.sleep(1)
                cleaned = True

    with pytest.raises(Deadlock):
        run_deterministic(main)
    assert cleaned


def test_error_of_an_unwinding_run_is_the_cause() -> None:
    async def main() -> None:
        try:
            await trio.sleep_forever()
        finally:
            raise LookupError

    with pytest.raises(Deadlock) as caught:
        run_deterministic(main)
    assert isinstance(caught.value.__cause__, LookupError)


def test_run_inside_a_run_is_refused() -> None:
    async def inner() -> None: ...

    async def outer() -> None:
        run_deterministic(inner)

    with pytest.raises(RuntimeError, match="from inside a trio run"):
        run_deterministic(outer)


def test_malformed_token_is_refused() -> None:
    with pytest.raises(MalformedSchedule):
        run_deterministic(spin, seed="fifo:1")
