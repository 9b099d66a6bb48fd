"""What worker processes do with archives: functions whose results are JSON.

The server imports this module, to name the functions. They import what they need when they are
called, so that the server never loads it.
"""

import hashlib
import math
import os
import re
from typing import TYPE_CHECKING

from octavo_rules.content import note_text
from octavo_rules.identity import Digest
from octavo_rules.problems import InvalidContent

from octavo.features.archives.worker.checked_files import (
    CheckedImage,
    CheckedNote,
    image_record,
    note_record,
)
from octavo.features.archives.worker.entry_reader import pieces_of_entry, read_entry
from octavo.features.archives.worker.listing import (
    CheckedSlice,
    ImportFolder,
    ListedEntry,
    SliceReader,
)
from octavo.features.archives.worker.part_files import PartFiles
from octavo.features.archives.worker.path_table import LinkTargets, PathFile
from octavo.features.archives.worker.refusal import refused_entry
from octavo.features.images.worker import tasks
from octavo.features.images.worker.facts import InvalidImage
from octavo.model.files.image import check_image_path
from octavo.model.links.link_rewrite import rewrite_links
from octavo.model.links.standard_links import standard_links
from octavo.model.refusal import InvalidPath, UnrenderableNote
from octavo.render.front_matter import end_of_front_matter
from octavo.render.limits import check_renderable
from octavo.store.compression import compressed

# A destination that leads to an image has its ending, or a character of it is encoded.
_IMAGE = re.compile(r"\.(?:png|jpe?g|gif|webp)|[%&\\]", re.IGNORECASE)


def check_notes(
    parts: list[str], folder: str, begin: int, end: int, *, seconds: float = math.inf
) -> CheckedSlice:
    """Check the notes of a slice of the listing, and write their records to a file.

    It is for a worker process. A note is its bytes in the archive, except for its links
    (`octavo.model.links.standard_links`); front matter is not changed. In an export of Octavo only
    those links change that lead to files whose paths have hidden characters.

    Args:
        parts: the files that make the archive, in order.
        folder: the folder of the survey.
        begin: where the slice begins in the listing.
        end: where it ends.
        seconds: processor time after which the rest of the slice is left for another call.

    Raises:
        ArchiveInvalid: a note is damaged, is not UTF-8, or exceeds a limit.
        OSError: a file can't be read or written.
    """
    place = ImportFolder(folder)
    records = place.checked("notes", begin)
    with (
        PartFiles(parts) as source,
        PathFile(place.paths) as paths,
        open(records, "wb") as written,
    ):
        targets = LinkTargets.of_import(place, paths)
        reader = SliceReader(place.notes, begin, end, seconds)
        for entry in reader:
            note = _checked_note(source, entry, targets)
            written.write(note_record(note))
    return records, reader.reached


def _checked_note(
    source: PartFiles, entry: ListedEntry, targets: LinkTargets | None
) -> CheckedNote:
    try:
        text = read_entry(source, entry).decode()
    except UnicodeDecodeError as error:
        raise refused_entry(
            entry.path, f"It is not UTF-8: byte {error.start + 1:,} is not. Save it as UTF-8."
        ) from None
    try:
        # Before links are read: the limits bound the time that this takes.
        check_renderable(text)
        if targets is not None and _may_change(text, targets):
            changed = _relinked(text, entry, targets)
            if changed != text:
                check_renderable(changed)
            text = changed
        content = note_text(text)
    except (InvalidContent, UnrenderableNote) as error:
        raise refused_entry(entry.path, error.detail) from None
    return CheckedNote(entry.final, content.digest, content.size, compressed(text))


def _relinked(text: str, entry: ListedEntry, targets: LinkTargets) -> str:
    at, now_at = entry.path, entry.final
    moved, before, after = targets.moved, targets.before, targets.after
    if targets.rules["is_export"]:
        return rewrite_links(
            text, was_at=at, now_at=now_at, moved=moved, before=before, after=after
        )
    start = end_of_front_matter(text)
    return standard_links(
        text, at=at, now_at=now_at, start=start, moved=moved, before=before, after=after
    )


