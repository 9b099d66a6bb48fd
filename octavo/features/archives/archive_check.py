"""Check every file of an archive in worker processes, before anything of it is committed."""

from collections.abc import Awaitable, Callable, Iterator
from dataclasses import dataclass
from functools import partial
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

import trio

from octavo.features.archives.worker import tasks
from octavo.features.archives.worker.listing import ImportFolder, SliceOfListing, entries_in
from octavo.features.archives.worker.refusal import (
    ArchiveInvalid,
    ArchiveTooLarge,
    ArchiveTooManyFiles,
)
from octavo.model.image_limits import MAX_BYTES
from octavo.render.limits import LIMITS
from octavo.workers import RunWork, WorkerFailed, WorkerPool, WorkRefused, WorkTooLarge

if TYPE_CHECKING:
    from octavo.features.archives.worker.survey import ArchiveLimits, SurveyResult

MAX_ENTRIES = 1_000_000
"""Maximum number of entries of an archive, with those that are left out."""
MAX_TOTAL = 64 * 1024**3
"""Maximum size of all notes and images of an archive together, in bytes."""
TURNS = 300
TURNS_PER_MEBIBYTE = 5
"""How often the check of an archive may be interrupted (`SECONDS_AT_ONCE`):
after ten minutes of processor time, and ten seconds for each MiB of it, nothing else is checked."""
MEBIBYTE = 1024 * 1024
MAX_MEMORY = 512 * MEBIBYTE
"""The address space of a worker process, in bytes."""
MAX_SECONDS = 300
"""Processor time of one task; a slice of notes takes a fraction of a second, one of images some."""
WAIT_SECONDS = 1800.0
"""Seconds after which a worker is given up. It runs at low priority; allow for a busy machine."""

_REFUSALS = {each.__name__: each for each in (ArchiveInvalid, ArchiveTooManyFiles, ArchiveTooLarge)}

T = TypeVar("T")


def archive_workers(folder: Path) -> WorkerPool:
    """Return the processes that work on archives in ``folder``."""
    return WorkerPool(
        seconds=WAIT_SECONDS,
        preloaded=tasks.PRELOADED,
        max_memory=MAX_MEMORY,
        max_seconds=MAX_SECONDS,
        folder=folder,
    )


@dataclass(slots=True)
class ArchiveWork:
    """How the tasks of imports are done (`octavo.features.archives.worker.tasks`).

    Attributes:
        run: runs a task.
        at_once: how many tasks of an import run at the same time.
        removes_metadata: remove what identifies people and places from images.
    """

    run: RunWork
    at_once: int
    removes_metadata: bool


@dataclass(frozen=True, slots=True)
class SurveyedArchive:
    """An archive whose files can be imported under their paths; their contents are not checked.

    Attributes:
        parts: the files that make the archive, in order.
        folder: the folder of its listings.
        found: what the survey found.
    """

    parts: list[str]
    folder: Path
    found: "SurveyResult"

    @property
    def size(self) -> int:
        """The bytes of the notes and images."""
        return self.found["size"]

    def paths(self) -> Iterator[str]:
        """Yield the paths that the files will have. It reads files: use it in a thread."""
        place = ImportFolder(str(self.folder))
        for listing, slices in (
            (place.images, self.found["image_slices"]),
            (place.notes, self.found["note_slices"]),
        ):
            for begin, end in slices:
                for entry in entries_in(listing, begin, end):
                    yield entry.final


@dataclass(frozen=True, slots=True)
class CheckedArchive:
    """An archive whose files can all be imported.

    Attributes:
        notes: the number of notes.
        images: the number of images.
        size: their bytes in total.
        left_out: the number of files that are left out, by their kind.
        cleaned: the number of files whose paths had hidden characters.
        note_records, image_records: files of records (`worker.checked_files`), in order.
    """

    notes: int
    images: int
    size: int
    left_out: dict[str, int]
    cleaned: int
    note_records: list[str]
    image_records: list[str]


async def read_directory(run: RunWork, parts: list[str], folder: Path) -> SurveyedArchive:
    """Read the directory of the archive in ``parts``, and list its files in the empty ``folder``.

    Raises `ArchiveInvalid`, `ArchiveTooManyFiles`, `ArchiveTooLarge`, and
    `octavo.workers.WorkerFailed`. If cancelled, the process at work is killed.
    """
    limits: ArchiveLimits = {
        "entries": MAX_ENTRIES,
        "total": MAX_TOTAL,
        "note": LIMITS["length"],
        "image": MAX_BYTES,
    }
    found = await _refusing(partial(run, tasks.survey_archive, parts, str(folder), limits))
    return SurveyedArchive(parts, folder, found)


