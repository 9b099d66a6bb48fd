"""Where the tasks of a trio run wait, for a reader who wants to know why nothing moves."""

import os
from collections.abc import Iterator
from dataclasses import dataclass

import trio

_TRIO = os.path.dirname(trio.__file__) + os.sep
_KIT = os.path.dirname(__file__) + os.sep

_WAITING = (
    "tasks_waiting",
    "tasks_waiting_read",
    "tasks_waiting_write",
    "tasks_waiting_overlapped",
    "monitors",
    "completion_key_monitors",
)
"""What trio's I/O backends count; each has some of them."""


@dataclass(frozen=True, slots=True)
class BlockedTask:
    """A task and where it waits.

    Attributes:
        name: the task's name, as `short_name` gives it.
        place: ``file:line in function`` of the innermost frame outside of trio.
        awaited: the trio function that frame awaits, empty if it awaits none.
    """

    name: str
    place: str
    awaited: str

    def __str__(self) -> str:
        return f"{self.name} at {self.place}" + (f", in {self.awaited}" if self.awaited else "")


def blocked_tasks() -> list[BlockedTask]:
    """Describe every task of the current run but trio's own, in alphabetical order.

    Callable wherever the run is current: in a task, an instrument or the scheduler.
    """
    # Trio keeps the children of a nursery in a set; sorted, a report is the same in every run.
    return sorted(
        (_describe(task) for task in living_tasks() if not task.name.startswith("<")), key=str
    )


def living_tasks() -> list[trio.lowlevel.Task]:
    """Every task of the current run, parents first, siblings in any order."""
    root = trio.lowlevel.current_root_task()
    return [] if root is None else [root, *_descendants(root)]


def short_name(task_name: str) -> str:
    """A task's name without the function in which its own function is defined."""
    return task_name.rpartition("<locals>.")[2]


def waits_for_outside() -> bool:
    """Whether something outside of the run may still wake a task of it.

    That is I/O, a thread started by ``trio.to_thread``, or a callback on its way in. A thread that
    trio does not know of cannot be seen.
    """
    statistics = trio.lowlevel.current_statistics()
    io = statistics.io_statistics
    # One reader is trio's own: the task that takes in the callbacks of other threads.
    return (
        sum(getattr(io, name, 0) for name in _WAITING) > 1
        or statistics.run_sync_soon_queue_size > 0
        or trio.testing.active_thread_count() > 0
    )


def _descendants(task: trio.lowlevel.Task) -> Iterator[trio.lowlevel.Task]:
    for nursery in task.child_nurseries:
        for child in nursery.child_tasks:
            yield child
            yield from _descendants(child)


def _describe(task: trio.lowlevel.Task) -> BlockedTask:
    place, awaited = "an unknown place", ""
    for frame, line in task.iter_await_frames():
        code = frame.f_code
        if code.co_filename.startswith(_TRIO):
            # Lock.acquire tells more than the mixin through which ``async with`` gets there.
            if not awaited and "Mixin" not in code.co_qualname:
                awaited = code.co_qualname
        elif not code.co_filename.startswith(_KIT) or place == "an unknown place":
            place, awaited = f"{_shortest(code.co_filename)}:{line} in {code.co_qualname}", ""
    return BlockedTask(short_name(task.name), place, awaited)


def _shortest(path: str) -> str:
    relative = os.path.relpath(path)
    return path if relative.startswith(os.pardir) else relative
