"""Schedules: values that determine the interleaving of a deterministic run.

A schedule is written as a token and parsed from it, so that a failure identifies the one run out of
thousands that shows it::

    random:81               a seeded random walk
    random+time:81          the same, and time passes while tasks are runnable
    pct:3:450:8812          priorities with 3 - 1 changes within 450 steps, seed 8812
    pct+time:3:450:8812
"""

import random
import re
from contextvars import ContextVar
from dataclasses import dataclass
from random import Random
from typing import Literal, Self

from greenroom.testing.strategies import EarlyTime, PriorityChanges, RandomWalk, SchedulingStrategy

_TOKEN = re.compile(
    r"(?P<kind>random|pct)(?P<time>\+time)?:((?P<depth>\d+):(?P<steps>\d+):)?(?P<seed>\d+)",
    re.ASCII,
)


class MalformedSchedule(ValueError):
    """A token that is not a schedule."""

    def __init__(self, token: str, reason: str) -> None:
        super().__init__(
            f"{token!r} is not a schedule: {reason}; examples are random:81, random+time:81, "
            "pct:3:450:8812 and pct+time:3:450:8812"
        )


@dataclass(frozen=True, slots=True, repr=False)
class Schedule:
    """One way to interleave the tasks of a run; equal schedules give equal runs.

    Attributes:
        kind: ``random`` for a random walk, ``pct`` for priorities with few changes.
        seed: a non-negative integer.
        early_time: whether virtual time may reach the next deadline while tasks are runnable, as
            real time can; otherwise it advances only when every task is blocked.
        depth: for ``pct``, the maximum number of orderings a bug needs: priority changes plus one.
        estimated_steps: for ``pct``, the steps among which the changes are drawn.

    Raises:
        ValueError: from the constructor: a number is out of range, or not allowed for the kind.
    """

    kind: Literal["random", "pct"]
    seed: int
    early_time: bool = False
    depth: int = 0
    estimated_steps: int = 0

    def __post_init__(self) -> None:
        if self.seed < 0:
            raise ValueError(f"the seed of a schedule must not be negative, as {self.seed} is")
        if self.kind == "random":
            if self.depth or self.estimated_steps:
                raise ValueError("a random walk has neither depth nor estimated steps")
        elif self.depth < 1 or self.estimated_steps < 1:
            raise ValueError("a pct schedule needs a depth and estimated steps of at least 1")

    @classmethod
    def random(cls, seed: int, *, early_time: bool = False) -> Self:
        """Return a random walk: in any turn any runnable task may step."""
        return cls("random", seed, early_time)

    @classmethod
    def pct(cls, depth: int, estimated_steps: int, seed: int, *, early_time: bool = False) -> Self:
        """Return a schedule of probabilistic concurrency testing (Burckhardt et al., ASPLOS 2010).

        With n tasks and k steps, a run finds a bug that needs ``depth`` orderings with a
        probability of at least 1 / (n · k^(depth - 1)).
        """
        return cls("pct", seed, early_time, depth, estimated_steps)

    @classmethod
    def parse(cls, token: str) -> Self:
        """Parse the text that ``str(schedule)`` returns.

        Raises:
            MalformedSchedule: the token is malformed; the text says how.
        """
        match = _TOKEN.fullmatch(token)
        if match is None:
            raise MalformedSchedule(token, "it is not of the form kind:numbers")
        kind: Literal["random", "pct"] = "pct" if match["kind"] == "pct" else "random"
        if kind == "pct" and match["depth"] is None:
            raise MalformedSchedule(token, "pct needs depth:steps:seed")
        if kind == "random" and match["depth"] is not None:
            raise MalformedSchedule(token, "random takes only a seed")
        numbers = (int(match["depth"] or 0), int(match["steps"] or 0))
        try:
            return cls(kind, int(match["seed"]), match["time"] is not None, *numbers)
        except ValueError as error:
            raise MalformedSchedule(token, str(error)) from None

    def __str__(self) -> str:
        name = f"{self.kind}+time" if self.early_time else self.kind
        numbers = f"{self.depth}:{self.estimated_steps}:" if self.kind == "pct" else ""
        return f"{name}:{numbers}{self.seed}"

    def __repr__(self) -> str:
        return f"Schedule.parse({str(self)!r})"

    def strategy(self) -> SchedulingStrategy:
        """Return the strategy of the schedule; each run needs a new one."""
        rng = Random(self.seed)
        if self.kind == "random":
            return RandomWalk(rng)
        return PriorityChanges(rng, depth=self.depth, estimated_steps=self.estimated_steps)

    def clock(self) -> EarlyTime | None:
        """Return what decides when time passes early; None if it does not."""
        # A separate generator, so that early time does not change the first choices of tasks.
        return EarlyTime(Random(~self.seed)) if self.early_time else None


_running: ContextVar[Schedule] = ContextVar("greenroom_schedule")
"""The schedule of the current run; the value is stored in the context of the run's tasks."""


def enter_schedule(schedule: Schedule) -> None:
    """Set the schedule of the run; called at the start of its main task."""
    _running.set(schedule)


def current_schedule() -> Schedule:
    """Return the schedule of the current deterministic run.

    Raises:
        RuntimeError: called outside a deterministic run.
    """
    schedule = _running.get(None)
    if schedule is None:
        raise RuntimeError(
            "there is no schedule here: call this inside run_deterministic or explore"
        )
    return schedule


def scenario_random() -> random.Random:
    """Return a new random generator, seeded by the current schedule.

    Equal schedules give equal numbers, so that a replay draws the same. Every call returns the same
    sequence; use one generator in one scenario.

    Raises:
        RuntimeError: called outside a deterministic run.
    """
    return random.Random(f"scenario of {current_schedule()}")
