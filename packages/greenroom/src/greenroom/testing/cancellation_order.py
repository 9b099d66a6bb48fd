"""The private hook into trio's cancellation, which lets a seed choose its order.

trio keeps the tasks and the scopes within a cancel scope in sets, and orders scopes with equal
deadlines by their addresses. So it depends on the memory of the process which task's abort function
is called first. Most abort functions only wake their task. But one that also hands something to
another task, such as a place in a mailbox, makes the order observable, and a replay inexact.

`drawn_cancellation` replaces the sets by others, and the addresses by random numbers: any order is
possible, as without it, and equal seeds give equal orders. trio has no public way to do that
(https://github.com/python-trio/trio/issues/73).
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterator
from contextlib import contextmanager
from heapq import heappush
from itertools import count
from random import Random
from types import ModuleType
from typing import Any, TypeAlias, TypeVar

from greenroom.testing.unsupported_trio import UnsupportedTrio

T = TypeVar("T")

DrawDeadlines: TypeAlias = Callable[[Any], None]
"""Takes trio's object for a run that has no deadline yet, and lets the seed order those to come."""

_STATUS = "CancelStatus"
_DEADLINES = "Deadlines"


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
    random = Random(f"cancellation of {seed}")
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
            random.shuffle(items)
            return iter(items)

    class DrawnCancelStatus(original):  # type: ignore[misc]  # it has no type here
        """The tasks and the scopes within a scope."""

        def __attrs_post_init__(self) -> None:
            self._children: DrawnOrder[object] = DrawnOrder()
            self._tasks: DrawnOrder[object] = DrawnOrder()
            super().__attrs_post_init__()

    setattr(run_loop, _STATUS, DrawnCancelStatus)
    try:
        yield lambda runner: _draw_deadlines(runner, run_loop, random)
    finally:
        setattr(run_loop, _STATUS, original)


def _draw_deadlines(runner: Any, run_loop: ModuleType, random: Random) -> None:  # noqa: ANN401
    original: Any = getattr(run_loop, _DEADLINES, None)
    found: Any = getattr(runner, "deadlines", None)
    if _fields(original) != ["_heap", "_active"] or type(found) is not original or found._heap:
        raise UnsupportedTrio(f"{run_loop.__name__}.{_DEADLINES} is not an empty heap of scopes")
    numbers = count()

    class DrawnDeadlines(original):  # type: ignore[misc]  # it has no type here
        """The deadlines of the run."""

        def add(self, deadline: float, cancel_scope: object) -> None:
            # The number makes it unique: scopes can't be compared.
            drawn = (random.random(), next(numbers))
            heappush(self._heap, (deadline, drawn, cancel_scope))
            self._active += 1

    runner.deadlines = DrawnDeadlines()


def _fields(attrs_class: object) -> list[str]:
    return [each.name for each in getattr(attrs_class, "__attrs_attrs__", ())]
