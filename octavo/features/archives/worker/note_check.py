"""The second step of an import, for notes: check their texts, and write what is committed."""

import math
import re
from pathlib import Path

from octavo_rules.content import note_text
from octavo_rules.problems import InvalidContent

from octavo.features.archives.worker import listing
from octavo.features.archives.worker.checked_files import CheckedNote, note_record
from octavo.features.archives.worker.entry_reader import read_entry
from octavo.features.archives.worker.part_files import PartFiles
from octavo.features.archives.worker.path_table import LinkTargets, PathFile
from octavo.features.archives.worker.refusal import refused_entry
from octavo.model.links.link_rewrite import rewrite_links
from octavo.model.links.standard_links import standard_links
from octavo.model.refusal import UnrenderableNote
from octavo.render.front_matter import end_of_front_matter
from octavo.render.limits import check_renderable
from octavo.store.compression import compressed

# A destination that leads to an image has its ending, or a character of it is encoded.
_IMAGE = re.compile(r"\.(?:png|jpe?g|gif|webp)|[%&\\]", re.IGNORECASE)


def check_notes(
    parts: list[str], folder: str, begin: int, end: int, *, seconds: float = math.inf
) -> listing.CheckedSlice:
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
    place = listing.ImportFolder(folder)
    records = place.checked("notes", begin)
    with (
        PartFiles(parts) as source,
        PathFile(place.paths) as paths,
        open(records, "wb") as written,
    ):
        # Without targets, no link is changed.
        targets = LinkTargets(place, paths) if Path(place.targets).exists() else None
        reader = listing.SliceReader(place.notes, begin, end, seconds)
        for entry in reader:
            note = _checked(source, entry, targets)
            written.write(note_record(note))
    return records, reader.reached


def _checked(
    source: PartFiles, entry: listing.ListedEntry, targets: LinkTargets | None
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


def _relinked(text: str, entry: listing.ListedEntry, targets: LinkTargets) -> str:
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
