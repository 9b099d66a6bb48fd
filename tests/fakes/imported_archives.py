"""Archives that are imported as far as that goes without a database."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from octavo.features.archives.worker.checked_files import (
    CheckedImage,
    checked_images,
    checked_notes,
)
from octavo.features.archives.worker.image_check import check_images
from octavo.features.archives.worker.note_check import check_notes
from octavo.features.archives.worker.survey import ArchiveLimits, SurveyResult
from octavo.store.compression import decompressed
from tests.fakes.zip_files import LIMITS, surveyed, written


@dataclass(frozen=True)
class Imported:
    """What would be committed: texts and images by path."""

    result: SurveyResult
    notes: dict[str, str]
    images: dict[str, CheckedImage]


def imported(
    folder: Path,
    data: bytes,
    *,
    parts: int = 1,
    limits: ArchiveLimits = LIMITS,
    removes_metadata: bool = False,
) -> Imported:
    """Survey an archive and check all of its files."""
    paths = written(folder / "parts", data, parts)
    place, result = surveyed(folder, paths, limits)
    notes = [check_notes(paths, place, *each)[0] for each in result["note_slices"]]
    images = [
        check_images(paths, place, *each, removes_metadata=removes_metadata)[0]
        for each in result["image_slices"]
    ]
    return Imported(
        result,
        {each.path: decompressed(each.stored, "file") for each in checked_notes(notes)},
        {each.path: each for each in checked_images(images)},
    )
