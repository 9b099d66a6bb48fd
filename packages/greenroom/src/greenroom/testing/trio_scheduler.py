"""The private hooks into trio, which let the caller choose the next step and a seed the rest.

trio's run loop collects the runnable tasks into a batch, shuffles the batch with a module-level
``random.Random`` and lets every task of it take one step. trio has no public way to control that
order; trio itself patches the two names used here when it runs under Hypothesis
(https://github.com/python-trio/trio/pull/890, https://github.com/python-trio/trio/issues/73).
`controlled_scheduler` replaces the generator by one whose ``shuffle`` calls a function, and holds
tasks back by returning them to the run queue.

trio keeps the tasks and the scopes within a cancel scope in sets, and orders scopes with equal
deadlines by their addresses. So the order in which a cancellation calls the tasks' abort functions
depends on the memory of the process. Most abort functions only wake their task. But one that also
hands something to another task, such as a place in a mailbox, makes the order observable, and a
replay inexact. `drawn_cancellation` replaces the sets by others, and the addresses by random
numbers: any order is possible, as without it, and equal seeds give equal orders.

Only this module of the package uses trio's private names.

In each turn, the run loop asks the operating system for I/O. A run without I/O asks in one of
`TURNS_WITHOUT_IO` turns while tasks are runnable, so that threads and signals reach it.

The hooks apply to one thread: a trio run in another thread continues to use trio's own generator.
"""

from __future__ import annotations

import gc
import importlib
import random
import sys
import threading
import traceback
import warnings
from collections import deque
from collections.abc import Callable, Generator, Iterator, MutableSequence
from contextlib import contextmanager
from heapq import heappush
from itertools import count
from types import ModuleType
from typing import Any, TypeAlias, TypeVar

import trio

from greenroom.testing.blocked import living_tasks

T = TypeVar("T")

Choose: TypeAlias = Callable[[list[int]], list[int]]
"""Takes the runnable tasks; returns those that step now, in order. The others stay runnable.

Tasks are numbered in the order in which they were first runnable: 0, 1, 2, … The argument is in the
order in which the tasks were spawned, and empty if every task is blocked. If no task is returned,
the run loop checks deadlines and I/O before it calls the function again.
"""

_GENERATOR = "_r"
_FLAG = "_ALLOW_DETERMINISTIC_SCHEDULING"

TURNS_WITHOUT_IO = 64
"""Turns of a run without I/O of which one asks for some."""

DrawDeadlines: TypeAlias = Callable[[Any], None]
"""Takes trio's object for a run that has no deadline yet, and lets the seed order those to come."""

_STATUS = "CancelStatus"
_DEADLINES = "Deadlines"


class UnsupportedTrio(RuntimeError):
    """The installed trio lacks something that the hooks need; the text names it."""

    def __init__(self, missing: str) -> None:
        super().__init__(f"trio {trio.__version__} can't be scheduled from outside: {missing}")


@contextmanager
def drawn_cancellation(run_loop: ModuleType, seed: int) -> Generator[DrawDeadlines, None, None]:
    """Let ``seed`` order the cancellations of scopes that are entered inside the block.

    Args:
        run_loop: trio's module.
        seed: equal seeds give equal orders.

    Yields:
        What is to be called at the start of the run.

    Raises:
        UnsupportedTrio: trio lacks something that the hook needs.
    """
    rng = random.Random(f"cancellation of {seed}")
    original: Any = getattr(run_loop, _STATUS, None)
    if not {"_children", "_tasks"} <= {*_fields(original)}:
        raise UnsupportedTrio(f"{run_loop.__name__}.{_STATUS} has no sets of children and tasks")
    if "__attrs_post_init__" not in vars(original):
        raise UnsupportedTrio(f"{run_loop.__name__}.{_STATUS} calls nothing after its init")

    class DrawnOrder(dict[T, None]):
        """A set with the methods that trio calls."""

        __slots__ = ()

        def add(self, item: T) -> None:
            self[item] = None

        def remove(self, item: T) -> None:
            del self[item]

        def __iter__(self) -> Iterator[T]:
            if len(self) < 2:
                return super().__iter__()
            items = list(super().__iter__())
            rng.shuffle(items)
            return iter(items)

    class DrawnCancelStatus(original):  # type: ignore[misc]  # it has no type here
        """The tasks and the scopes within a scope."""

        def __attrs_post_init__(self) -> None:
            self._children: DrawnOrder[object] = DrawnOrder()
            self._tasks: DrawnOrder[object] = DrawnOrder()
            super().__attrs_post_init__()

    setattr(run_loop, _STATUS, DrawnCancelStatus)
    try:
        yield lambda runner: _draw_deadlines(runner, run_loop, rng)
    finally:
        setattr(run_loop, _STATUS, original)


