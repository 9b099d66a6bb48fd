"""The job of restorations: when each runs, again, and later after a failure."""

from collections.abc import Awaitable, Callable, Iterator

import pytest
import trio
from octavo_rules.identity import MutationId, WorkspaceId
from trio.testing import MockClock, wait_all_tasks_blocked

from octavo.features.history.job import FIRST_PAUSE, LONGEST_PAUSE, RestoringJob
from octavo.features.history.sql.restorations import RestorationKey
from octavo.store import StoreUnavailable
from octavo.store.sqlite import InlineStore
from tests.fakes.stores import open_inline

KEY = RestorationKey(WorkspaceId("w"), MutationId("r"))


class Runner:
    """A runner whose first run lasts until it is released, and then ends, or raises ``error``."""

    def __init__(self, error: Exception | None = None) -> None:
        self.times: list[float] = []
        self.released = trio.Event()
        self.error = error

    async def run(self, key: RestorationKey) -> None:
        self.times.append(trio.current_time())
        await self.released.wait()
        if self.error is not None:
            raise self.error

    async def stop(self, key: RestorationKey, code: str, detail: str) -> None:
        raise AssertionError(detail)


@pytest.fixture
def store() -> Iterator[InlineStore]:
    engine = open_inline()
    yield engine
    engine.close()


@pytest.fixture
async def start(
    store: InlineStore, nursery: trio.Nursery
) -> Callable[[Runner], Awaitable[RestoringJob]]:
    async def started(runner: Runner) -> RestoringJob:
        job = RestoringJob(store, runner, trio.current_time, alone=True)
        nursery.start_soon(job.run)
        await wait_all_tasks_blocked()
        return job

    return started


Start = Callable[[Runner], Awaitable[RestoringJob]]


async def test_request_during_a_run_is_served_by_another_one_at_once(
    autojump_clock: MockClock, start: Start
) -> None:
    runner = Runner()
    job = await start(runner)
    first = job.start(KEY)
    await wait_all_tasks_blocked()
    second = job.start(KEY)
    began = trio.current_time()
    runner.released.set()
    await first()
    await second()
    assert runner.times == [began, began]


async def test_first_request_does_not_wait_for_the_run_of_the_second(
    autojump_clock: MockClock, start: Start
) -> None:
    runner = Runner()
    job = await start(runner)
    first = job.start(KEY)
    await wait_all_tasks_blocked()
    job.start(KEY)
    runner.released.set()
    runner.released = trio.Event()
    with trio.fail_after(1):
        await first()
    await wait_all_tasks_blocked()
    assert len(runner.times) == 2


async def test_requests_before_a_run_share_it(autojump_clock: MockClock, start: Start) -> None:
    runner = Runner()
    job = await start(runner)
    waiting = [job.start(KEY), job.start(KEY)]
    runner.released.set()
    for each in waiting:
        await each()
    await wait_all_tasks_blocked()
    assert len(runner.times) == 1


async def test_run_that_failed_is_repeated_after_a_pause_and_at_once_when_asked_for(
    autojump_clock: MockClock, start: Start
) -> None:
    runner = Runner(StoreUnavailable("away"))
    runner.released.set()
    job = await start(runner)
    ended = job.start(KEY)
    await trio.sleep(20 * LONGEST_PAUSE)
    assert runner.times[1] - runner.times[0] == FIRST_PAUSE
    assert runner.times[-1] - runner.times[-2] == LONGEST_PAUSE
    await trio.sleep(1)
    runner.error = None
    again, asked = job.start(KEY), trio.current_time()
    await ended()
    await again()
    assert runner.times[-1] == asked
