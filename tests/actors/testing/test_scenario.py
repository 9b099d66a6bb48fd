"""What a scenario knows of its schedule."""

from __future__ import annotations

import pytest

from octavo.actors.testing import current_schedule, run_deterministic, scenario_random


async def draw() -> tuple[str, list[float]]:
    random = scenario_random()
    return str(current_schedule()), [random.random() for _ in range(3)]


def test_a_schedule_seeds_the_chance_of_its_scenario() -> None:
    first, again, other = (run_deterministic(draw, seed=seed).value for seed in (1, 1, 2))
    assert first == again
    assert first[0] == "random:1"
    assert first[1] != other[1]


def test_outside_of_a_run_there_is_no_schedule() -> None:
    with pytest.raises(RuntimeError, match="within run_deterministic or explore"):
        scenario_random()
