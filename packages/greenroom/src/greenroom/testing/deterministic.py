"""Deterministic runs of trio programs: equal seeds give equal steps.

A run has virtual time, which jumps to the next deadline when every task is blocked, and an
interleaving that a `Schedule` chooses. The program can still introduce non-determinism: the wall
clock, unseeded random numbers, threads, sockets, and iteration over sets of objects that are hashed
by address. trio itself iterates over such sets where one scope cancels several tasks, and orders
equal deadlines by address; there the seed chooses the order. Async generators left over at the end
of the run are closed in arbitrary order.

The cyclic garbage collector is disabled during a run; the finalizers that it calls would otherwise
run at a step that depends on the history of the process.

A step that never ends because it reaches no checkpoint can't be interrupted.
"""

import functools
import gc
import math
from collections.abc import Awaitable, Callable, Generator
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import groupby, islice
from typing import Generic, TypeAlias, TypeVar, TypeVarTuple

import trio
from trio.testing import MockClock

from greenroom.runtime import Faults, ambient_faults
from greenroom.testing.blocked import BlockedTask, blocked_tasks, short_name, waits_for_outside
from greenroom.testing.journal import Journal, enter_journal
from greenroom.testing.schedules import Schedule, enter_schedule
from greenroom.testing.trio_scheduler import ControlledScheduler, controlled_scheduler, lift_shields

T = TypeVar("T")
Ts = TypeVarTuple("Ts")

Seed: TypeAlias = int | str | Schedule

MAX_STEPS = 100_000
EARLY = -1
"""In a trace: the schedule let time pass to the next deadline while tasks were runnable."""

_IDLE_TURNS = 3
"""Turns without a runnable task before the run is checked for a deadlock.

The first may be the one in which the clock jumps; the second the one in which trio wakes
``wait_all_tasks_blocked``.
"""


class Stuck(Exception):
    """A run that would never end.

    Its tasks were cancelled, and, if that did not end them, cancelled again with their shields
    removed; the error that this raised is the ``__cause__``. A run that survives both is abandoned.
    """


class Deadlock(Stuck):
    """Every task is blocked, and no deadline, I/O or thread of trio can wake one.

    Attributes:
        blocked: the tasks and where they wait.
    """

    def __init__(self, blocked: list[BlockedTask]) -> None:
        self.blocked = tuple(blocked)
        super().__init__(
            "every task is blocked, and nothing can wake one:"
            + "".join(f"\n  {task}" for task in blocked)
        )


class Livelock(Stuck):
    """The run exceeded its limit of steps.

    Attributes:
        max_steps: the limit.
    """

    def __init__(self, max_steps: int, latest: list[str]) -> None:
        self.max_steps = max_steps
        super().__init__(f"no end after {max_steps} steps; the latest: {', '.join(latest)}")


@dataclass(frozen=True, slots=True)
class Run(Generic[T]):
    """The result and the course of a deterministic run.

    Attributes:
        value: what the function returned.
        trace: for every step the task that took it, as its index in ``tasks``; `EARLY` where the
            schedule let time pass. Equal seeds give equal traces.
        tasks: the tasks' names in the order in which they were first runnable, including trio's own
            two tasks.
        schedule: the schedule; ``str`` returns the token that replays it.
        duration: the virtual duration in seconds.
    """

    value: T
    trace: tuple[int, ...]
    tasks: tuple[str, ...]
    schedule: Schedule
    duration: float

    @property
    def steps(self) -> int:
        """The number of steps that all tasks took."""
        return len(self.trace) - self.trace.count(EARLY)


