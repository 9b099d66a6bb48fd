"""Strategies: pure choosers of the next step, each at work in one run.

A strategy sees tasks as numbers, given in the order of their first appearance, and knows nothing of
trio. The same seed and the same runnable tasks give the same choices.
"""

from random import Random
from typing import Protocol

PATIENCE = 100
"""Steps for which `PriorityChanges` lets a runnable task wait before those that step give way.

A task that spins until another has acted would otherwise keep it from acting. At least one check
and at most two lie between the wait's begin and its end.
"""


class SchedulingStrategy(Protocol):
    """Chooses which of the runnable tasks step in a turn, and in which order."""

    def choose(self, runnable: list[int]) -> list[int]:
        """Take the runnable tasks, at least one; return at least one of them, in step order.

        The caller's list is left as it is.
        """
        ...


class RandomWalk:
    """Any runnable task may be next.

    A turn shuffles the runnable tasks and then, every other time, keeps back a random rest of them;
    so one task may take several steps while another takes none, and a task is kept back for long
    only with a probability that falls exponentially.
    """

    def __init__(self, rng: Random) -> None:
        self._random = rng.random

    def choose(self, runnable: list[int]) -> list[int]:
        """Choose a random non-empty sequence of the runnable tasks."""
        count = len(runnable)
        if count == 1:
            return runnable
        draw = self._random
        chosen = runnable.copy()
        for last in range(count - 1, 0, -1):
            other = int(draw() * (last + 1))
            chosen[last], chosen[other] = chosen[other], chosen[last]
        # One draw both decides whether to cut and where.
        cut = int(draw() * 2 * count)
        return chosen[:cut] if 0 < cut < count else chosen


class PriorityChanges:
    """Probabilistic concurrency testing: the runnable task of highest priority steps, alone.

    Every task gets a random priority when it is first seen. At ``depth - 1`` random steps the task
    that is about to step falls below all those priorities, to a rank drawn beforehand. A run is
    thereby as unfair as a bug may need, yet tasks that wait for more than `PATIENCE` steps get
    their turn.

    Args:
        rng: what the priorities and the steps of the changes are drawn from.
        depth: the number of changes plus one.
        estimated_steps: the changes fall into this many first steps.
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
        """Choose the one task of highest priority."""
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
        """Put the tasks that waited since the last check before all others."""
        overdue = self._waiting.intersection(runnable)
        if overdue:
            for task in runnable:
                if task not in overdue:
                    self._lowest -= 1
                    self._priorities[task] = self._lowest
        self._waiting = set(runnable)


class EarlyTime:
    """Decides at which turns virtual time passes although tasks are runnable.

    Some schedules let it pass every few turns, others hardly ever, so that both a deadline that
    strikes at once and one that strikes late in the work are tried.
    """

    def __init__(self, rng: Random) -> None:
        self._random = rng.random
        self._mean = (4, 16, 64)[int(rng.random() * 3)]
        self._turns = self._gap()

    def due(self) -> bool:
        """Whether time passes in this turn; asked once a turn."""
        self._turns -= 1
        if self._turns:
            return False
        self._turns = self._gap()
        return True

    def _gap(self) -> int:
        return 1 + int(self._random() * 2 * self._mean)
