"""Schedules: values that determine the interleaving of a deterministic run.

A schedule is written as a token and parsed from it, so that a failure identifies the one run out of
thousands that shows it::

    random:81               a seeded random walk
    random+time:81          the same, and time passes while tasks are runnable
    pct:3:450:8812          priorities with 3 - 1 changes within 450 steps, seed 8812
    pct+time:3:450:8812

A scheduling strategy is a pure function of the seed that chooses the next step. It identifies tasks
by numbers, in the order in which they were first runnable, and does not depend on trio. Equal seeds
and equal runnable tasks give equal choices.
"""

import random
import re
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Literal, Protocol, Self

_TOKEN = re.compile(
    r"(?P<kind>random|pct)(?P<time>\+time)?:((?P<depth>\d+):(?P<steps>\d+):)?(?P<seed>\d+)",
    re.ASCII,
)

PATIENCE = 100
"""Steps for which `PriorityChanges` lets a runnable task wait before the others give way.

Otherwise a task that spins until another one has acted would starve it. At least one check and at
most two occur during the wait.
"""


class SchedulingStrategy(Protocol):
    """Chooses which of the runnable tasks step in a turn, and in which order."""

    def choose(self, runnable: list[int]) -> list[int]:
        """Return at least one of the runnable tasks, in the order in which they step.

        ``runnable`` is not empty, and must not be changed.
        """
        ...


class RandomWalk:
    """Any runnable task may be next.

    A turn shuffles the runnable tasks and, in half of the turns, holds back a random part of them.
    So one task may take several steps while another takes none, and the probability that a task is
    held back decreases exponentially with the number of turns.
    """

    def __init__(self, rng: random.Random) -> None:
        self._random = rng.random

    def choose(self, runnable: list[int]) -> list[int]:
        """Return a random non-empty sequence of the runnable tasks."""
        count = len(runnable)
        if count == 1:
            return runnable
        draw = self._random
        chosen = runnable.copy()
        for last in range(count - 1, 0, -1):
            other = int(draw() * (last + 1))
            chosen[last], chosen[other] = chosen[other], chosen[last]
        # One draw decides both whether and where to cut.
        cut = int(draw() * 2 * count)
        return chosen[:cut] if 0 < cut < count else chosen


class PriorityChanges:
    """Probabilistic concurrency testing: the runnable task of highest priority steps, alone.

    Every task gets a random priority when it is first runnable. At ``depth - 1`` random steps the
    priority of the task that is about to step drops below all of these, to a predetermined rank. A
    run is as unfair as a bug may need, but tasks that wait for more than `PATIENCE` steps get their
    turn.

    Args:
        rng: the source of the priorities and of the steps of the changes.
        depth: the number of changes plus one.
        estimated_steps: the changes are among this many first steps.
    """

    def __init__(self, rng: random.Random, *, depth: int, estimated_steps: int) -> None:
        self._random = rng.random
        steps = max(estimated_steps, depth - 1)
        ranks = range(-1, -depth, -1)
        self._changes = dict(zip(rng.sample(range(steps), depth - 1), ranks, strict=True))
        self._priorities: dict[int, float] = {}
        self._lowest: float = -depth
        self._step = 0
        self._waiting: set[int] = set()

    def choose(self, runnable: list[int]) -> list[int]:
        """Return the task of highest priority."""
        priorities = self._priorities
        for task in runnable:
            if task not in priorities:
                priorities[task] = self._random()
        step = self._step
        self._step = step + 1
        if step % PATIENCE == 0:
            self._give_way(runnable)
        chosen = max(runnable, key=priorities.__getitem__)
        if step in self._changes:
            priorities[chosen] = self._changes[step]
            chosen = max(runnable, key=priorities.__getitem__)
        self._waiting.discard(chosen)
        return [chosen]

    def _give_way(self, runnable: list[int]) -> None:
        """Prefer the tasks that have waited since the last check."""
        overdue = self._waiting.intersection(runnable)
        if overdue:
            for task in runnable:
                if task not in overdue:
                    self._lowest -= 1
                    self._priorities[task] = self._lowest
        self._waiting = set(runnable)


class EarlyTime:
    """Decides in which turns virtual time passes although tasks are runnable.

    Some seeds let it pass every few turns, others rarely, so that deadlines that pass early in the
    work are tried, and deadlines that pass late.
    """

    def __init__(self, rng: random.Random) -> None:
        self._random = rng.random
        self._mean = (4, 16, 64)[int(rng.random() * 3)]
        self._turns = self._gap()

    def due(self) -> bool:
        """Return whether time passes in this turn; called once a turn."""
        self._turns -= 1
        if self._turns:
            return False
        self._turns = self._gap()
        return True

    def _gap(self) -> int:
        return 1 + int(self._random() * 2 * self._mean)


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
        rng = random.Random(self.seed)
        if self.kind == "random":
            return RandomWalk(rng)
        return PriorityChanges(rng, depth=self.depth, estimated_steps=self.estimated_steps)

    def clock(self) -> EarlyTime | None:
        """Return what decides when time passes early; None if it does not."""
        # A separate generator, so that early time does not change the first choices of tasks.
        return EarlyTime(random.Random(~self.seed)) if self.early_time else None


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
