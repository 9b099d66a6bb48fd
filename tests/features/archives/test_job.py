"""The limits of imports and exports, and their slots."""

from collections.abc import AsyncIterator, Awaitable, Callable

import pytest
import trio
import trio.testing
from octavo_rules.identity import AccountId
from trio.testing import MockClock

from octavo.features.archives.job import (
    LEASE_SECONDS,
    ArchiveJobRunning,
    ArchiveJobs,
    ArchiveJobsBusy,
    JobStopped,
    free_slots_left,
)
from octavo.features.archives.sql import take_slot
from tests.fakes.faulty_store import FaultyStore
from tests.fakes.stores import open_inline

ANN, BOB, EVE = AccountId("ann"), AccountId("bob"), AccountId("eve")


@pytest.fixture
async def store() -> AsyncIterator[FaultyStore]:
    inline = open_inline()
    yield FaultyStore(inline)
    inline.close()


Open = Callable[[], ArchiveJobs]


@pytest.fixture
async def opened(store: FaultyStore, nursery: trio.Nursery) -> Open:
    """Start a process that runs jobs."""

    def start() -> ArchiveJobs:
        jobs = ArchiveJobs(store, trio.current_time, 2)
        nursery.start_soon(jobs.run)
        return jobs

    return start


@pytest.fixture
async def jobs(opened: Open) -> ArchiveJobs:
    made = opened()
    await trio.testing.wait_all_tasks_blocked()
    return made


async def test_job_that_is_cancelled_frees_its_slot(
    autojump_clock: MockClock, jobs: ArchiveJobs
) -> None:
    result = await jobs.start(ANN, "1", trio.sleep_forever)
    jobs.cancel("2")
    jobs.cancel("1")
    with pytest.raises(JobStopped):
        await result()
    jobs.cancel("1")
    again = await jobs.start(ANN, "1", seven)
    assert await again() == 7


async def nested() -> None:
    async with trio.open_nursery() as nursery:
        nursery.start_soon(trio.sleep_forever)
        await trio.sleep_forever()


async def nested_and_wrong() -> None:
    async with trio.open_nursery() as nursery:
        nursery.start_soon(trio.sleep_forever)
        try:
            await trio.sleep_forever()
        finally:
            raise ValueError("no")


async def wrong_at_the_end() -> None:
    try:
        await trio.sleep_forever()
    finally:
        raise ValueError("no")


class Panic(BaseException):
    """What an extension raises."""


@pytest.mark.parametrize(
    "panic", [Panic("no"), BaseExceptionGroup("of a nursery", [Panic("no")])], ids=["one", "group"]
)
async def test_panic_of_a_job_ends_no_other(
    autojump_clock: MockClock, jobs: ArchiveJobs, panic: BaseException
) -> None:
    async def fail() -> None:
        await trio.lowlevel.checkpoint()
        raise panic

    other = await jobs.start(BOB, "2", seven)
    result = await jobs.start(ANN, "1", fail)
    with pytest.raises(type(panic)):
        await result()
    assert await other() == 7
    again = await jobs.start(ANN, "1", seven)
    assert await again() == 7


@pytest.mark.parametrize("job", [nested, nested_and_wrong, wrong_at_the_end])
async def test_cancellation_of_tasks_of_a_job_does_not_reach_the_caller(
    autojump_clock: MockClock,
    jobs: ArchiveJobs,
    job: Callable[[], Awaitable[None]],
    caplog: pytest.LogCaptureFixture,
) -> None:
    result = await jobs.start(ANN, "1", job)
    await trio.testing.wait_all_tasks_blocked()
    jobs.cancel("1")
    with pytest.raises(JobStopped):
        await result()
    again = await jobs.start(ANN, "1", seven)
    assert await again() == 7
    assert ("failed when it was stopped" in caplog.text) == (job is not nested)


async def seven() -> int:
    await trio.lowlevel.checkpoint()
    return 7


async def wrong() -> None:
    await trio.lowlevel.checkpoint()
    raise ValueError("no")


async def test_result_of_a_job_is_returned(jobs: ArchiveJobs, autojump_clock: MockClock) -> None:
    result = await jobs.start(ANN, "j1", seven)
    assert await result() == 7


async def test_failure_of_a_job_reaches_the_caller_alone(
    jobs: ArchiveJobs, autojump_clock: MockClock
) -> None:
    failed = await jobs.start(ANN, "j1", wrong)
    with pytest.raises(ValueError, match="no"):
        await failed()
    await trio.testing.wait_all_tasks_blocked()
    assert await (await jobs.start(ANN, "j2", seven))() == 7


