"""Scheduling strategies: pure functions of a seed that choose the next step of one run.

A strategy identifies tasks by numbers, in the order in which they were first runnable, and does not
depend on trio. Equal seeds and equal runnable tasks give equal choices.
"""

from random import Random
from typing import Protocol

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

    def __init__(self, rng: Random) -> None:
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

    def __init__(self, rng: Random, *, depth: int, estimated_steps: int) -> None:
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

    def __init__(self, rng: Random) -> None:
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
