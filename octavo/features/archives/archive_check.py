"""Check every file of an archive in worker processes, before anything of it is committed."""

from collections.abc import Awaitable, Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

import trio

from octavo.features.archives.worker import refusal, tasks
from octavo.features.archives.worker.listing import ImportFolder, SliceOfListing, entries_in
from octavo.model.image_limits import MAX_BYTES
from octavo.render.limits import LIMITS
from octavo.workers import RunWork, WorkerFailed, WorkerPool, WorkRefused, WorkTooLarge

if TYPE_CHECKING:
    from octavo.features.archives.worker.listing import CheckedSlice
    from octavo.features.archives.worker.survey import ArchiveLimits, SurveyResult

MAX_ENTRIES = 1_000_000
"""Maximum number of entries of an archive, with those that are left out."""
MAX_TOTAL = 64 * 1024**3
"""Maximum size of all notes and images of an archive together, in bytes."""
TURNS = 300
TURNS_PER_MEBIBYTE = 5
"""Turns of `SECONDS_AT_ONCE` that the check of an archive may take: ten minutes of processor time,
and ten seconds for each MiB of the archive."""
MEBIBYTE = 1024 * 1024
MAX_MEMORY = 512 * MEBIBYTE
"""The address space of a worker process, in bytes."""
MAX_SECONDS = 300
"""Processor time of one task; a slice of notes takes a fraction of a second, one of images some."""
WAIT_SECONDS = 1800.0
"""Seconds after which a worker is given up. It runs at low priority; allow for a busy machine."""

_REFUSALS = {kind.__name__: kind for kind in refusal.ArchiveRefused.__subclasses__()}

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
    """The worker processes of imports, which run `octavo.features.archives.worker.tasks`.

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
        survey: what the directory says.
    """

    parts: list[str]
    folder: Path
    survey: "SurveyResult"

    @property
    def size(self) -> int:
        """The bytes of the notes and images."""
        return self.survey["size"]

    def paths(self) -> Iterator[str]:
        """Yield the paths that the files will have. It reads files: use it in a thread."""
        place = ImportFolder(str(self.folder))
        for listing, slices in (
            (place.images, self.survey["image_slices"]),
            (place.notes, self.survey["note_slices"]),
        ):
            for begin, end in slices:
                for entry in entries_in(listing, begin, end):
                    yield entry.final


@dataclass(frozen=True, slots=True)
class CheckedArchive:
    """An archive whose files can all be imported.

    Attributes:
        survey: what the directory says.
        note_records, image_records: files of records (`worker.checked_files`), in order.
    """

    survey: "SurveyResult"
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
    survey = await _refusing(partial(run, tasks.survey_archive, parts, str(folder), limits))
    return SurveyedArchive(parts, folder, survey)


async def check_archive(work: ArchiveWork, archive: SurveyedArchive) -> CheckedArchive:
    """Check every file of an archive, and write what is imported to its folder.

    Raises `ArchiveInvalid`, and `octavo.workers.WorkerFailed`. If cancelled, the processes at
    work are killed.
    """
    check = _Check(work, archive)
    await _refusing(check.run)
    return CheckedArchive(archive.survey, _in_order(check.notes), _in_order(check.images))


def _in_order(records: Mapping[int, str]) -> list[str]:
    return [records[begin] for begin in sorted(records)]


_CheckSlice = Callable[[int, int], Awaitable["CheckedSlice"]]


class _Check:
    """Checks the files of an archive, a few slices of its listings at a time.

    All imports share the worker processes. An import runs at most one slice per process at a time.
    A slice that takes long is checked in several turns, so that other imports get theirs in
    between.

    Attributes:
        notes: the files of records of notes, by the positions in the listing that they begin at.
        images: those of images.
    """

    def __init__(self, work: ArchiveWork, archive: SurveyedArchive) -> None:
        parts, folder = archive.parts, str(archive.folder)

        def check_images(begin: int, end: int) -> Awaitable["CheckedSlice"]:
            removes = work.removes_metadata
            return work.run(tasks.check_some_images, parts, folder, begin, end, removes)

        def check_notes(begin: int, end: int) -> Awaitable["CheckedSlice"]:
            return work.run(tasks.check_some_notes, parts, folder, begin, end)

        self.notes: dict[int, str] = {}
        self.images: dict[int, str] = {}
        self._at_once = work.at_once
        size = sum(Path(part).stat().st_size for part in parts)
        self._turns = TURNS + TURNS_PER_MEBIBYTE * size // MEBIBYTE
        self._left: Iterator[tuple[_CheckSlice, dict[int, str], SliceOfListing]] = chain(
            # Images first: they take longer.
            ((check_images, self.images, part) for part in archive.survey["image_slices"]),
            ((check_notes, self.notes, part) for part in archive.survey["note_slices"]),
        )

    async def run(self) -> None:
        """Check all files."""
        async with trio.open_nursery() as nursery:
            for _ in range(self._at_once):
                nursery.start_soon(self._check_slices)

    async def _check_slices(self) -> None:
        for check, records, part in self._left:
            begin, end = part
            while begin < end:
                records[begin], reached = await check(begin, end)
                if reached < end:
                    self._take_turn()
                begin = reached

    def _take_turn(self) -> None:
        self._turns -= 1
        if self._turns < 0:
            raise refusal.ArchiveInvalid(
                "Its files take too much time to check, compared with the size of the"
                " archive: leave out large images, or import them one by one."
            )


_REFUSING = (WorkRefused, WorkerFailed, refusal.ArchiveInvalid)


async def _refusing(check: Callable[[], Awaitable[T]]) -> T:
    """Return the result of ``check``; raise the first of its refusals or failures.

    It is raised alone, unless other exceptions, such as a cancellation, were raised with it: then
    all are raised as a group.
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
    first = group.exceptions[0]
    return _first(first) if isinstance(first, BaseExceptionGroup) else first


def _refusal_of(error: Exception) -> Exception:
    if isinstance(error, WorkRefused):
        kind = _REFUSALS.get(error.kind)
        # Another ValueError is a mistake of the check.
        return WorkerFailed(f"{error.kind}: {error}") if kind is None else kind(str(error))
    if isinstance(error, WorkTooLarge):
        return refusal.ArchiveInvalid(
            "A file of the archive takes too much time or memory to check: leave out large images,"
            " or import them one by one."
        )
    return error
