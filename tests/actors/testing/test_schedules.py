"""Schedules are values: a token names one, and says what is wrong with it if it names none."""

import pytest
from hypothesis import given

from octavo.actors.testing.hypothesis_schedules import schedules
from octavo.actors.testing.schedules import MalformedSchedule, Schedule


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
        ("random:1:2:3", "a seed alone"),
        ("pct:1", "depth:steps:seed"),
        ("pct:0:10:1", "at least 1"),
        ("pct:2:0:1", "at least 1"),
    ],
)
def test_token_that_names_no_schedule_is_refused_with_the_reason(token: str, reason: str) -> None:
    with pytest.raises(MalformedSchedule, match=reason):
        Schedule.parse(token)


def test_negative_seed_is_refused() -> None:
    with pytest.raises(ValueError, match="natural number"):
        Schedule.random(-1)
