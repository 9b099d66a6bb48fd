"""Search for the schedule under which a scenario fails.

The search is random, yet repeatable: all its schedules derive from one seed. Random walks find what
many orders show; priorities with few changes find what needs one order among very many, at a known
probability; early time finds the deadlines that strike while work is under way.
"""

import sys
from collections.abc import Awaitable, Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from random import Random
from typing import Any, TypeVar, overload

from octavo.actors.testing.deterministic import MAX_STEPS, Attempt
from octavo.actors.testing.schedule_failure import (
    ReplayToken,
    ScheduleFailure,
    ends_exploration,
    signature,
)
from octavo.actors.testing.schedules import Schedule
from octavo.actors.testing.shrink import shrink

Step = TypeVar("Step")

FURTHER_SCHEDULES = 10
"""How many schedules besides the failing one are tried for each shorter list of steps."""

SHRINKING_RUNS = 3_000
"""How many runs shrinking may take; then the shortest list found so far is shown."""

_LATEST = 12


@dataclass(frozen=True, slots=True)
class Exploration:
    """What a search that found no failure has covered.

    Attributes:
        schedules: how many schedules were run.
        interleavings: how many distinct sequences of steps they took.
        longest: the steps of the longest run.
    """

    schedules: int
    interleavings: int
    longest: int


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
    command: Callable[[str], str] | None = None,
) -> Exploration:
    """Run an async scenario under many schedules, until one fails.

    A scenario fails if it raises, deadlocks or does not end; it makes all that it works on anew.

    Args:
        fn: the scenario; takes nothing, or a list of the ``steps``.
        schedules: how many to try.
        seed: what the schedules derive from.
        replay: the token of a failure; that schedule alone is run.
        steps: what the scenario is to do. If it fails, steps that the failure does not need are
            left out, for as long as an error of the same type appears.
        max_steps: how many task steps a run may take.
        early_time: whether some schedules let deadlines strike while tasks can run, as a slow
            machine would. A scenario that asserts how much time something takes forbids it.
        command: makes the replaying command of a token; the default is
            ``python -m octavo.actors.testing replay`` if ``fn`` can be imported.

    Returns:
        How much was covered.

    Raises:
        ScheduleFailure: the scenario failed; with its token, its command and its minimal steps.
        MalformedSchedule: ``replay`` is no token.
        ValueError: ``schedules`` is not positive, or ``replay`` speaks of steps that there are not.
        RuntimeError: called inside a trio run.
    """
    __tracebackhide__ = True
    scenario = _Scenario(fn, steps, max_steps, early_time=early_time)
    if replay is not None:
        token = ReplayToken.parse(replay)
        token.require(None if steps is None else len(steps))
        candidates = iter((token.schedule,))
        kept = token.kept
        schedules = 1
    else:
        if schedules < 1:
            raise ValueError(f"at least one schedule must be run, not {schedules}")
        kept = None if steps is None else tuple(range(len(steps)))
        candidates = _plan(Random(seed), scenario)
    seen = set()
    for number, schedule in enumerate(islice(candidates, schedules), 1):
        failure = scenario.attempt(schedule, kept)
        if failure is None:
            seen.add(hash(tuple(scenario.trace)))
            continue
        details = [f"found:    by schedule {number} of {schedules}"] if replay is None else []
        if not failure.repeats(scenario.attempt(schedule, kept)):
            details.append("caution:  the same schedule went otherwise when it was run once more;")
            details.append("          something in the scenario is not deterministic")
        elif replay is None and failure.kept:
            failure = _shrunk(scenario, failure)
        raise _report(scenario, failure, command, details) from failure.error
    return Exploration(schedules, len(seen), scenario.longest)


@dataclass(frozen=True, slots=True)
class _Failure:
    schedule: Schedule
    kept: tuple[int, ...] | None
    error: BaseException
    trace: tuple[int, ...]
    latest: tuple[str, ...]

    def repeats(self, other: "_Failure | None") -> bool:
        return (
            other is not None
            and self.trace == other.trace
            and signature(self.error) == signature(other.error)
        )


