"""Differences of texts as pages show them: of two revisions, and of both sides of a merge."""

from collections.abc import Sequence
from dataclasses import dataclass

from octavo.http.api.file_schemas import WorkspaceFile
from octavo.http.api.history import DiffHunkSchema, DiffLineSchema
from octavo.model.files.conflict_view import ConflictView, conflict_views
from octavo.model.files.revision_diff import ChangedLine, ChangedPiece, ended_alike, words
from octavo.model.merge import merge, shared

_LONGEST_SHOWN = 160
"""Characters of unchanged text that are shown around a change."""
_LONGEST_COMPARED = 300_000
"""Characters of three texts whose differences are shown by words."""
_MOST_LINES = 1_000
"""Lines of a difference that are shown."""
_MOST_PIECES = 400
"""Changed pieces that are shown of one side."""


@dataclass(frozen=True, slots=True)
class Meanwhile:
    """What happened to a note while a person wrote, and the texts of both sides merged.

    ``conflicts`` are the first of ``count``. What each side changed is None for long texts.
    """

    file: WorkspaceFile
    merged: str
    count: int
    conflicts: list[ConflictView]
    theirs: list[ChangedPiece] | None
    mine: list[ChangedPiece] | None


def meanwhile(file: WorkspaceFile, base: str | None, mine: str) -> Meanwhile:
    """Return what happened between ``base`` and a note, beside what somebody wrote.

    ``base`` is None if its text is not stored any more. Takes a tenth of a
    second for most notes, and a few seconds for the longest ones that differ in every line.
    """
    theirs = file.text or ""
    if base is None:
        base = shared(mine, theirs)
    found = merge(base, mine, theirs)
    count = len(found.conflicts)
    shown = conflict_views(mine, theirs, found.conflicts)
    if len(base) + len(mine) + len(theirs) > _LONGEST_COMPARED:
        return Meanwhile(file, found.text, count, shown, None, None)
    return Meanwhile(
        file,
        found.text,
        count,
        shown,
        shortened(words(base, theirs)),
        shortened(words(base, mine)),
    )


def shortened(pieces: list[ChangedPiece]) -> list[ChangedPiece]:
    """Return the pieces of a difference with the middle of long unchanged ones left out."""
    found: list[ChangedPiece] = []
    for at, each in enumerate(pieces[:_MOST_PIECES]):
        text = each.text
        if each.kind == "equal" and len(text) > 2 * _LONGEST_SHOWN:
            start = "" if at == 0 else text[:_LONGEST_SHOWN]
            end = "" if at == len(pieces) - 1 else text[-_LONGEST_SHOWN:]
            text = f"{start} … {end}"
        found.append(each._replace(text=text))
    return found


def without_line_ends(hunks: Sequence[DiffHunkSchema]) -> list[DiffHunkSchema]:
    """Return the hunks without the changes that only end the last line of a text, or don't."""
    found = []
    for each in hunks:
        given = [ChangedLine(line.kind, line.text) for line in each.lines]
        lines = [DiffLineSchema(kind=kind, text=text) for kind, text in ended_alike(given)]
        if any(line.kind != "context" for line in lines):
            found.append(each.model_copy(update={"lines": lines}))
    return found


def cut(hunks: Sequence[DiffHunkSchema]) -> tuple[list[DiffHunkSchema], bool]:
    """Return the first hunks, as far as a page shows them, and whether that is not all."""
    left = _MOST_LINES
    found: list[DiffHunkSchema] = []
    for each in hunks:
        if len(each.lines) > left:
            lines = each.lines[:left]
            found += [each.model_copy(update={"lines": lines})] if lines else []
            return found, True
        found.append(each)
        left -= len(each.lines)
    return found, False
