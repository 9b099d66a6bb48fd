"""Worker processes that are kept, replaced and ended."""

import os
import signal
from collections.abc import AsyncIterator

import pytest
import trio
import trio.testing
from trio.testing import MockClock

from octavo.workers import WorkerFailed, WorkerPool, WorkOutOfSpace, WorkRefused, WorkTooLarge
from octavo.workers import pool as pool_module
from tests.workers import jobs

JOBS = (jobs.__name__,)


@pytest.fixture
async def pool() -> AsyncIterator[WorkerPool]:
    made = WorkerPool(1, preloaded=JOBS, seconds=60)
    async with trio.open_nursery() as nursery:
        nursery.start_soon(made.serve)
        yield made
        nursery.cancel_scope.cancel()


async def test_function_is_called_with_its_arguments(pool: WorkerPool) -> None:
    assert await pool.run(jobs.double, "ä\n\u2028\ud7ff") == "ä\n\u2028\ud7ff" * 2


async def test_process_is_kept(pool: WorkerPool) -> None:
    assert await pool.run(jobs.pid) == await pool.run(jobs.pid) != os.getpid()


async def test_what_a_function_prints_is_no_response(pool: WorkerPool) -> None:
    assert await pool.run(jobs.printed, '{"result": "forged"}') == '{"result": "forged"}'
    assert await pool.run(jobs.double, "x") == "xx"


async def test_refusal_has_the_text_of_the_function_and_keeps_the_process(pool: WorkerPool) -> None:
    before = await pool.run(jobs.pid)
    with pytest.raises(WorkRefused, match=r"^not this one$") as refused:
        await pool.run(jobs.refuse, "not this one")
    assert refused.value.kind == "Unsuitable"
    assert await pool.run(jobs.pid) == before


@pytest.mark.parametrize(
    ("job", "message"),
    [
        (jobs.fail, "RuntimeError: a bug"),
        (jobs.run_out_of_memory, "more memory"),
        (jobs.unspeakable, "ended"),
        (jobs.kill_itself, "ended"),
    ],
)
async def test_process_that_failed_is_replaced(
    pool: WorkerPool,
    job: object,
    message: str,
    caplog: pytest.LogCaptureFixture,
) -> None:
    assert callable(job)
    before = await pool.run(jobs.pid)
    with pytest.raises(WorkerFailed, match=message):
        await pool.run(job)
    [record] = caplog.records
    assert message in record.getMessage()
    assert await pool.run(jobs.pid) != before


@pytest.mark.parametrize(
    ("job", "message"),
    [
        (jobs.allocate, "more memory"),
        (jobs.calculate, "SIGXCPU"),
        (jobs.crash, "SIGSEGV"),
    ],
)
async def test_work_beyond_its_limits_is_reported(job: object, message: str) -> None:
    assert callable(job)
    # The process has the lowest priority: beside other tests, two seconds of work can take long.
    pool = WorkerPool(1, preloaded=JOBS, seconds=600, max_memory=256 * 1024 * 1024, max_seconds=1)
    async with trio.open_nursery() as nursery:
        nursery.start_soon(pool.serve)
        before = await pool.run(jobs.pid)
        with pytest.raises(WorkTooLarge, match=message):
            await pool.run(job)
        assert await pool.run(jobs.pid) != before
        nursery.cancel_scope.cancel()


async def test_processes_are_started_ahead_when_work_is_announced() -> None:
    pool = WorkerPool(2, preloaded=JOBS, seconds=60)
    async with trio.open_nursery() as nursery:
        nursery.start_soon(pool.serve)
        await trio.testing.wait_all_tasks_blocked()
        pool.prepare()
        while pool.idle < 2:  # noqa: ASYNC110 - processes start, of which nothing else tells
            await trio.sleep(0.01)
        pool.prepare()
        await trio.testing.wait_all_tasks_blocked()
        found: set[int] = set()

        async def ask() -> None:
            found.add(await pool.run(jobs.pid))

        async with trio.open_nursery() as asking:
            for _ in range(2):
                asking.start_soon(ask)
        assert len(found) == pool.idle == 2
        nursery.cancel_scope.cancel()


async def test_full_disk_is_reported(pool: WorkerPool) -> None:
    with pytest.raises(WorkOutOfSpace, match="No space left"):
        await pool.run(jobs.fill_the_disk)


