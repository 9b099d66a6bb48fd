"""The loop of background jobs: pauses between steps, after failures, and without work."""

from collections.abc import Awaitable, Callable, Sequence
from itertools import pairwise

import pytest
import trio
from trio.testing import MockClock

from octavo.actors.jobs.housekeeping import (
    DAY,
    FIRST_PAUSE,
    PAUSE,
    POLL_SECONDS,
    StepLoop,
    first_done,
    removal,
)
from octavo.store import Script, StoreUnavailable, Transaction
from tests.fakes.stores import open_inline


class Away(Exception):
    """What a step uses is away."""


def scripted(
    results: Sequence[bool | Exception],
) -> tuple[Callable[[], Awaitable[bool]], list[float]]:
    """Return a step with these results, False after the last, and the times of its calls."""
    times: list[float] = []
    left = [*results]

    async def step() -> bool:
        await trio.lowlevel.checkpoint()
        times.append(trio.current_time())
        result = left.pop(0) if left else False
        if isinstance(result, Exception):
            raise result
        return result

    return step, times


def gaps(times: Sequence[float]) -> list[float]:
    return [round(later - earlier, 6) for earlier, later in pairwise(times)]


async def test_steps_follow_each_other_while_there_is_work(
    autojump_clock: MockClock, nursery: trio.Nursery
) -> None:
    step, times = scripted([True, True])
    nursery.start_soon(StepLoop("work", step).run)
    await trio.sleep(POLL_SECONDS + 1)
    assert gaps(times) == [PAUSE, PAUSE, POLL_SECONDS]


@pytest.mark.parametrize("error", [StoreUnavailable("away"), Away()])
async def test_failures_are_retried_later_each_time_until_one_succeeds(
    error: Exception, autojump_clock: MockClock, nursery: trio.Nursery
) -> None:
    step, times = scripted([error, error, True, error])
    nursery.start_soon(StepLoop("work", step, Away).run)
    await trio.sleep(60)
    assert gaps(times) == [FIRST_PAUSE, 2 * FIRST_PAUSE, PAUSE, FIRST_PAUSE]


async def test_pause_after_failures_is_limited(
    autojump_clock: MockClock, nursery: trio.Nursery
) -> None:
    step, times = scripted([Away()] * 13)
    nursery.start_soon(StepLoop("work", step, Away).run)
    await trio.sleep(5000)
    assert gaps(times)[9:12] == [512, POLL_SECONDS, POLL_SECONDS]


async def test_other_errors_end_it(autojump_clock: MockClock) -> None:
    step, _ = scripted([Away()])
    with pytest.raises(Away):
        await StepLoop("work", step).run()


async def test_call_during_a_step_causes_another_one(
    autojump_clock: MockClock, nursery: trio.Nursery
) -> None:
    calls = 0

    async def step() -> bool:
        nonlocal calls
        calls += 1
        await trio.sleep(1)
        return False

    loop = StepLoop("work", step)
    nursery.start_soon(loop.run)
    await trio.sleep(0.5)
    loop.wake()
    await trio.sleep(10)
    assert calls == 2


async def test_first_failure_is_raised_after_the_other_steps() -> None:
    run: list[str] = []

    async def fail(step: str) -> bool:
        run.append(step)
        if step != "succeeds":
            raise StoreUnavailable(step)
        return False

    steps = ["fails first", "succeeds", "fails later"]
    with pytest.raises(StoreUnavailable, match="fails first"):
        await first_done(steps, fail)
    assert run == steps


async def test_removal_goes_on_with_what_is_a_part_of_a_day_old(
    autojump_clock: MockClock,
) -> None:
    asked: list[int] = []

    def script(before: int) -> Script[bool]:
        async def remove(_: Transaction) -> bool:
            return len(asked) < 3

        asked.append(before)
        return remove

    store = open_inline()
    await removal(script, days=1.5)(store, 10 * DAY)
    store.close()
    assert asked == [10 * DAY - 36 * 3_600_000] * 3