def _may_change(text: str, targets: LinkTargets) -> bool:
    """Return whether a link of a note may have to be written in another way."""
    if "[[" in text:
        return True
    if not targets.files_moved or ("](" not in text and "]:" not in text):
        return False
    return targets.rules["notes_moved"] or _IMAGE.search(text) is not None


def check_images(
    parts: list[str],
    folder: str,
    begin: int,
    end: int,
    *,
    removes_metadata: bool,
    seconds: float = math.inf,
) -> CheckedSlice:
    """Extract the images of a slice of the listing, and write their records to a file.

    It is for a worker process. The images are durable files in ``folder``.

    Args:
        parts: the files that make the archive, in order.
        folder: the folder of the survey.
        begin: where the slice begins in the listing.
        end: where it ends.
        removes_metadata: remove what identifies people and places from the images.
        seconds: processor time after which the rest of the slice is left for another call.

    Raises:
        ArchiveInvalid: an image is damaged, exceeds a limit, or is of another type than its name.
        OSError: a file can't be read or written.
    """
    place = ImportFolder(folder)
    records = place.checked("images", begin)
    with PartFiles(parts) as source, open(records, "wb") as written:
        reader = SliceReader(place.images, begin, end, seconds)
        for entry in reader:
            image = _checked(
                source, entry, place.image(entry.offset), removes_metadata=removes_metadata
            )
            written.write(image_record(image))
    return records, reader.reached


def _checked(
    source: PartFiles, entry: ListedEntry, file: str, *, removes_metadata: bool
) -> CheckedImage:
    digest = hashlib.sha256()
    with open(file, "wb") as image:
        for piece in pieces_of_entry(source, entry):
            digest.update(piece)
            image.write(piece)
        image.flush()
        os.fsync(image.fileno())
    try:
        if removes_metadata:
            facts = tasks.inspect_without_metadata(file, f"{file}.out")
        else:
            facts = tasks.inspect_file(file)
        check_image_path(entry.final, str(facts["media_type"]))
    except InvalidImage as error:
        raise refused_entry(entry.path, str(error)) from None
    except InvalidPath as error:
        raise refused_entry(entry.path, error.detail) from None
    checked = CheckedImage(
        entry.final,
        file,
        Digest(digest.hexdigest()),
        entry.crc,
        entry.size,
        str(facts["media_type"]),
        int(facts["width"]),
        int(facts["height"]),
        int(facts["frames"]),
    )
    if "digest" not in facts:
        return checked
    os.replace(f"{file}.out", file)
    return checked._replace(
        digest=Digest(str(facts["digest"])), crc=int(facts["crc"]), size=int(facts["size"])
    )


if TYPE_CHECKING:
    from octavo.features.archives.worker.listing import CheckedSlice
    from octavo.features.archives.worker.survey import ArchiveLimits, SurveyResult

PRELOADED = (
    __name__,
    "octavo.features.archives.worker.survey",
    "octavo.features.archives.worker.tasks",
    "octavo.features.archives.worker.tasks",
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
    """See `octavo.features.archives.worker.tasks.check_notes`."""
    from octavo.features.archives.worker.tasks import check_notes  # noqa: PLC0415

    return check_notes(parts, folder, begin, end, seconds=SECONDS_AT_ONCE)


def check_some_images(
    parts: list[str],
    folder: str,
    begin: int,
    end: int,
    removes_metadata: bool,
) -> "CheckedSlice":
    """See `octavo.features.archives.worker.tasks.check_images`."""
    from octavo.features.archives.worker.tasks import check_images  # noqa: PLC0415

    return check_images(
        parts,
        folder,
        begin,
        end,
        removes_metadata=removes_metadata,
        seconds=SECONDS_AT_ONCE,
    )
