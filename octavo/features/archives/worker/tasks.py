"""What worker processes do with archives: functions whose results are JSON.

The server imports this module, to name the functions. They import what they need when they are
called, so that the server never loads it.
"""

from typing import TYPE_CHECKING

from octavo.features.images.worker import tasks

if TYPE_CHECKING:
    from octavo.features.archives.worker.listing import CheckedSlice
    from octavo.features.archives.worker.survey import ArchiveLimits, SurveyResult

PRELOADED = (
    __name__,
    "octavo.features.archives.worker.survey",
    "octavo.features.archives.worker.note_check",
    "octavo.features.archives.worker.image_check",
    *tasks.PRELOADED,
)
"""The modules that a worker process imports when it starts."""
SECONDS_AT_ONCE = 2.0
"""Processor time after which a check lets the checks of other imports have their turn."""


def survey_archive(parts: list[str], folder: str, limits: "ArchiveLimits") -> "SurveyResult":
    """See `octavo.features.archives.worker.survey.survey`."""
    from octavo.features.archives.worker.survey import survey  # noqa: PLC0415

    return survey(parts, folder, limits)


def check_some_notes(parts: list[str], folder: str, begin: int, end: int) -> "CheckedSlice":
    """See `octavo.features.archives.worker.note_check.check_notes`."""
    from octavo.features.archives.worker.note_check import check_notes  # noqa: PLC0415

    return check_notes(parts, folder, begin, end, seconds=SECONDS_AT_ONCE)


def check_some_images(
    parts: list[str],
    folder: str,
    begin: int,
    end: int,
    removes_metadata: bool,
) -> "CheckedSlice":
    """See `octavo.features.archives.worker.image_check.check_images`."""
    from octavo.features.archives.worker.image_check import check_images  # noqa: PLC0415

    return check_images(
        parts,
        folder,
        begin,
        end,
        removes_metadata=removes_metadata,
        seconds=SECONDS_AT_ONCE,
    )
