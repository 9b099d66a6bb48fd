"""Schedules are values with tokens; a malformed token is refused with the reason."""

from collections.abc import Callable
from itertools import pairwise
from random import Random

import pytest
from greenroom.testing import current_schedule, run_deterministic, scenario_random
from greenroom.testing.hypothesis_schedules import schedules
from greenroom.testing.schedules import (
    PATIENCE,
    EarlyTime,
    MalformedSchedule,
    PriorityChanges,
    RandomWalk,
    Schedule,
    SchedulingStrategy,
)
from hypothesis import given
from hypothesis import strategies as st


@given(schedule=schedules())
def test_token_of_any_schedule_is_parsed_back(schedule: Schedule) -> None:
    assert Schedule.parse(str(schedule)) == schedule


@pytest.mark.parametrize(
    ("schedule", "token"),
    [
        (Schedule.random(81), "random:81"),
        (Schedule.random(81, early_time=True), "random+time:81"),
        (Schedule.pct(3, 450, 8812), "pct:3:450:8812"),
        (Schedule.pct(3, 450, 8812, early_time=True), "pct+time:3:450:8812"),
    ],
)
def test_token_shows_every_number(schedule: Schedule, token: str) -> None:
    assert str(schedule) == token


@pytest.mark.parametrize(
    ("token", "reason"),
    [
        ("", "kind:numbers"),
        ("fifo:1", "kind:numbers"),
        ("random:-1", "kind:numbers"),
        ("random:\u0661", "kind:numbers"),
        ("random:1:2:3", "only a seed"),
        ("pct:1", "depth:steps:seed"),
        ("pct:0:10:1", "at least 1"),
        ("pct:2:0:1", "at least 1"),
    ],
)
def test_token_that_names_no_schedule_is_refused_with_the_reason(token: str, reason: str) -> None:
    with pytest.raises(MalformedSchedule, match=reason):
        Schedule.parse(token)


def test_negative_seed_is_refused() -> None:
    with pytest.raises(ValueError, match="must not be negative"):
        Schedule.random(-1)


async def draw() -> tuple[str, list[float]]:
    random = scenario_random()
    return str(current_schedule()), [random.random() for _ in range(3)]


def test_a_schedule_seeds_the_chance_of_its_scenario() -> None:
    first, again, other = (run_deterministic(draw, seed=seed).value for seed in (1, 1, 2))
    assert first == again
    assert first[0] == "random:1"
    assert first[1] != other[1]


def test_outside_of_a_run_there_is_no_schedule() -> None:
    with pytest.raises(RuntimeError, match="inside run_deterministic or explore"):
        scenario_random()


turns = st.lists(
    st.lists(st.integers(0, 6), min_size=1, max_size=6, unique=True), min_size=1, max_size=30
)


def random_walk(seed: int) -> SchedulingStrategy:
    return RandomWalk(Random(seed))


def priority_changes(seed: int) -> SchedulingStrategy:
    return PriorityChanges(Random(seed), depth=3, estimated_steps=20)


both = pytest.mark.parametrize("make", [random_walk, priority_changes])


@both
@given(seed=st.integers(0, 1000), turns=turns)
def test_choice_is_some_of_the_runnable_tasks_each_once(
    make: Callable[[int], SchedulingStrategy], seed: int, turns: list[list[int]]
) -> None:
    strategy = make(seed)
    for runnable in turns:
        before = list(runnable)
        chosen = strategy.choose(runnable)
        assert chosen
        assert len(set(chosen)) == len(chosen)
        assert set(chosen) <= set(runnable)
        assert runnable == before


@both
@given(seed=st.integers(0, 1000), turns=turns)
def test_equal_seeds_choose_equally(
    make: Callable[[int], SchedulingStrategy], seed: int, turns: list[list[int]]
) -> None:
    one, other = make(seed), make(seed)
    assert [one.choose(turn) for turn in turns] == [other.choose(turn) for turn in turns]


def test_random_walk_reaches_every_order_and_every_part() -> None:
    seen = {tuple(random_walk(seed).choose([0, 1, 2])) for seed in range(500)}
    assert len(seen) == 3 + 6 + 6


def test_priorities_let_one_task_step_until_it_blocks_or_a_change_comes() -> None:
    strategy = PriorityChanges(Random(5), depth=1, estimated_steps=20)
    first = strategy.choose([0, 1, 2])
    assert all(strategy.choose([0, 1, 2]) == first for _ in range(50))
    rest = [task for task in (0, 1, 2) if task not in first]
    assert strategy.choose(rest) != first


@pytest.mark.parametrize("depth", [1, 2, 3, 4])
def test_priorities_change_as_often_as_the_depth_says(depth: int) -> None:
    maximum = 0
    for seed in range(200):
        strategy = PriorityChanges(Random(seed), depth=depth, estimated_steps=40)
        steps = [strategy.choose([0, 1, 2, 3])[0] for _ in range(40)]
        maximum = max(maximum, sum(a != b for a, b in pairwise(steps)))
    assert maximum == depth - 1


def test_a_task_waiting_for_a_spinning_one_gets_its_turn() -> None:
    strategy = PriorityChanges(Random(1), depth=1, estimated_steps=20)
    steps = [strategy.choose([0, 1])[0] for _ in range(2 * PATIENCE)]
    assert set(steps) == {0, 1}


@pytest.mark.parametrize("runnable", [[0, 1], [1, 0]])
def test_two_spinning_tasks_get_their_turns_again_and_again(runnable: list[int]) -> None:
    strategy = PriorityChanges(Random(1), depth=1, estimated_steps=20)
    steps = [strategy.choose(runnable)[0] for _ in range(10 * PATIENCE)]
    for begin in range(0, 8 * PATIENCE, PATIENCE):
        assert set(steps[begin : begin + 2 * PATIENCE]) == {0, 1}


def test_a_task_waiting_for_two_that_wake_each_other_gets_its_turn() -> None:
    for seed in range(20):
        strategy = PriorityChanges(Random(seed), depth=1, estimated_steps=20)
        stepped = set()
        active = 0
        for _ in range(4 * PATIENCE):
            chosen = strategy.choose([active, 2])[0]
            stepped.add(chosen)
            if chosen == active:
                active = 1 - active
        assert 2 in stepped


def test_early_time_comes_again_and_again_at_various_rates() -> None:
    rates = {
        seed: sum(clock.due() for _ in range(1000))
        for seed in range(30)
        for clock in (EarlyTime(Random(seed)),)
    }
    assert min(rates.values()) > 0
    assert max(rates.values()) > 10 * min(rates.values())
