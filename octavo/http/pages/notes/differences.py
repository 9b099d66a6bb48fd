"""Differences of texts as pages show them: of two revisions, and of both sides of a merge."""

from dataclasses import dataclass

from octavo.http.api.file_schemas import WorkspaceFile
from octavo.model.files.revision_diff import ChangedPiece, words
from octavo.model.merge import MergeConflict, conflicts, merged, shared

_LONGEST_SHOWN = 160
"""Characters of unchanged text that are shown around a change."""
_MOST_PIECES = 400
"""Changed pieces that are shown of one side."""


@dataclass(frozen=True, slots=True)
class Meanwhile:
    """What happened to a note while a person wrote, and the texts of both sides merged."""

    file: WorkspaceFile
    merged: str
    conflicts: list[MergeConflict]
    theirs: list[ChangedPiece]
    mine: list[ChangedPiece]


def meanwhile(file: WorkspaceFile, base: str | None, mine: str) -> Meanwhile:
    """Return what happened between ``base`` and a note, beside what somebody wrote.

    ``base`` is None if its text is not stored any more. Takes up to a tenth of a second.
    """
    theirs = file.text or ""
    if base is None:
        base = shared(mine, theirs)
    return Meanwhile(
        file,
        merged(base, mine, theirs),
        conflicts(base, mine, theirs),
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
