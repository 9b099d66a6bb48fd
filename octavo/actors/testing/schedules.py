"""Schedules: values that say how the interleaving of a deterministic run is chosen.

A schedule prints as a token and is parsed from it, so that a failure names the one run out of
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

from octavo.actors.testing.strategies import (
    EarlyTime,
    PriorityChanges,
    RandomWalk,
    SchedulingStrategy,
)

_TOKEN = re.compile(
    r"(?P<kind>random|pct)(?P<time>\+time)?:((?P<depth>\d+):(?P<steps>\d+):)?(?P<seed>\d+)",
    re.ASCII,
)


class MalformedSchedule(ValueError):
    """A token that names no schedule."""

    def __init__(self, token: str, reason: str) -> None:
        super().__init__(
            f"{token!r} names no schedule: {reason}; one looks like random:81, random+time:81, "
            "pct:3:450:8812 or pct+time:3:450:8812"
        )


@dataclass(frozen=True, slots=True, repr=False)
class Schedule:
    """One way to interleave the tasks of a run; equal schedules give equal runs.

    Attributes:
        kind: ``random`` for a random walk, ``pct`` for priorities with few changes.
        seed: a natural number.
        early_time: whether virtual time may reach the next deadline while tasks are runnable, as
            real time can; without, it moves only when every task is blocked.
        depth: for ``pct``, how many orderings a bug needs at most: priority changes plus one.
        estimated_steps: for ``pct``, the steps among which the changes are drawn.

    Raises:
        ValueError: from the constructor: a number out of range, or one that the kind lacks.
    """

    kind: Literal["random", "pct"]
    seed: int
    early_time: bool = False
    depth: int = 0
    estimated_steps: int = 0

    def __post_init__(self) -> None:
        if self.seed < 0:
            raise ValueError(f"the seed of a schedule is a natural number, not {self.seed}")
        if self.kind == "random":
            if self.depth or self.estimated_steps:
                raise ValueError("a random walk has neither depth nor estimated steps")
        elif self.depth < 1 or self.estimated_steps < 1:
            raise ValueError("a pct schedule has a depth and estimated steps of at least 1")

    @classmethod
    def random(cls, seed: int, *, early_time: bool = False) -> Self:
        """A random walk: at any turn any of the runnable tasks may step."""
        return cls("random", seed, early_time)

    @classmethod
    def pct(cls, depth: int, estimated_steps: int, seed: int, *, early_time: bool = False) -> Self:
        """Probabilistic concurrency testing (Burckhardt et al., ASPLOS 2010).

        Of n tasks and k steps, a bug that needs ``depth`` orderings shows with a probability of at
        least 1 / (n · k^(depth - 1)) a run.
        """
        return cls("pct", seed, early_time, depth, estimated_steps)

    @classmethod
    def parse(cls, token: str) -> Self:
        """Read back what ``str(schedule)`` gave.

        Raises:
            MalformedSchedule: saying what is wrong with the token.
        """
        match = _TOKEN.fullmatch(token)
        if match is None:
            raise MalformedSchedule(token, "it is not of the form kind:numbers")
        kind: Literal["random", "pct"] = "pct" if match["kind"] == "pct" else "random"
        if kind == "pct" and match["depth"] is None:
            raise MalformedSchedule(token, "pct needs depth:steps:seed")
        if kind == "random" and match["depth"] is not None:
            raise MalformedSchedule(token, "random takes a seed alone")
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
        """The schedule at its first step; each run takes a new one."""
        rng = Random(self.seed)
        if self.kind == "random":
            return RandomWalk(rng)
        return PriorityChanges(rng, depth=self.depth, estimated_steps=self.estimated_steps)

    def clock(self) -> EarlyTime | None:
        """When time passes early, or None if it does not."""
        # A stream of its own: with and without early time, tasks take the same choices at first.
        return EarlyTime(Random(~self.seed)) if self.early_time else None


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