async def check_archive(work: ArchiveWork, archive: SurveyedArchive) -> CheckedArchive:
    """Check every file of an archive, and write what is imported to its folder.

    Raises `ArchiveInvalid`, and `octavo.workers.WorkerFailed`. If cancelled, the processes at
    work are killed.
    """
    check = _Check(work, archive)
    await _refusing(check.run)
    found = archive.found
    return CheckedArchive(
        notes=found["notes"],
        images=found["images"],
        size=found["size"],
        left_out=found["left_out"],
        cleaned=found["cleaned"],
        note_records=check.notes.in_order(),
        image_records=check.images.in_order(),
    )


class _Records:
    """The files of records of one listing."""

    def __init__(self) -> None:
        self._files: dict[int, str] = {}

    def add(self, begin: int, file: str) -> None:
        """Add the file of what begins at a position of the listing."""
        self._files[begin] = file

    def in_order(self) -> list[str]:
        """Return the files in the order of the listing."""
        return [self._files[each] for each in sorted(self._files)]


_CheckSlice = Callable[[int, int], Awaitable[None]]


class _Check:
    """Checks the files of an archive, a few slices of its listings at a time.

    All imports share the processes. Each has at most as many slices there as there are processes,
    and one that takes long is checked in several turns, so that others get theirs in between.
    """

    def __init__(self, work: ArchiveWork, archive: SurveyedArchive) -> None:
        self.notes, self.images = _Records(), _Records()
        self._work = work
        self._parts = archive.parts
        self._folder = str(archive.folder)
        size = sum(Path(each).stat().st_size for each in archive.parts)
        self._turns = TURNS + TURNS_PER_MEBIBYTE * size // MEBIBYTE
        self._left: Iterator[tuple[_CheckSlice, SliceOfListing]] = chain(
            # They take longer.
            ((self._check_images, part) for part in archive.found["image_slices"]),
            ((self._check_notes, part) for part in archive.found["note_slices"]),
        )

    async def run(self) -> None:
        """Check all files."""
        async with trio.open_nursery() as nursery:
            for _ in range(self._work.at_once):
                nursery.start_soon(self._check_slices)

    async def _check_slices(self) -> None:
        for check, part in self._left:
            await check(*part)

    async def _check_notes(self, begin: int, end: int) -> None:
        while begin < end:
            file, reached = await self._work.run(
                tasks.check_some_notes, self._parts, self._folder, begin, end
            )
            self.notes.add(begin, file)
            begin = self._after_turn(reached, end)

    async def _check_images(self, begin: int, end: int) -> None:
        removes_metadata = self._work.removes_metadata
        while begin < end:
            file, reached = await self._work.run(
                tasks.check_some_images, self._parts, self._folder, begin, end, removes_metadata
            )
            self.images.add(begin, file)
            begin = self._after_turn(reached, end)

    def _after_turn(self, reached: int, end: int) -> int:
        """Return the position at which the next turn begins."""
        if reached < end:
            self._turns -= 1
            if self._turns < 0:
                raise ArchiveInvalid(
                    "Its files take too much time to check, compared with the size of the"
                    " archive: leave out large images, or import them one by one."
                )
        return reached


_REFUSING = (WorkRefused, WorkerFailed, ArchiveInvalid)


async def _refusing(check: Callable[[], Awaitable[T]]) -> T:
    """Return the result of ``check``; raise the first of its refusals or failures.

    It is raised alone, and in a group with what else was raised, such as a cancellation.
    """
    try:
        return await check()
    except _REFUSING as failed:
        raise _refusal_of(failed) from failed
    except BaseExceptionGroup as group:
        refusals, others = group.split(_REFUSING)
        if refusals is None:
            raise
        try:
            if others is None:
                raise _refusal_of(_first(refusals)) from group
            both = [_refusal_of(_first(refusals)), *others.exceptions]
            raise group.derive(both) from group
        finally:
            del refusals, others


def _first(group: BaseExceptionGroup[Exception]) -> Exception:
    found = group.exceptions[0]
    return _first(found) if isinstance(found, BaseExceptionGroup) else found


def _refusal_of(error: Exception) -> Exception:
    if isinstance(error, WorkRefused):
        kind = _REFUSALS.get(error.kind)
        # Another ValueError is a mistake of the check.
        return WorkerFailed(f"{error.kind}: {error}") if kind is None else kind(str(error))
    if isinstance(error, WorkTooLarge):
        return ArchiveInvalid(
            "A file of the archive takes too much time or memory to check: leave out large images,"
            " or import them one by one."
        )
    return error
