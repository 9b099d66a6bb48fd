"""A schedule takes the same steps in every process, so the token of a failure replays it."""

import subprocess
import sys

from tests.simulation.replayed import KNOWN, SIMULATIONS

COUNT = 2
"""Schedules of each simulation, besides those that are known to be difficult."""


def replayed(hash_seed: str, junk: int) -> list[str]:
    """Run the schedules in a new process, whose sets of texts and of objects are ordered anew."""
    command = [sys.executable, "-m", "tests.simulation.replayed", str(COUNT), str(junk)]
    done = subprocess.run(
        command, env={"PYTHONHASHSEED": hash_seed}, check=True, capture_output=True, text=True
    )
    return done.stdout.splitlines()


def test_schedule_in_another_process_takes_the_same_steps() -> None:
    first = replayed(hash_seed="1", junk=0)
    assert len(first) == COUNT * len(SIMULATIONS) + sum(map(len, KNOWN.values()))
    assert replayed(hash_seed="2", junk=50_000) == first
