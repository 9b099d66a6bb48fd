"""What worker processes do with archives: functions whose results are JSON.

The server imports this module, to name the functions. They import what they need when they are
called, so that the server never loads it.
"""

import os
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, ParamSpec, Protocol, TypeVar

from octavo.images import tasks
from octavo.workers import WorkerPool

if TYPE_CHECKING:
    from octavo.archives.survey import ArchiveLimits, SurveyResult

MAX_MEMORY = 512 * 1024 * 1024
"""The address space of a worker process, in bytes."""
MAX_SECONDS = 300
"""Processor time of one task; a slice of notes takes a fraction of a second, one of images some."""
WAIT_SECONDS = 1800.0
"""Seconds after which a worker is given up: it has the time that everything else leaves."""
MOST_WORKERS = 4
PRELOADED = (
    __name__,
    "octavo.archives.survey",
    "octavo.archives.note_check",
    "octavo.archives.image_check",
    *tasks.PRELOADED,
)

P = ParamSpec("P")
T = TypeVar("T")


class RunTask(Protocol):
    """Runs a function in a worker process, such as `octavo.workers.WorkerPool.run`."""

    def __call__(
        self, function: Callable[P, T], *arguments: P.args, **named: P.kwargs
    ) -> Awaitable[T]:
        """Return the result of ``function``; raise as `octavo.workers.WorkerPool.run`."""


class RunArchiveTask(RunTask, Protocol):
    """Runs a function of this module, and knows the settings of imports."""

    @property
    def removes_metadata(self) -> bool:
        """Whether images are imported without personal metadata."""


class ArchiveWork:
    """Runs the tasks of imports. It is a `RunArchiveTask`.

    Args:
        run: runs a task.
        removes_metadata: remove what identifies people and places from images.
    """

    def __init__(self, run: RunTask, *, removes_metadata: bool) -> None:
        self._run = run
        self.removes_metadata = removes_metadata

    def __call__(
        self, function: Callable[P, T], *arguments: P.args, **named: P.kwargs
    ) -> Awaitable[T]:
        """Return the result of ``function``; raise as `octavo.workers.WorkerPool.run`."""
        return self._run(function, *arguments, **named)


def archive_workers() -> WorkerPool:
    """Return the processes that work on archives: one for each processor, and at most four."""
    size = max(1, min(os.cpu_count() or 1, MOST_WORKERS))
    return WorkerPool(
        size,
        seconds=WAIT_SECONDS,
        preloaded=PRELOADED,
        max_memory=MAX_MEMORY,
        max_seconds=MAX_SECONDS,
        ahead=False,
    )


def survey_archive(parts: list[str], folder: str, limits: "ArchiveLimits") -> "SurveyResult":
    """See `octavo.archives.survey.survey`."""
    from octavo.archives.survey import survey  # noqa: PLC0415

    return survey(parts, folder, limits)


def check_some_notes(parts: list[str], folder: str, begin: int, end: int) -> str:
    """See `octavo.archives.note_check.check_notes`."""
    from octavo.archives.note_check import check_notes  # noqa: PLC0415

    return check_notes(parts, folder, begin, end)


def check_some_images(
    parts: list[str],
    folder: str,
    begin: int,
    end: int,
    removes_metadata: bool,
) -> str:
    """See `octavo.archives.image_check.check_images`."""
    from octavo.archives.image_check import check_images  # noqa: PLC0415

    return check_images(parts, folder, begin, end, removes_metadata=removes_metadata)
