"""A schedule takes the same steps in every process, so the token of a failure replays it."""

import subprocess
import sys

import pytest

from tests.simulation.replayed import KNOWN, SIMULATIONS

COUNT = 3
"""Schedules of each simulation, besides those that are known to be difficult."""


@pytest.fixture(scope="module")
def first() -> list[str]:
    return replayed(hash_seed="1", junk=0)


def replayed(hash_seed: str, junk: int) -> list[str]:
    """Run the schedules in a new process, whose sets of texts and of objects are ordered anew."""
    command = [sys.executable, "-m", "tests.simulation.replayed", str(COUNT), str(junk)]
    done = subprocess.run(
        command, env={"PYTHONHASHSEED": hash_seed}, check=True, capture_output=True, text=True
    )
    return done.stdout.splitlines()


@pytest.mark.parametrize(("hash_seed", "junk"), [("1", 50_000), ("2", 0)])
def test_schedule_in_another_process_takes_the_same_steps(
    hash_seed: str, junk: int, first: list[str]
) -> None:
    assert len(first) == COUNT * len(SIMULATIONS) + sum(map(len, KNOWN.values()))
    assert replayed(hash_seed, junk) == first
