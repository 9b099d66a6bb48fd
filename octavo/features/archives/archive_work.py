"""The worker processes that run the tasks of imports (`octavo.features.archives.worker.tasks`)."""

import os
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import ParamSpec, Protocol, TypeVar

from octavo.features.archives.worker import tasks
from octavo.workers import WorkerPool

MAX_MEMORY = 512 * 1024 * 1024
"""The address space of a worker process, in bytes."""
MAX_SECONDS = 300
"""Processor time of one task; a slice of notes takes a fraction of a second, one of images some."""
WAIT_SECONDS = 1800.0
"""Seconds after which a worker is given up. It runs at low priority; allow for a busy machine."""
MOST_WORKERS = 4

P = ParamSpec("P")
T = TypeVar("T")


class RunTask(Protocol):
    """Runs a function in a worker process, such as `octavo.workers.WorkerPool.run`."""

    def __call__(
        self, function: Callable[P, T], *arguments: P.args, **named: P.kwargs
    ) -> Awaitable[T]:
        """Return the result of ``function``; raise as `octavo.workers.WorkerPool.run`."""


class RunArchiveTask(RunTask, Protocol):
    """Runs a task of imports, and knows their settings.

    Attributes:
        at_once: how many tasks run at the same time.
        removes_metadata: whether images are imported without personal metadata.
    """

    at_once: int
    removes_metadata: bool


class ArchiveWork:
    """Runs the tasks of imports. It is a `RunArchiveTask`.

    Args:
        run: runs a task.
        at_once: how many tasks run at the same time.
        removes_metadata: remove what identifies people and places from images.
    """

    def __init__(self, run: RunTask, *, at_once: int, removes_metadata: bool) -> None:
        self._run = run
        self.at_once = at_once
        self.removes_metadata = removes_metadata

    def __call__(
        self, function: Callable[P, T], *arguments: P.args, **named: P.kwargs
    ) -> Awaitable[T]:
        """Return the result of ``function``; raise as `octavo.workers.WorkerPool.run`."""
        return self._run(function, *arguments, **named)


def archive_workers(folder: Path) -> WorkerPool:
    """Return the processes for archives in ``folder``: one a processor, and at most four."""
    return WorkerPool(
        max(1, min(os.cpu_count() or 1, MOST_WORKERS)),
        seconds=WAIT_SECONDS,
        preloaded=tasks.PRELOADED,
        max_memory=MAX_MEMORY,
        max_seconds=MAX_SECONDS,
        folder=folder,
        ahead=False,
    )
