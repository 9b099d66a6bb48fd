"""Exploration finds failing interleavings, shrinks their steps, and replays them."""

import itertools
from collections.abc import Awaitable, Callable

import pytest
import trio
from greenroom.testing.deterministic import Deadlock, Livelock, run_deterministic
from greenroom.testing.explore import explore, shrink
from greenroom.testing.schedule_failure import ReplayToken, ScheduleFailure
from greenroom.testing.schedules import MalformedSchedule
from hypothesis import given
from hypothesis import strategies as st


async def lost_update() -> None:
    """Two tasks read, yield, and write."""
    total = 0

    async def increment() -> None:
        nonlocal total
        read = total
        await trio.lowlevel.checkpoint()
        total = read + 1

    async with trio.open_nursery() as nursery:
        nursery.start_soon(increment)
        nursery.start_soon(increment)
    assert total == 2, f"{total} of 2 increments"


async def two_locks() -> None:
    """Two tasks take two locks in opposite order; a third path makes it rare."""
    a, b = trio.Lock(), trio.Lock()

    async def take(first: trio.Lock, second: trio.Lock, work: int) -> None:
        for _ in range(work):
            await trio.lowlevel.checkpoint()
        async with first, second:
            pass

    async with trio.open_nursery() as nursery:
        nursery.start_soon(take, a, b, 0)
        nursery.start_soon(take, b, a, 8)


async def order_of_depth_three() -> None:
    """Fails only if the observer looks between two writes, and the reset comes between its looks.

    Three orderings have to hold at once: first write before first look, reset after it and before
    the second look, second write after that.
    """
    state = "empty"
    seen: list[str] = []

    async def writer() -> None:
        nonlocal state
        for _ in range(6):
            await trio.lowlevel.checkpoint()
        state = "half"
        for _ in range(6):
            await trio.lowlevel.checkpoint()
        state = "full"

    async def resetter() -> None:
        nonlocal state
        for _ in range(6):
            await trio.lowlevel.checkpoint()
        if state == "half":
            state = "reset"

    async def observer() -> None:
        for _ in range(6):
            await trio.lowlevel.checkpoint()
        seen.append(state)
        for _ in range(6):
            await trio.lowlevel.checkpoint()
        seen.append(state)

    async with trio.open_nursery() as nursery:
        nursery.start_soon(writer)
        nursery.start_soon(resetter)
        nursery.start_soon(observer)
    assert seen != ["half", "reset"]


async def late_deadline() -> None:
    """A reply that is written and then lost, because the deadline passes in between."""
    replies: list[str] = []
    taken = False

    async def serve() -> None:
        nonlocal taken
        taken = True
        for _ in range(3):
            await trio.lowlevel.checkpoint()
        replies.append("done")

    with trio.move_on_after(30):
        await serve()
    assert not taken or replies


@pytest.mark.parametrize(
    ("scenario", "error", "within"),
    [
        (lost_update, AssertionError, 50),
        (two_locks, Deadlock, 500),
        (order_of_depth_three, AssertionError, 1000),
        (late_deadline, AssertionError, 500),
    ],
)
@pytest.mark.parametrize("seed", range(5))
def test_classic_bug_is_found_and_its_token_replays_it(
    scenario: Callable[[], Awaitable[None]], error: type[Exception], within: int, seed: int
) -> None:
    with pytest.raises(ScheduleFailure) as found:
        explore(scenario, schedules=within, seed=seed)
    failure = found.value
    assert type(failure.error) is error
    assert failure.__cause__ is failure.error

    with pytest.raises(ScheduleFailure) as again:
        explore(scenario, replay=failure.token)
    assert type(again.value.error) is error
    assert again.value.token == failure.token
    with pytest.raises(error):
        run_deterministic(scenario, seed=failure.token)


def test_correct_scenario_is_explored_to_the_end() -> None:
    async def locked_update() -> None:
        lock = trio.Lock()
        total = 0

        async def increment() -> None:
            nonlocal total
            async with lock:
                read = total
                await trio.lowlevel.checkpoint()
                total = read + 1

        async with trio.open_nursery() as nursery:
            for _ in range(3):
                nursery.start_soon(increment)
        assert total == 3

    exploration = explore(locked_update, schedules=300)
    assert exploration.schedules == 300
    assert exploration.interleavings > 50
    assert exploration.longest > 10
    assert exploration == explore(locked_update, schedules=300)


def test_scenario_without_end_fails() -> None:
    async def spin() -> None:
        while True:
            await trio.lowlevel.checkpoint()

    with pytest.raises(ScheduleFailure) as found:
        explore(spin, max_steps=100)
    assert isinstance(found.value.error, Livelock)


def test_message_names_error_token_and_command() -> None:
    with pytest.raises(ScheduleFailure) as found:
        explore(lost_update, command=lambda token: f"run it with {token}")
    failure = found.value
    assert failure.command == f"run it with {failure.token}"
    for part in ("1 of 2 increments", failure.token, failure.command, "increment#"):
        assert part in str(failure)


def test_command_for_an_importable_scenario_is_a_command_line() -> None:
    with pytest.raises(ScheduleFailure) as found:
        explore(lost_update)
    failure = found.value
    assert failure.command == (
        f"python -m greenroom.testing replay {__name__}:lost_update --schedule {failure.token}"
    )


def test_command_for_a_local_scenario_is_the_call() -> None:
    async def local() -> None:
        raise LookupError

    with pytest.raises(ScheduleFailure) as found:
        explore(local)
    assert found.value.command == f'the same call of explore, with replay="{found.value.token}"'