def _draw_deadlines(runner: Any, run_loop: ModuleType, rng: random.Random) -> None:  # noqa: ANN401
    original: Any = getattr(run_loop, _DEADLINES, None)
    present: Any = getattr(runner, "deadlines", None)
    if _fields(original) != ["_heap", "_active"] or type(present) is not original or present._heap:
        raise UnsupportedTrio(f"{run_loop.__name__}.{_DEADLINES} is not an empty heap of scopes")
    numbers = count()

    class DrawnDeadlines(original):  # type: ignore[misc]  # it has no type here
        """The deadlines of the run."""

        def add(self, deadline: float, cancel_scope: object) -> None:
            # The number makes it unique: scopes can't be compared.
            drawn = (rng.random(), next(numbers))
            heappush(self._heap, (deadline, drawn, cancel_scope))
            self._active += 1

    runner.deadlines = DrawnDeadlines()


def _fields(attrs_class: object) -> list[str]:
    return [field.name for field in getattr(attrs_class, "__attrs_attrs__", ())]


class ControlledScheduler(random.Random):
    """The random generator of trio while `controlled_scheduler` is active.

    ``random()``, ``uniform()`` and the other methods are those of the seeded generator.

    Attributes:
        names: the tasks' names, at the index by which `Choose` identifies the task.
        error: the error that the choosing function raised; it ends the run.
    """

    def __init__(
        self,
        choose: Choose,
        seed: int,
        original: random.Random,
        draw_deadlines: DrawDeadlines = lambda _: None,
    ) -> None:
        super().__init__(seed)
        self._draw_deadlines = draw_deadlines
        self.names: list[str] = []
        self.error: BaseException | None = None
        self.turns = 0
        self._choose = choose
        self._original = original
        self._thread = threading.get_ident()
        # By trio's spawn counter, because references to ended tasks would keep them alive.
        self._indices: dict[int, int] = {}

    # Any: typeshed's signature of Random.shuffle; the actual argument is checked below.
    def shuffle(self, x: MutableSequence[Any]) -> None:
        """Arrange trio's batch, which the run loop pops from its end."""
        if threading.get_ident() != self._thread:
            self._original.shuffle(x)
            return
        try:
            self._arrange(x)
        except BaseException as error:
            # trio wraps errors of the run loop in TrioInternalError.
            self.error = error
            raise

    def index_of(self, task: trio.lowlevel.Task) -> int | None:
        """Return the index by which `Choose` identifies a task; None if it was never runnable."""
        return self._indices.get(task._counter)

    def _arrange(self, batch: MutableSequence[Any]) -> None:
        self.turns += 1
        if self.turns == 1:
            require_batch(batch)
            runner = batch[0]._runner
            self._draw_deadlines(runner)
            if hasattr(runner.io_manager, "_registered"):
                runner.io_manager = _RarelyAsking(runner.io_manager, runner.runq)
        indices = self._indices
        runnable = []
        for task in batch:
            index = indices.get(task._counter)
            if index is None:
                index = indices[task._counter] = len(indices)
                self.names.append(task.name)
            runnable.append(index)
        chosen = self._choose(runnable)
        if len(runnable) < 2 and chosen == runnable:
            return
        if len(chosen) == 1:
            # The strategies that pick one task do so in each turn.
            at = runnable.index(chosen[0])
            order = [batch[at]]
            held = [*batch[:at], *batch[at + 1 :]]
        else:
            by_index = dict(zip(runnable, batch, strict=True))
            order = [by_index.pop(index) for index in reversed(chosen)]
            held = list(by_index.values())
        if held:
            held[0]._runner.runq.extend(held)
        batch[:] = order


class _RarelyAsking:
    """The I/O of a run on Linux, macOS or BSD, which asks the system rarely if there is none."""

    def __init__(self, io_manager: Any, runnable: deque[trio.lowlevel.Task]) -> None:  # noqa: ANN401
        self._io_manager = io_manager
        self._runnable = runnable
        self._turns = 0

    def get_events(self, timeout: float) -> Any:  # noqa: ANN401  # trio passes it through
        self._turns += 1
        # One file is trio's own: threads and signals write to it.
        without_io = len(self._io_manager._registered) < 2
        if without_io and self._runnable and self._turns % TURNS_WITHOUT_IO:
            return ()
        return self._io_manager.get_events(timeout)

    def __getattr__(self, name: str) -> Any:  # noqa: ANN401
        return getattr(self._io_manager, name)


