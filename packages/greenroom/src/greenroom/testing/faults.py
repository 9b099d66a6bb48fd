"""Fault injection: planned crashes, delays, cancellations and lost replies at named points.

Code under test passes named points. Every actor passes those of `CORE_POINTS`, and can pass its own
with ``await self.context.fault_point("storage.commit")``. A `FaultPlan` passed to the `Runtime`
decides from its seed which faults occur. `CrashOnce` injects one crash, at one of the points that a
run passes: `explore` makes it the faults of every `Runtime` that names no others, and a `FaultPlan`
passes its points on to it, so a scenario needs no preparation.
"""

from __future__ import annotations

import math
import random
from collections.abc import Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from fnmatch import fnmatchcase
from functools import lru_cache
from types import TracebackType
from typing import Literal, get_args

import trio
from trio import CancelScope
from trio.lowlevel import Task

from greenroom.runtime import ambient_faults
from greenroom.testing.journal import note_fault
from greenroom.waiting import current_waiter

CORE_POINTS = (
    "ask.sending",
    "ask.replied",
    "actor.starting",
    "actor.taken",
    "actor.handled",
    "actor.reply",
)
"""The points of the core, in the order in which a message passes them.

``ask.sending`` and ``ask.replied`` are passed by the asker, before the message is sent and after
the reply arrived; ``actor.taken`` and ``actor.handled`` by the actor, before and after the handler,
before the reply. ``actor.reply`` accepts only the fault ``lose reply``.
"""

ASKER_POINTS = ("ask.sending", "ask.replied")
"""The points that the asker passes; they count only if the asker is an actor."""

FaultKind = Literal["crash", "delay", "cancel", "lose reply"]
"""The kind of a fault.

``crash``: `InjectedCrash` is raised. ``delay``: the task sleeps. ``cancel``: the innermost
`FaultPlan.cancellable` block of the task is cancelled. ``lose reply``: the asker gets
`OutcomeUnknown`, although the handler returned.
"""


class InjectedCrash(Exception):
    """The crash that a fault injects."""


class CrashOnce:
    """Counts the fault points that a run passes, and crashes at one of them.

    Args:
        at: the number of the pass at which to crash, from 0; None only counts.

    Attributes:
        passes: how many points have been passed.
        injected: where the crash was injected, as ``point of path``; None before that.
    """

    def __init__(self, at: int | None) -> None:
        """Start counting."""
        self._at = at
        self.passes = 0
        self.injected: str | None = None

    async def reach(self, point: str, subject: str) -> None:
        """Pass a point.

        Raises:
            InjectedCrash: it is the chosen one.
        """
        __tracebackhide__ = True
        if point in ASKER_POINTS and current_waiter() is None:
            return  # a client of the actors, not one of them
        number = self.passes
        self.passes += 1
        if number == self._at:
            self.injected = f"{point} of {subject}"
            note_fault(f"crash at {self.injected}")
            raise InjectedCrash(f"injected at {self.injected}")

    def loses_reply(self, subject: str) -> bool:
        """Return False: crashes are all it injects."""
        return False


@dataclass(frozen=True, slots=True)
class Fault:
    """A fault that can occur at some points.

    Args:
        kind: the kind of the fault.
        point: the name of the point; may contain shell wildcards.
        subject: the path of the actor; may contain shell wildcards.
        probability: the probability for each pass, within 0..1.
        times: the maximum number of occurrences in a run; None for no limit.
        delay: in seconds, for the kind ``delay``.

    Raises:
        ValueError: an argument is out of its range.
    """

    kind: FaultKind
    point: str
    subject: str = "*"
    probability: float = 1.0
    times: int | None = None
    delay: float = 0.0

    def __post_init__(self) -> None:
        """Validate the arguments."""
        if self.kind not in get_args(FaultKind):
            known = ", ".join(get_args(FaultKind))
            raise ValueError(f"unknown fault {self.kind!r}; use one of {known}")
        if not 0.0 <= self.probability <= 1.0:
            raise ValueError(f"a probability must be within 0..1, not {self.probability!r}")
        if (self.kind == "delay") != (self.delay > 0.0):
            raise ValueError("a delay needs a positive number of seconds, other faults have none")
        if (self.kind == "lose reply") != (self.point == "actor.reply"):
            raise ValueError("'lose reply' is for the point 'actor.reply', which allows no other")