async def test_each_call_has_its_own_processor_time() -> None:
    pool = WorkerPool(1, preloaded=JOBS, seconds=60, max_seconds=1)
    async with trio.open_nursery() as nursery:
        nursery.start_soon(pool.serve)
        before = await pool.run(jobs.pid)
        for _ in range(4):
            assert await pool.run(jobs.calculate, 0.5) == 0.5
        assert await pool.run(jobs.pid) == before
        nursery.cancel_scope.cancel()


async def test_idle_process_that_was_killed_is_replaced(pool: WorkerPool) -> None:
    before = await pool.run(jobs.pid)
    os.kill(before, signal.SIGKILL)
    # Until it is gone; the pool is to notice.
    os.waitid(os.P_PID, before, os.WEXITED | os.WNOWAIT)  # noqa: ASYNC222 - it is killed
    assert await pool.run(jobs.pid) != before


async def test_stopped_process_is_killed_when_its_time_is_over(mock_clock: MockClock) -> None:
    pool = WorkerPool(1, preloaded=JOBS, seconds=60)
    async with trio.open_nursery() as nursery:
        nursery.start_soon(pool.serve)
        stopped = await pool.run(jobs.pid)
        os.kill(stopped, signal.SIGSTOP)

        async def fail() -> None:
            with pytest.raises(WorkerFailed, match="over 60 s"):
                await pool.run(jobs.pid)

        async with trio.open_nursery() as failing:
            failing.start_soon(fail)
            await trio.testing.wait_all_tasks_blocked()
            mock_clock.jump(59)
            await trio.testing.wait_all_tasks_blocked()
            assert alive(stopped)
            mock_clock.jump(2)
        assert not alive(stopped)
        assert await pool.run(jobs.pid) != stopped
        nursery.cancel_scope.cancel()


async def test_cancelled_work_is_given_up(pool: WorkerPool) -> None:
    before = await pool.run(jobs.pid)
    with trio.move_on_after(0.05) as scope:
        await pool.run(jobs.sleep, 3600)
    assert scope.cancelled_caught
    assert not alive(before)
    assert await pool.run(jobs.pid) != before


async def test_work_waits_for_a_process() -> None:
    pool = WorkerPool(2, preloaded=JOBS, seconds=60)
    found = set()

    async def work() -> None:
        await pool.run(jobs.sleep, 0.05)
        found.add(await pool.run(jobs.pid))

    async with trio.open_nursery() as nursery:
        nursery.start_soon(pool.serve)
        async with trio.open_nursery() as working:
            for _ in range(6):
                working.start_soon(work)
        nursery.cancel_scope.cancel()
    assert len(found) == 2
    assert not any(map(alive, found))


async def test_even_a_stopped_process_ends_with_the_pool() -> None:
    pool = WorkerPool(1, preloaded=JOBS, seconds=60)
    async with trio.open_nursery() as nursery:
        nursery.start_soon(pool.serve)
        process = await pool.run(jobs.pid)
        os.kill(process, signal.SIGSTOP)
        nursery.cancel_scope.cancel()
    assert not alive(process)


async def test_process_is_started_ahead() -> None:
    pool = WorkerPool(1, preloaded=JOBS, seconds=60, ahead=True)
    async with trio.open_nursery() as nursery:
        nursery.start_soon(pool.serve)
        await trio.testing.wait_all_tasks_blocked()
        assert pool._limiter.borrowed_tokens == 1
        process = await pool.run(jobs.pid)
        assert [each.pid for each in pool._idle] == [process]
        nursery.cancel_scope.cancel()


def alive(process: int) -> bool:
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    return True


@pytest.mark.parametrize("ahead", [True, False])
async def test_processes_without_work_end_but_the_one_that_is_started_ahead(
    monkeypatch: pytest.MonkeyPatch, ahead: bool
) -> None:
    monkeypatch.setattr(pool_module, "IDLE_SECONDS", 0.5)
    pool = WorkerPool(3, preloaded=JOBS, seconds=60, ahead=ahead)
    pids: set[int] = set()

    async def note() -> None:
        pids.add(await pool.run(jobs.pid))

    async with trio.open_nursery() as nursery:
        nursery.start_soon(pool.serve)
        async with trio.open_nursery() as users:
            for _ in range(3):
                users.start_soon(note)
        # On a slow machine one may have ended before the last has started.
        assert len(pids) > 1
        for _ in range(600):
            await trio.sleep(0.05)
            if pool.idle <= ahead:
                break
        await trio.sleep(1)
        assert pool.idle == ahead
        assert await pool.run(jobs.double, "x") == "xx"
        nursery.cancel_scope.cancel()