def test_scenario_that_is_not_deterministic_is_pointed_out() -> None:
    runs = itertools.count()

    async def flaky() -> None:
        if next(runs) == 5:
            raise LookupError

    with pytest.raises(ScheduleFailure, match="not deterministic"):
        explore(flaky)


STEPS = [f"read {n}" for n in range(20)] + ["write", "read 20", "write"]


async def run_steps(steps: list[str]) -> None:
    total = 0

    async def step(name: str) -> None:
        nonlocal total
        read = total
        await trio.lowlevel.checkpoint()
        if name == "write":
            total = read + 1

    async with trio.open_nursery() as nursery:
        for name in steps:
            nursery.start_soon(step, name)
    assert total == steps.count("write")


def test_failure_is_shrunk_to_the_steps_it_needs_and_replays_with_all_of_them_given() -> None:
    with pytest.raises(ScheduleFailure) as found:
        explore(run_steps, steps=STEPS)
    failure = found.value
    assert failure.steps == ["write", "write"]
    assert failure.token.endswith("@20,22")
    assert "  'write'" in str(failure)

    with pytest.raises(ScheduleFailure) as again:
        explore(run_steps, steps=STEPS, replay=failure.token)
    assert again.value.steps == failure.steps
    assert again.value.token == failure.token


def test_failure_that_needs_all_steps_names_none_in_its_token() -> None:
    with pytest.raises(ScheduleFailure) as found:
        explore(run_steps, steps=["write", "write"])
    assert found.value.steps == ["write", "write"]
    assert "@" not in found.value.token


def test_shrinking_keeps_to_errors_of_the_same_type() -> None:
    async def fussy(steps: list[int]) -> None:
        if len(steps) < 3:
            raise LookupError
        assert 7 not in steps

    with pytest.raises(ScheduleFailure) as found:
        explore(fussy, steps=range(10))
    assert isinstance(found.value.error, AssertionError)
    assert found.value.steps is not None
    assert len(found.value.steps) == 3


def test_replay_with_more_steps_than_there_are_is_refused() -> None:
    with pytest.raises(ValueError, match="selects more steps"):
        explore(run_steps, replay="random:1@0-2", steps=["read", "write"])


def test_replay_with_steps_of_a_scenario_without_steps_is_refused() -> None:
    with pytest.raises(ValueError, match="takes none"):
        explore(lost_update, replay="random:1@0-2")


@pytest.mark.parametrize("token", ["random", "random:1@x", "random:1@3,1", "random:1@0-"])
def test_replay_of_a_malformed_token_is_refused(token: str) -> None:
    with pytest.raises(MalformedSchedule):
        explore(lost_update, replay=token)


@pytest.mark.parametrize("token", ["random:1", "random:1@", "pct:2:9:1@0,3-5,9"])
def test_replay_token_is_parsed_back(token: str) -> None:
    assert str(ReplayToken.parse(token)) == token


def test_no_schedules_are_refused() -> None:
    with pytest.raises(ValueError, match="at least one"):
        explore(lost_update, schedules=0)


@pytest.mark.parametrize("raise_it", [pytest.skip, pytest.xfail])
def test_skip_and_expected_failure_pass_through(raise_it: Callable[[str], None]) -> None:
    async def skipping() -> None:
        raise_it("for a reason")

    with pytest.raises((pytest.skip.Exception, pytest.xfail.Exception)):
        explore(skipping)


def test_missing_exception_counts_as_failure() -> None:
    async def expecting() -> None:
        with pytest.raises(LookupError):
            await trio.lowlevel.checkpoint()

    with pytest.raises(ScheduleFailure, match="DID NOT RAISE"):
        explore(expecting)


def test_interrupt_passes_through() -> None:
    async def interrupted() -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        explore(interrupted)


lists = st.lists(st.integers(0, 9), max_size=25)


@given(items=lists, needed=st.sets(st.integers(0, 24)))
def test_result_contains_exactly_what_a_fixed_failure_needs(
    items: list[int], needed: set[int]
) -> None:
    numbered = list(enumerate(items))
    necessary = [item for item in numbered if item[0] in needed]
    assert shrink(numbered, lambda part: set(necessary) <= set(part)) == necessary


@given(items=lists, modulus=st.integers(1, 7), fewest=st.integers(0, 5))
def test_result_fails_and_is_minimal_for_any_failure(
    items: list[int], modulus: int, fewest: int
) -> None:
    def fails(part: list[int]) -> bool:
        return part == items or (len(part) >= fewest and sum(part) % modulus == 0)

    result = shrink(items, fails)
    assert fails(result)
    for index in range(len(result)):
        assert not fails(result[:index] + result[index + 1 :])


@given(items=lists)
def test_order_is_kept(items: list[int]) -> None:
    numbered = list(enumerate(items))
    result = shrink(numbered, lambda part: sum(value for _, value in part) > 9)
    assert result == sorted(result)


def counted(fails: Callable[[list[int]], bool]) -> tuple[Callable[[list[int]], bool], list[int]]:
    calls: list[int] = []

    def counting(part: list[int]) -> bool:
        calls.append(len(part))
        return fails(part)

    return counting, calls


def test_two_items_among_a_thousand_are_found_in_few_attempts() -> None:
    fails, calls = counted(lambda part: {17, 801} <= set(part))
    assert shrink(range(1000), fails) == [17, 801]
    assert len(calls) < 60


def test_failure_that_needs_nothing_takes_one_attempt() -> None:
    fails, calls = counted(lambda _: True)
    assert shrink(range(1000), fails) == []
    assert len(calls) == 1