class _CancellableBlock:
    """The block of `FaultPlan.cancellable`; ``scopes`` are those of all tasks in one."""

    def __init__(
        self, scopes: dict[trio.lowlevel.Task, list[CancelScope]], deadline: float
    ) -> None:
        self._scopes = scopes
        self._scope = CancelScope(deadline=deadline)

    def __enter__(self) -> CancelScope:
        self._task = trio.lowlevel.current_task()
        self._scope.__enter__()
        self._scopes.setdefault(self._task, []).append(self._scope)
        return self._scope

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> bool:
        of_task = self._scopes[self._task]
        of_task.pop()
        if not of_task:
            del self._scopes[self._task]
        return self._scope.__exit__(kind, error, traceback)


class FaultPlan:
    """Decides from a seed which faults occur; pass it as ``Runtime(faults=...)``.

    Args:
        seed: equal seeds and schedules give equal faults.
        faults: the faults that can occur; the first that applies at a pass does.

    Attributes:
        injected: every fault so far, as ``(kind, point, subject)``.
    """

    def __init__(self, seed: int, faults: Sequence[Fault]) -> None:
        """Create a plan; no fault has occurred yet."""
        self._random = random.Random(seed)
        self._faults = tuple(faults)
        self._left = [fault.times for fault in self._faults]
        self._patterns = tuple((fault.point, fault.subject) for fault in self._faults)
        # A run passes few different points of few actors many thousand times.
        self._at: dict[tuple[str, str], list[tuple[int, Fault]]] = {}
        self._scopes: dict[Task, list[CancelScope]] = {}
        self.injected: list[tuple[FaultKind, str, str]] = []

    def cancellable(self, deadline: float = math.inf) -> AbstractContextManager[CancelScope, bool]:
        """Mark a block of the current task that a ``cancel`` fault, or ``deadline``, may cancel."""
        return _CancellableBlock(self._scopes, deadline)

    async def reach(self, point: str, subject: str) -> None:
        """Pass a point: the first fault that applies occurs.

        Raises:
            InjectedCrash: a ``crash``.
            RuntimeError: a ``cancel`` outside of a `cancellable` block.
        """
        crash_once = ambient_faults.get()
        if crash_once is not None:
            await crash_once.reach(point, subject)
        fault = self._draw(point, subject)
        if fault is None:
            return
        if fault.kind == "crash":
            raise InjectedCrash(f"injected at {point} of {subject}")
        if fault.kind == "delay":
            await trio.sleep(fault.delay)
            return
        scopes = self._scopes.get(trio.lowlevel.current_task())
        if not scopes:
            raise RuntimeError(f"no cancellable() block to cancel at {point} of {subject}")
        scopes[-1].cancel(reason=f"injected at {point} of {subject}")
        await trio.lowlevel.checkpoint()

    def loses_reply(self, subject: str) -> bool:
        """Return whether the reply that ``subject`` is about to give gets lost."""
        return self._draw("actor.reply", subject) is not None

    def _draw(self, point: str, subject: str) -> Fault | None:
        for index, fault in self._faults_at(point, subject):
            left = self._left[index]
            if left == 0:
                continue
            if fault.probability < 1.0 and self._random.random() >= fault.probability:
                continue
            if left is not None:
                self._left[index] = left - 1
            self.injected.append((fault.kind, point, subject))
            note_fault(f"{fault.kind} at {point} of {subject}")
            return fault
        return None

    def _faults_at(self, point: str, subject: str) -> list[tuple[int, Fault]]:
        """Return the faults that can occur at a point of a subject, with their indices."""
        indices = self._at.get((point, subject))
        if indices is None:
            indices = self._at[point, subject] = [
                (index, self._faults[index])
                for index in _indices_at(self._patterns, point, subject)
            ]
        return indices


@lru_cache(maxsize=4096)
def _indices_at(patterns: tuple[tuple[str, str], ...], point: str, subject: str) -> tuple[int, ...]:
    """Return which faults can occur at a point of a subject; the plans of many runs are alike."""
    return tuple(
        index
        for index, (points, subjects) in enumerate(patterns)
        if fnmatchcase(point, points)
        and fnmatchcase(subject, subjects)
        and (point == "actor.reply") == (points == "actor.reply")
    )
