"""Where the tasks of a trio run are blocked, for the report of a deadlock."""

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
"""The counters of trio's I/O backends; each backend has some of them."""


@dataclass(frozen=True, slots=True)
class BlockedTask:
    """A task and where it is blocked.

    Attributes:
        name: the task's name, as returned by `short_name`.
        place: ``file:line in function`` of the innermost frame outside trio.
        awaited: the trio function that this frame awaits; empty if there is none.
    """

    name: str
    place: str
    awaited: str

    def __str__(self) -> str:
        return f"{self.name} at {self.place}" + (f", in {self.awaited}" if self.awaited else "")


def blocked_tasks() -> list[BlockedTask]:
    """Describe every task of the current run except trio's own, in alphabetical order.

    May be called wherever the run is current: in a task, an instrument or the scheduler.
    """
    # trio stores the children of a nursery in a set; sorting makes reports repeatable.
    return sorted(
        (_describe(task) for task in living_tasks() if not task.name.startswith("<")), key=str
    )


def living_tasks() -> list[trio.lowlevel.Task]:
    """Return every task of the current run, parents first, siblings in any order."""
    root = trio.lowlevel.current_root_task()
    return [] if root is None else [root, *_descendants(root)]


def short_name(task_name: str) -> str:
    """Return a task's name without the function in which its own function is defined."""
    return task_name.rpartition("<locals>.")[2]


def waits_for_outside() -> bool:
    """Return whether something outside the run may still wake one of its tasks.

    That is I/O, a thread started by ``trio.to_thread``, or a callback not delivered yet. A thread
    that trio does not know of is not detected.
    """
    statistics = trio.lowlevel.current_statistics()
    io = statistics.io_statistics
    # One reader is trio's own: the task that receives the callbacks of other threads.
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
            # Lock.acquire is more informative than the mixin through which ``async with`` calls it.
            if not awaited and "Mixin" not in code.co_qualname:
                awaited = code.co_qualname
        elif not code.co_filename.startswith(_KIT) or place == "an unknown place":
            place, awaited = f"{_shortest(code.co_filename)}:{line} in {code.co_qualname}", ""
    return BlockedTask(short_name(task.name), place, awaited)


def _shortest(path: str) -> str:
    relative = os.path.relpath(path)
    return path if relative.startswith(os.pardir) else relative