def require_module(module: ModuleType) -> None:
    """Check that trio's run loop module has the names that the hook replaces.

    Raises:
        UnsupportedTrio: a name is missing or of another type.
    """
    if not isinstance(getattr(module, _FLAG, None), bool):
        raise UnsupportedTrio(f"{module.__name__}.{_FLAG} is not a boolean")
    if not isinstance(getattr(module, _GENERATOR, None), random.Random):
        raise UnsupportedTrio(f"{module.__name__}.{_GENERATOR} is not a random.Random")


def require_batch(batch: object) -> None:
    """Check that trio passes to ``shuffle`` a list of tasks with the expected attributes.

    Raises:
        UnsupportedTrio: it does not; the text names the first difference.
    """
    if not isinstance(batch, list):
        raise UnsupportedTrio(f"the batch it shuffles is a {type(batch).__name__}, not a list")
    for task in batch:
        if not isinstance(task, trio.lowlevel.Task):
            raise UnsupportedTrio(f"the batch holds a {type(task).__name__}, not a Task")
        if not isinstance(getattr(task, "_counter", None), int):
            raise UnsupportedTrio("Task._counter, the order of spawning, is not an integer")
        if not isinstance(getattr(getattr(task, "_runner", None), "runq", None), deque):
            raise UnsupportedTrio("Task._runner.runq, the queue of runnable tasks, is not a deque")


def lift_shields() -> None:
    """Remove all shields, so that pending cancellations reach every task of the current run.

    trio has no public way from a task to its cancel scopes.

    Raises:
        UnsupportedTrio: trio has changed the private way.
    """
    try:
        for task in living_tasks():
            status: Any = task._cancel_status
            while status is not None:
                if status._scope.shield:
                    status._scope.shield = False
                status = status._parent
    except AttributeError as error:
        raise UnsupportedTrio(f"no way from a task to its cancel scopes: {error}") from None


def _discard_crashed_run() -> None:
    """Collect the unfinished tasks of a run that crashed, and suppress their warnings.

    Otherwise the warnings would be issued at some later time, during another test.
    """
    hook = sys.unraisablehook
    sys.unraisablehook = lambda _: None
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            gc.collect()
    finally:
        sys.unraisablehook = hook


@contextmanager
def controlled_scheduler(
    choose: Choose, *, seed: int = 0
) -> Generator[ControlledScheduler, None, None]:
    """Let ``choose`` decide which tasks step in the ``trio.run`` called inside the block.

    trio's own generator and flag are restored when the block ends. An error of ``choose`` crashes
    the run without unwinding its tasks, and is raised from the block instead of
    ``trio.TrioInternalError``.

    Args:
        choose: called once in each turn of the run loop.
        seed: the seed of the other random numbers that trio draws.

    Yields:
        The scheduler, for the tasks' names.

    Raises:
        UnsupportedTrio: trio lacks something that the hook needs, or never called it.
        RuntimeError: another run is being controlled, or the caller is inside a trio run.
    """
    if trio.lowlevel.in_trio_run():
        raise RuntimeError("a trio run can't be controlled from inside a trio run")
    run_loop = importlib.import_module("trio._core._run")
    require_module(run_loop)
    original: random.Random = getattr(run_loop, _GENERATOR)
    flag: bool = getattr(run_loop, _FLAG)
    if isinstance(original, ControlledScheduler):
        raise RuntimeError("another thread controls trio's scheduler; only one can at a time")
    with drawn_cancellation(run_loop, seed) as draw_deadlines:
        scheduler = ControlledScheduler(choose, seed, original, draw_deadlines)
        setattr(run_loop, _GENERATOR, scheduler)
        setattr(run_loop, _FLAG, True)
        try:
            yield scheduler
        except trio.TrioInternalError as crash:
            if scheduler.error is None:
                raise
            traceback.clear_frames(crash.__traceback__)
            traceback.clear_frames(scheduler.error.__traceback__)
        finally:
            setattr(run_loop, _GENERATOR, original)
            setattr(run_loop, _FLAG, flag)
    if scheduler.error is not None:
        _discard_crashed_run()
        raise scheduler.error
    if scheduler.turns == 0:
        raise UnsupportedTrio(f"it ran without calling {_GENERATOR}.shuffle")