class Attempt(Generic[T]):
    """A run, and what is known of it even if it fails.

    Args:
        schedule: chooses the interleaving.
        max_steps: how many steps the run may take.
        faults: the faults of every `Runtime` in the run that names none.
    """

    def __init__(
        self, schedule: Schedule, max_steps: int = MAX_STEPS, faults: Faults | None = None
    ) -> None:
        self.schedule = schedule
        self._faults = faults
        self.trace: list[int] = []
        self.names: list[str] = []
        self.duration = 0.0
        self._max_steps = max_steps
        self._limit = max_steps
        self._choose_task = schedule.strategy().choose
        self._early = schedule.clock()
        self._clock = MockClock(autojump_threshold=0)
        self._idle = 0
        self._stuck: Stuck | None = None
        self._shields_lifted = False
        self._scope = trio.CancelScope()
        self._scheduler: ControlledScheduler | None = None
        self._batch: list[int] = []
        self._early_times = 0
        self.journal = Journal(self._now)

    def run(self, fn: Callable[[*Ts], Awaitable[T]], *args: *Ts) -> T:
        """Run ``fn(*args)``; see `run_deterministic` for the result and the errors."""
        __tracebackhide__ = True

        async def main() -> list[T]:
            __tracebackhide__ = True
            enter_schedule(self.schedule)
            enter_journal(self.journal)
            ambient_faults.set(self._faults)
            results = []
            try:
                with self._scope:
                    results.append(await fn(*args))
            finally:
                self.duration = self._clock.current_time()
            return results

        try:
            with (
                controlled_scheduler(self._choose, seed=self.schedule.seed) as scheduler,
                _collector_disabled(),
            ):
                self.names = scheduler.names
                self._scheduler = scheduler
                # The main task has the name of the function.
                main.__module__, main.__qualname__ = _name_of(fn)
                results = trio.run(main, clock=self._clock)
        except BaseException as error:
            if self._stuck is None or error is self._stuck:
                raise
            raise self._stuck from error
        if self._stuck is not None:
            raise self._stuck
        return results[0]

    @property
    def steps(self) -> int:
        """The number of steps that all tasks have taken."""
        return len(self.trace) - self._early_times

    def named_steps(self, count: int) -> list[str]:
        """Return the tasks of the last steps, as name#index, without trio's own.

        Steps of one task in a row count as one, and are written ``name#index (2 steps)``.
        """
        names = {
            index: f"{short_name(name)}#{index}"
            for index, name in enumerate(self.names)
            if not name.startswith("<")
        }
        names[EARLY] = "(time passes)"
        latest: list[str] = []
        steps = (names[index] for index in reversed(self.trace) if index in names)
        for name, same in islice(groupby(steps), count):
            number = sum(1 for _ in same)
            latest.append(name if number == 1 else f"{name} ({number} steps)")
        return latest[::-1]

    def _now(self) -> tuple[int, float]:
        """Return the number of the current step, from 1, and the virtual time."""
        before = len(self.trace) - len(self._batch) - self._early_times
        task = self._scheduler.index_of(trio.lowlevel.current_task()) if self._scheduler else None
        place = self._batch.index(task) if task in self._batch else 0
        return before + place + 1, self._clock.current_time()

    def _choose(self, runnable: list[int]) -> list[int]:
        if not runnable:
            self._rest()
            return runnable
        self._idle = 0
        if self._early is not None and self._early.due():
            self._let_time_pass()
        chosen = self._choose_task(runnable)
        self.trace += chosen
        self._batch = chosen
        if len(self.trace) > self._limit:
            self._give_up(Livelock(self._max_steps, self.named_steps(8)))
        return chosen

    def _let_time_pass(self) -> None:
        # The program controls the clock itself.
        if self._clock.autojump_threshold == math.inf:
            return
        seconds = trio.lowlevel.current_statistics().seconds_to_next_deadline
        if 0 < seconds < math.inf:
            self._clock.jump(seconds)
            self.trace.append(EARLY)
            self._early_times += 1

    def _rest(self) -> None:
        self._idle += 1
        if (
            self._idle >= _IDLE_TURNS
            and self._clock.autojump_threshold < math.inf
            and trio.lowlevel.current_statistics().seconds_to_next_deadline == math.inf
            and not waits_for_outside()
        ):
            self._idle = 0
            self._give_up(Deadlock(blocked_tasks()))

    def _give_up(self, stuck: Stuck) -> None:
        self._limit = len(self.trace) + self._max_steps
        if self._stuck is None:
            self._stuck = stuck
            self._scope.cancel(str(stuck).partition("\n")[0])
        elif not self._shields_lifted:
            self._shields_lifted = True
            lift_shields()
        else:
            # A task swallows cancellations: only a crash of the run loop ends it. The scope would
            # keep the tasks alive.
            self._scope = trio.CancelScope()
            raise self._stuck


def as_schedule(seed: Seed) -> Schedule:
    """Return the schedule that is given by itself, its token, or the seed of a random walk.

    Raises:
        ValueError: the token is malformed, or the seed negative.
    """
    if isinstance(seed, Schedule):
        return seed
    return Schedule.parse(seed) if isinstance(seed, str) else Schedule.random(seed)


def run_deterministic(
    fn: Callable[[*Ts], Awaitable[T]],
    *args: *Ts,
    seed: Seed = 0,
    max_steps: int = MAX_STEPS,
) -> Run[T]:
    """Run an async function like ``trio.run``, in virtual time and in a repeatable order.

    ``trio.lowlevel.current_clock()`` returns the ``MockClock`` of the run. A program that waits for
    a thread that it started itself, or for anything else that trio does not know of, must hold a
    `ClockGate` meanwhile; otherwise the run is considered dead.

    Args:
        fn: the async function.
        *args: its arguments.
        seed: a schedule, its token, or an integer for a plain random walk.
        max_steps: how many steps all tasks may take in total.

    Returns:
        The result of ``fn``, and the course of the run.

    Raises:
        Deadlock: nothing can wake any task. The tasks have been cancelled.
        Livelock: the run took more than ``max_steps`` steps. The tasks have been cancelled.
        UnsupportedTrio: the installed trio can't be controlled.
        RuntimeError: called inside a trio run.
        BaseException: whatever ``fn`` raises, unchanged.
    """
    __tracebackhide__ = True
    schedule = as_schedule(seed)
    attempt: Attempt[T] = Attempt(schedule, max_steps)
    value = attempt.run(fn, *args)
    return Run(value, tuple(attempt.trace), tuple(attempt.names), schedule, attempt.duration)


def _name_of(fn: Callable[..., object]) -> tuple[str, str]:
    """Return the module and the name of a scenario; one without a name is called so."""
    while isinstance(fn, functools.partial):
        fn = fn.func
    name = getattr(fn, "__qualname__", type(fn).__qualname__)
    if name.endswith("<lambda>"):
        name = "scenario"
    return getattr(fn, "__module__", None) or __name__, name


@contextmanager
def _collector_disabled() -> Generator[None, None, None]:
    enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if enabled:
            gc.enable()
