"""A server that lets months pass, and writes what it holds.

The signal USR1 moves its clock by `MONTHS`; USR2 appends a `Held` in JSON to the file ``held`` in
the working folder. Its jobs look for work every second, and what is idle ends soon.
"""

import _sqlite3
import ctypes
import gc
import json
import os
import signal
import sys
import threading
import time
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from types import FrameType
from typing import NamedTuple

import trio

from octavo.access import entropy

MONTHS = 500 * 86_400.0
"""Seconds: nothing that passes with time is kept for longer."""
HASTENED = {
    "octavo.actors.jobs.indexing.POLL_SECONDS": 0.3,
    "octavo.actors.jobs.housekeeping.PERIOD_SECONDS": 0.3,
    "octavo.actors.jobs.housekeeping.POLL_SECONDS": 0.3,
    "octavo.actors.workspace.actor.IDLE_SECONDS": 2.0,
    "octavo.service.components.UNUSED_SECONDS": 0.5,
    # Until then, trio-asyncio keeps the timers of statements.
    "octavo.store.postgres.store.WRITE_SECONDS": 5.0,
    "octavo.workers.pool.IDLE_SECONDS": 2.0,
}
"""What takes minutes and hours otherwise, in seconds."""


class Held(NamedTuple):
    """What a process holds.

    Attributes:
        malloc: bytes that the C library has given out, but to SQLite.
        sqlite: bytes that SQLite has, most of them pages.
        blocks: those that Python's allocator has given out.
        tasks: of trio.
        threads: of the process.
        descriptors: open ones.
        children: processes.
    """

    malloc: int
    sqlite: int
    blocks: int
    tasks: int
    threads: int
    descriptors: int
    children: int


class _Mallinfo(ctypes.Structure):
    _fields_ = [
        (name, ctypes.c_size_t)
        for name in (
            *("arena", "ordblks", "smblks", "hblks", "hblkhd"),
            *("usmblks", "fsmblks", "uordblks", "fordblks", "keepcost"),
        )
    ]


def held() -> Held:
    """Return what this process holds; called in the thread of trio."""
    gc.collect()
    library = ctypes.CDLL(None)
    library.mallinfo2.restype = _Mallinfo
    found = library.mallinfo2()
    root = trio.lowlevel.current_root_task()
    assert root is not None
    memory_used = ctypes.CDLL(_sqlite3.__file__).sqlite3_memory_used
    memory_used.restype = ctypes.c_int64
    of_sqlite: int = memory_used()
    return Held(
        found.uordblks + found.hblkhd - of_sqlite,
        of_sqlite,
        sys.getallocatedblocks(),
        sum(1 for _ in _tasks(root)),
        threading.active_count(),
        len(os.listdir("/proc/self/fd")),
        len(Path(f"/proc/self/task/{os.getpid()}/children").read_text().split()),
    )


def _tasks(task: trio.lowlevel.Task) -> Iterator[trio.lowlevel.Task]:
    yield task
    for nursery in task.child_nurseries:
        for child in nursery.child_tasks:
            yield from _tasks(child)


class Clock:
    """The clock of the service, ``moved`` by seconds."""

    def __init__(self) -> None:
        self.moved = 0.0

    def now(self) -> float:
        """Return Unix time in seconds."""
        return time.time() + self.moved

    def move(self, number: int, frame: FrameType | None) -> None:
        """Let months pass; a signal handler."""
        self.moved += MONTHS


def _write(number: int, frame: FrameType | None) -> None:
    with Path("held").open("a") as file:
        file.write(json.dumps(held()) + "\n")


if __name__ == "__main__":
    clock = Clock()
    # Before others import it.
    entropy.now = clock.now
    for place, seconds in HASTENED.items():
        module, _, name = place.rpartition(".")
        assert isinstance(getattr(import_module(module), name), float)
        setattr(import_module(module), name, seconds)
    # What was refused before the clock is moved is written before, too.
    given = import_module("octavo.access.audit").RefusedAttempts.__init__.__kwdefaults__
    assert given["interval"] > 1
    given["interval"] = 1.0
    signal.signal(signal.SIGUSR1, clock.move)
    signal.signal(signal.SIGUSR2, _write)
    sys.exit(import_module("octavo.cli").main())
