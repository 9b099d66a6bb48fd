"""Schedules are values with tokens; a malformed token is refused with the reason."""

import pytest
from greenroom.testing import current_schedule, run_deterministic, scenario_random
from greenroom.testing.hypothesis_schedules import schedules
from greenroom.testing.schedules import MalformedSchedule, Schedule
from hypothesis import given


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
