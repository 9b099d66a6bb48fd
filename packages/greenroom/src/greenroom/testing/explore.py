"""Search for a schedule under which a scenario fails.

The search is random but repeatable: all its schedules derive from one seed. Random walks find bugs
that many orders show. Priorities with few changes find bugs that need one order among very many,
with a known probability. Early time finds deadlines that pass while work is in progress.
"""

import sys
from collections.abc import Awaitable, Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from random import Random
from typing import Any, TypeVar, overload

from greenroom.testing.deterministic import MAX_STEPS, Attempt
from greenroom.testing.faults import CrashOnce
from greenroom.testing.journal import JournalEntry, render_journal
from greenroom.testing.schedule_failure import (
    ReplayToken,
    ScheduleFailure,
    ends_exploration,
    signature,
)
from greenroom.testing.schedules import Schedule

Step = TypeVar("Step")

FURTHER_SCHEDULES = 10
"""How many schedules in addition to the failing one are tried for each shorter list of steps."""

SHRINKING_RUNS = 3_000
"""How many runs shrinking may take; then the shortest list found so far is shown."""

_LATEST = 12


@dataclass(frozen=True, slots=True)
class Exploration:
    """The coverage of a search that found no failure.

    Attributes:
        schedules: how many schedules were run.
        interleavings: how many distinct sequences of steps they took.
        longest: the number of steps of the longest run.
        crashes: under how many of the schedules a crash was injected.
    """

    schedules: int
    interleavings: int
    longest: int
    crashes: int = 0


@overload
def explore(
    fn: Callable[[], Awaitable[object]],
    *,
    schedules: int = ...,
    seed: int = ...,
    replay: str | None = ...,
    steps: None = ...,
    max_steps: int = ...,
    early_time: bool = ...,
    crash_anywhere: bool = ...,
    command: Callable[[str], str] | None = ...,
) -> Exploration: ...


@overload
def explore(
    fn: Callable[[list[Step]], Awaitable[object]],
    *,
    schedules: int = ...,
    seed: int = ...,
    replay: str | None = ...,
    steps: Sequence[Step],
    max_steps: int = ...,
    early_time: bool = ...,
    crash_anywhere: bool = ...,
    command: Callable[[str], str] | None = ...,
) -> Exploration: ...


def explore(
    fn: Callable[..., Awaitable[object]],
    *,
    schedules: int = 1000,
    seed: int = 0,
    replay: str | None = None,
    steps: Sequence[Any] | None = None,
    max_steps: int = MAX_STEPS,
    early_time: bool = True,
    crash_anywhere: bool = False,
    command: Callable[[str], str] | None = None,
) -> Exploration:
    """Run an async scenario under many schedules, until one fails.

    A scenario fails if it raises, deadlocks or does not end. It must create all state that it works
    on.

    Args:
        fn: the scenario; takes nothing, or a list of the ``steps``.
        schedules: how many to try.
        seed: what the schedules derive from.
        replay: the token of a failure; only that schedule is run.
        steps: the steps that the scenario carries out. If it fails, steps that the failure does
            not need are removed, as long as an error of the same type occurs.
        max_steps: how many task steps a run may take.
        early_time: whether some schedules let deadlines pass while tasks can run, as on a slow
            machine. Turn it off if the scenario asserts how long something takes.
        crash_anywhere: whether each schedule is run a second time with one `InjectedCrash`, at one
            of the fault points that the actors pass, drawn from the schedule's seed. Actors pass
            `CORE_POINTS` and their own ``context.fault_point``; a crash of an asker that is not an
            actor is not injected. The scenario must hold under any one crash.
        command: returns the command that replays a token; the default is
            ``python -m greenroom.testing replay`` if ``fn`` can be imported.

    Returns:
        The coverage.

    Raises:
        ScheduleFailure: the scenario failed; with its token, its command and its minimal steps.
        MalformedSchedule: ``replay`` is not a token.
        ValueError: ``schedules`` is not positive, ``replay`` selects steps that don't exist, or
            ``crash_anywhere`` is set and the scenario passes no fault point.
        RuntimeError: called inside a trio run.
    """
    __tracebackhide__ = True
    scenario = _Scenario(fn, steps, max_steps, early_time=early_time, crashes=crash_anywhere)
    if replay is not None:
        token = ReplayToken.parse(replay)
        token.require(None if steps is None else len(steps))
        failure = scenario.attempt(token.schedule, token.kept, token.crash)
        if failure is not None:
            repeated = scenario.attempt(token.schedule, token.kept, token.crash)
            details = [] if failure.repeats(repeated) else [*_CAUTION]
            raise _report(scenario, failure, command, details) from failure.error
        return Exploration(1, 1, scenario.longest, scenario.crashed)
    if schedules < 1:
        raise ValueError(f"at least one schedule must be run, not {schedules}")
    kept = None if steps is None else tuple(range(len(steps)))
    seen = set()
    for number, schedule in enumerate(islice(_plan(Random(seed), scenario), schedules), 1):
        failure = scenario.search(schedule, kept)
        if failure is None:
            seen.add(hash(tuple(scenario.trace)))
            continue
        details = [f"found:    by schedule {number} of {schedules}"]
        if failure.repeats(scenario.attempt(schedule, kept, failure.crash)):
            failure = _shrunk(scenario, failure) if failure.kept else failure
        else:
            details += _CAUTION
        raise _report(scenario, failure, command, details) from failure.error
    if crash_anywhere and not scenario.crashed:
        raise ValueError(
            "crash_anywhere: the scenario passed no fault point; it must run actors whose Runtime"
            " has no other faults than a FaultPlan, or pass points by context.fault_point()"
        )
    return Exploration(schedules, len(seen), scenario.longest, scenario.crashed)