async def test_account_has_one_job(jobs: ArchiveJobs, autojump_clock: MockClock) -> None:
    await jobs.start(ANN, "j1", trio.sleep_forever)
    with pytest.raises(ArchiveJobRunning):
        await jobs.start(ANN, "j2", seven)
    assert await (await jobs.start(BOB, "j3", seven))() == 7


async def test_installation_has_a_few_jobs_in_all_processes(
    opened: Open, autojump_clock: MockClock
) -> None:
    first, second = opened(), opened()
    await trio.testing.wait_all_tasks_blocked()
    await first.start(ANN, "j1", trio.sleep_forever)
    result = await second.start(BOB, "j2", seven)
    with pytest.raises(ArchiveJobsBusy):
        await first.start(EVE, "j3", seven)
    assert await result() == 7
    await trio.testing.wait_all_tasks_blocked()
    assert await (await first.start(EVE, "j3", seven))() == 7


async def test_job_goes_on_without_its_caller(jobs: ArchiveJobs, autojump_clock: MockClock) -> None:
    done = trio.Event()

    async def job() -> None:
        await trio.sleep(10)
        done.set()

    async def caller(task_status: trio.TaskStatus[None]) -> None:
        result: Callable[[], Awaitable[None]] = await jobs.start(ANN, "j1", job)
        task_status.started()
        await result()

    async with trio.open_nursery() as nursery:
        await nursery.start(caller)
        nursery.cancel_scope.cancel()
    with trio.fail_after(20):
        await done.wait()


async def test_slot_is_kept_while_the_job_runs(
    jobs: ArchiveJobs, opened: Open, autojump_clock: MockClock
) -> None:
    other = opened()
    await jobs.start(ANN, "j1", trio.sleep_forever)
    for _ in range(10):
        await trio.sleep(LEASE_SECONDS)
        with pytest.raises(ArchiveJobRunning):
            await other.start(ANN, "j2", seven)


async def test_process_that_dies_frees_its_slots(
    opened: Open, store: FaultyStore, autojump_clock: MockClock
) -> None:
    other = opened()
    async with trio.open_nursery() as dying:
        jobs = ArchiveJobs(store, trio.current_time, 2)
        dying.start_soon(jobs.run)
        await trio.testing.wait_all_tasks_blocked()
        await jobs.start(ANN, "j1", trio.sleep_forever)
        # A process that is killed does not free its slot.
        store.away = True
        dying.cancel_scope.cancel()
    store.away = False
    with pytest.raises(ArchiveJobRunning):
        await other.start(ANN, "j2", seven)
    await trio.sleep(LEASE_SECONDS + 1)
    assert await (await other.start(ANN, "j2", seven))() == 7


async def test_job_whose_slot_is_lost_is_stopped(
    jobs: ArchiveJobs, store: FaultyStore, autojump_clock: MockClock
) -> None:
    result = await jobs.start(ANN, "j1", trio.sleep_forever)
    store.away = True
    with trio.fail_after(LEASE_SECONDS), pytest.raises(JobStopped):
        await result()


async def test_short_outage_does_not_stop_a_job(
    jobs: ArchiveJobs, store: FaultyStore, autojump_clock: MockClock
) -> None:
    async def job() -> int:
        await trio.sleep(3 * LEASE_SECONDS)
        return 7

    result = await jobs.start(ANN, "j1", job)
    store.away = True
    await trio.sleep(LEASE_SECONDS / 3)
    store.away = False
    assert await result() == 7


async def test_jobs_stop_with_the_service(store: FaultyStore, autojump_clock: MockClock) -> None:
    jobs = ArchiveJobs(store, trio.current_time, 2)
    with pytest.raises(JobStopped):
        await jobs.start(ANN, "j0", seven)
    async with trio.open_nursery() as nursery:
        nursery.start_soon(jobs.run)
        await trio.testing.wait_all_tasks_blocked()
        result = await jobs.start(ANN, "j1", trio.sleep_forever)
        nursery.cancel_scope.cancel()
    with pytest.raises(JobStopped):
        await result()
    assert store.writes


async def test_slots_that_a_single_process_left_are_freed(
    store: FaultyStore, jobs: ArchiveJobs, autojump_clock: MockClock
) -> None:
    await store.write(take_slot(ANN, "j1", 0, 10**12, 2))
    store.away = True
    await free_slots_left(store)
    store.away = False
    with pytest.raises(ArchiveJobRunning):
        await jobs.start(ANN, "j2", seven)
    await free_slots_left(store)
    assert await (await jobs.start(ANN, "j2", seven))() == 7
