"""What a scenario may know of the schedule that runs it: above all, a source of chance."""

from __future__ import annotations

import random
from contextvars import ContextVar

from octavo.actors.testing.schedules import Schedule

_running: ContextVar[Schedule] = ContextVar("octavo_schedule")
"""A constant key; its value lives in the context of a run's tasks."""


def enter_schedule(schedule: Schedule) -> None:
    """Declare, at the start of a run's main task, which schedule runs it."""
    _running.set(schedule)


def current_schedule() -> Schedule:
    """The schedule of the present deterministic run.

    Raises:
        RuntimeError: called outside of one.
    """
    schedule = _running.get(None)
    if schedule is None:
        raise RuntimeError("no schedule runs here: call this within run_deterministic or explore")
    return schedule


def scenario_random() -> random.Random:
    """A new random generator that the present schedule seeds.

    The same for the same schedule, so that what a scenario draws from it is replayed too. Every
    call gives the same sequence; draw from one generator in one scenario.

    Raises:
        RuntimeError: called outside of a deterministic run.
    """
    return random.Random(f"scenario of {current_schedule()}")