class _Scenario:
    """A scenario under one schedule after another, and what has been seen of its runs."""

    def __init__(
        self,
        fn: Callable[..., Awaitable[object]],
        steps: Sequence[Any] | None,
        max_steps: int,
        *,
        early_time: bool,
    ) -> None:
        self.fn = fn
        self.steps = steps
        self.longest = 1
        self.trace: list[int] = []
        self.early_time = early_time
        self.max_steps = max_steps

    def chosen(self, kept: tuple[int, ...] | None) -> list[Any] | None:
        """The steps of the given indices; None if the scenario takes none."""
        if self.steps is None:
            return None
        return list(self.steps) if kept is None else [self.steps[index] for index in kept]

    def attempt(self, schedule: Schedule, kept: tuple[int, ...] | None) -> _Failure | None:
        """Run once."""
        __tracebackhide__ = True
        attempt: Attempt[object] = Attempt(schedule, self.max_steps)
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
            latest = tuple(attempt.named_steps(_LATEST))
            return _Failure(schedule, kept, error, tuple(attempt.trace), latest)
        self.longest = max(self.longest, attempt.steps)
        return None


def _plan(rng: Random, scenario: _Scenario) -> Iterator[Schedule]:
    """Yield the schedules that the scenario allows, without end."""
    return (s for s in _all_schedules(rng, scenario) if scenario.early_time or not s.early_time)


def _all_schedules(rng: Random, scenario: _Scenario) -> Iterator[Schedule]:
    """Yield schedules without end: random and PCT by turns, the first ones random.

    PCT takes its estimate of the steps from the longest run so far.
    """
    for early_time in (False, False, False, True):
        yield Schedule.random(rng.getrandbits(32), early_time=early_time)
    while True:
        yield Schedule.random(rng.getrandbits(32))
        yield Schedule.random(rng.getrandbits(32), early_time=True)
        for depth, early_time in ((2, False), (3, False), (2, True), (1, False), (4, False)):
            seed = rng.getrandbits(32)
            yield Schedule.pct(depth, scenario.longest, seed, early_time=early_time)


def _shrunk(scenario: _Scenario, found: _Failure) -> _Failure:
    """Leave out the steps that the failure does not need."""
    best = found
    runs = SHRINKING_RUNS
    wanted = signature(found.error)

    def fails(indices: list[int]) -> bool:
        nonlocal best, runs
        further = islice(_plan(Random(best.schedule.seed), scenario), FURTHER_SCHEDULES)
        for schedule in (best.schedule, *further):
            if runs == 0:
                return False
            runs -= 1
            failure = scenario.attempt(schedule, tuple(indices))
            if failure is not None and signature(failure.error) == wanted:
                best = failure
                return True
        return False

    shrink(found.kept or (), fails)
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
    token = str(ReplayToken(failure.schedule, kept))
    replaying = command(token) if command is not None else _command(scenario, token)
    details = [*details, f"latest:   {', '.join(failure.latest)}"]
    steps = scenario.chosen(kept)
    return ScheduleFailure(token, failure.error, steps, replaying, details)


def _command(scenario: _Scenario, token: str) -> str:
    """Name the shell command that replays, or the call if the scenario cannot be imported."""
    module = getattr(scenario.fn, "__module__", "__main__")
    name = getattr(scenario.fn, "__qualname__", "")
    reachable = getattr(sys.modules.get(module), name, None) is scenario.fn
    if module == "__main__" or not reachable or scenario.steps is not None:
        return f'the same call of explore, with replay="{token}"'
    limit = "" if scenario.max_steps == MAX_STEPS else f" --max-steps {scenario.max_steps}"
    return f"python -m octavo.actors.testing replay {module}:{name} --schedule {token}{limit}"