_CAUTION = (
    "caution:  the same schedule took another course when it was repeated;",
    "          something in the scenario is not deterministic",
)


@dataclass(frozen=True, slots=True)
class _Failure:
    schedule: Schedule
    kept: tuple[int, ...] | None
    crash: int | None
    injected: str | None
    error: BaseException
    trace: tuple[int, ...]
    latest: tuple[str, ...]
    journal: tuple[JournalEntry, ...]

    def repeats(self, other: "_Failure | None") -> bool:
        return (
            other is not None
            and self.trace == other.trace
            and signature(self.error) == signature(other.error)
        )


class _Scenario:
    """A scenario that is run under many schedules, and statistics of its runs."""

    def __init__(
        self,
        fn: Callable[..., Awaitable[object]],
        steps: Sequence[Any] | None,
        max_steps: int,
        *,
        early_time: bool,
        crashes: bool,
    ) -> None:
        self.fn = fn
        self.steps = steps
        self.longest = 1
        self.trace: list[int] = []
        self.early_time = early_time
        self.max_steps = max_steps
        self.crashes = crashes
        self.crashed = 0
        self.passes = 0

    def chosen(self, kept: tuple[int, ...] | None) -> list[Any] | None:
        """Return the steps of the given indices; None if the scenario takes none."""
        if self.steps is None:
            return None
        return list(self.steps) if kept is None else [self.steps[index] for index in kept]

    def search(self, schedule: Schedule, kept: tuple[int, ...] | None) -> _Failure | None:
        """Run under ``schedule``; then, if so asked, once more with a crash at a random point."""
        __tracebackhide__ = True
        failure = self.attempt(schedule, kept)
        if failure is not None or not self.crashes or not self.passes:
            return failure
        crash = Random(f"crash of {schedule}").randrange(self.passes)
        return self.attempt(schedule, kept, crash)

    def attempt(
        self, schedule: Schedule, kept: tuple[int, ...] | None, crash: int | None = None
    ) -> _Failure | None:
        """Run once, with a crash at the given pass of a fault point."""
        __tracebackhide__ = True
        faults = CrashOnce(crash) if self.crashes or crash is not None else None
        attempt: Attempt[object] = Attempt(schedule, self.max_steps, faults)
        self.trace = attempt.trace
        steps = self.chosen(kept)
        try:
            if steps is None:
                attempt.run(self.fn)
            else:
                attempt.run(self.fn, steps)
        except BaseException as error:
            if ends_exploration(error):
                raise
            return _Failure(
                schedule,
                kept,
                crash,
                None if faults is None else faults.injected,
                error,
                tuple(attempt.trace),
                tuple(attempt.named_steps(_LATEST)),
                tuple(attempt.journal.entries),
            )
        finally:
            if faults is not None:
                self.passes = faults.passes
                self.crashed += faults.injected is not None
        self.longest = max(self.longest, attempt.steps)
        return None


