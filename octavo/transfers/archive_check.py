"""Check every file of an archive in worker processes, before anything of it is committed."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

import trio

from octavo.archives import refusal
from octavo.archives.listing import ImportFolder, SliceOfListing, entries_in
from octavo.archives.tasks import check_some_images, check_some_notes, survey_archive
from octavo.images.facts import MAX_BYTES
from octavo.model.files.archive import (
    ArchiveHasTooManyBytes,
    ArchiveHasTooManyFiles,
    ArchiveUnacceptable,
)
from octavo.model.refusal import DomainError
from octavo.render.limits import LIMITS
from octavo.transfers.archive_work import RunArchiveTask
from octavo.workers import WorkerFailed, WorkRefused, WorkTooLarge

if TYPE_CHECKING:
    from octavo.archives.survey import ArchiveLimits

MAX_ENTRIES = 1_000_000
"""Maximum number of entries of an archive, with those that are left out."""
MAX_TOTAL = 64 * 1024**3
"""Maximum size of all notes and images of an archive together, in bytes."""

_REFUSALS: dict[str, type[DomainError]] = {
    refusal.ArchiveInvalid.__name__: ArchiveUnacceptable,
    refusal.ArchiveTooManyFiles.__name__: ArchiveHasTooManyFiles,
    refusal.ArchiveTooLarge.__name__: ArchiveHasTooManyBytes,
}

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class CheckedArchive:
    """An archive whose files can all be imported.

    Attributes:
        notes: the number of notes.
        images: the number of images.
        size: their bytes in total.
        left_out: the number of files that are left out, by their kind.
        note_records, image_records: files of records (`octavo.archives.checked_files`), in order.
        listed: the slices of the listings, each with its file.
    """

    notes: int
    images: int
    size: int
    left_out: dict[str, int]
    note_records: list[str]
    image_records: list[str]
    listed: list[tuple[str, SliceOfListing]]

    def paths(self) -> list[str]:
        """Return the paths that the files will have. It reads files: call it in a thread."""
        return [
            entry.final
            for listing, (begin, end) in self.listed
            for entry in entries_in(listing, begin, end)
        ]


async def check_archive(run: RunArchiveTask, parts: list[str], folder: Path) -> CheckedArchive:
    """Check the archive in ``parts``, and write what is imported to the empty ``folder``.

    Raises `ArchiveUnacceptable`, `ArchiveHasTooManyFiles`, `ArchiveHasTooManyBytes`, and
    `octavo.workers.WorkerFailed`. If cancelled, the processes at work are killed.
    """
    limits: ArchiveLimits = {
        "entries": MAX_ENTRIES,
        "total": MAX_TOTAL,
        "note": LIMITS["length"],
        "image": MAX_BYTES,
    }
    found = await _refusing(partial(run, survey_archive, parts, str(folder), limits))
    place = ImportFolder(str(folder))
    note_records = [""] * len(found["note_slices"])
    image_records = [""] * len(found["image_slices"])

    async def check_notes(number: int, part: SliceOfListing) -> None:
        note_records[number] = await run(check_some_notes, parts, str(folder), *part)

    async def check_images(number: int, part: SliceOfListing) -> None:
        image_records[number] = await run(
            check_some_images, parts, str(folder), *part, run.removes_metadata
        )

    async def check_all() -> None:
        async with trio.open_nursery() as nursery:
            for number, part in enumerate(found["image_slices"]):
                nursery.start_soon(check_images, number, part)
            for number, part in enumerate(found["note_slices"]):
                nursery.start_soon(check_notes, number, part)

    await _refusing(check_all)
    return CheckedArchive(
        notes=found["notes"],
        images=found["images"],
        size=found["size"],
        left_out=found["left_out"],
        note_records=note_records,
        image_records=image_records,
        listed=[
            *((place.images, part) for part in found["image_slices"]),
            *((place.notes, part) for part in found["note_slices"]),
        ],
    )


async def _refusing(check: Callable[[], Awaitable[T]]) -> T:
    """Return the result of ``check``; raise the first of its refusals or failures alone."""
    try:
        return await check()
    except* (WorkRefused, WorkerFailed) as failed:
        raise _refusal_of(_first(failed)) from failed


def _first(group: BaseExceptionGroup[Exception]) -> Exception:
    found = group.exceptions[0]
    return _first(found) if isinstance(found, BaseExceptionGroup) else found


def _refusal_of(error: Exception) -> Exception:
    if isinstance(error, WorkRefused):
        kind = _REFUSALS.get(error.kind)
        # Another ValueError is a mistake of the check.
        return WorkerFailed(f"{error.kind}: {error}") if kind is None else kind(str(error))
    if isinstance(error, WorkTooLarge):
        return ArchiveUnacceptable(
            "A file of the archive takes too much time or memory to check: leave out large images,"
            " or import them one by one."
        )
    return error