def _plan(rng: Random, scenario: _Scenario) -> Iterator[Schedule]:
    """Yield the schedules that the scenario allows, indefinitely."""
    return (s for s in _all_schedules(rng, scenario) if scenario.early_time or not s.early_time)


def _all_schedules(rng: Random, scenario: _Scenario) -> Iterator[Schedule]:
    """Yield schedules indefinitely: random walks and PCT alternately, random walks first.

    The number of steps that PCT expects is that of the longest run so far.
    """
    for early_time in (False, False, False, True):
        yield Schedule.random(rng.getrandbits(32), early_time=early_time)
    while True:
        yield Schedule.random(rng.getrandbits(32))
        yield Schedule.random(rng.getrandbits(32), early_time=True)
        for depth, early_time in ((2, False), (3, False), (2, True), (1, False), (4, False)):
            seed = rng.getrandbits(32)
            yield Schedule.pct(depth, scenario.longest, seed, early_time=early_time)


def _shrunk(scenario: _Scenario, first: _Failure) -> _Failure:
    """Remove the steps that the failure does not need."""
    best = first
    runs = SHRINKING_RUNS
    wanted = signature(first.error)

    def fails(indices: list[int]) -> bool:
        nonlocal best, runs
        further = islice(_plan(Random(best.schedule.seed), scenario), FURTHER_SCHEDULES)
        for schedule in (best.schedule, *further):
            if runs == 0:
                return False
            runs -= 1
            failure = None
            if best.crash is not None:  # the same pass may still be the one
                failure = scenario.attempt(schedule, tuple(indices), best.crash)
            failure = failure or scenario.search(schedule, tuple(indices))
            if failure is not None and signature(failure.error) == wanted:
                best = failure
                return True
        return False

    shrink(first.kept or (), fails)
    return best


def _report(
    scenario: _Scenario,
    failure: _Failure,
    command: Callable[[str], str] | None,
    details: list[str],
) -> ScheduleFailure:
    kept = failure.kept
    if scenario.steps is not None and kept == tuple(range(len(scenario.steps))):
        kept = None
    token = str(ReplayToken(failure.schedule, kept, failure.crash))
    replaying = command(token) if command is not None else _command(scenario, token)
    details = [*details, f"latest:   {', '.join(failure.latest)}"]
    details += render_journal(failure.journal, failure.error)
    steps = scenario.chosen(kept)
    return ScheduleFailure(token, failure.error, steps, replaying, details, failure.injected)


def _command(scenario: _Scenario, token: str) -> str:
    """Return the shell command that replays, or the call if the scenario can't be imported."""
    module = getattr(scenario.fn, "__module__", "__main__")
    name = getattr(scenario.fn, "__qualname__", "")
    reachable = getattr(sys.modules.get(module), name, None) is scenario.fn
    if module == "__main__" or not reachable or scenario.steps is not None:
        return f'the same call of explore, with replay="{token}"'
    limit = "" if scenario.max_steps == MAX_STEPS else f" --max-steps {scenario.max_steps}"
    return f"python -m greenroom.testing replay {module}:{name} --schedule {token}{limit}"


Item = TypeVar("Item")


def shrink(items: Sequence[Item], fails: Callable[[list[Item]], bool]) -> list[Item]:
    """Remove items that a failure does not need: runs of decreasing size, then single items.

    These are the complement steps of ddmin (Zeller and Hildebrandt, Simplifying and Isolating
    Failure-Inducing Input, 2002). For n items at most O(n²) lists are tried, O(n log n) if few
    items are needed.

    Args:
        items: a list that fails; it is not tried itself.
        fails: returns whether a list fails; the items keep their order.

    Returns:
        A list that fails (``items``, or one for which ``fails`` returned true), and no longer fails
        if any single item is removed, provided that ``fails`` is deterministic.
    """
    current = list(items)
    size = len(current)
    while current:
        removed = False
        start = 0
        while start < len(current):
            candidate = current[:start] + current[start + size :]
            if fails(candidate):
                current = candidate
                removed = True
            else:
                start += size
        if size == 1 and not removed:
            break
        size = max(1, min(size, len(current)) // 2)
    return current
