"""Differences of texts as pages show them: of two revisions, and of both sides of a merge."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

from octavo_rules.merge import MergeConflict, merge, shared
from octavo_rules.schemas import DiffHunk, DiffLine, WorkspaceFile

from octavo.features.history.rules.revision_diff import (
    ChangedLine,
    ChangedPiece,
    ended_alike,
    words,
)
from octavo.model.links.blocks import leaves_of
from octavo.model.links.headings import title_of

MOST_SHOWN = 20
"""Conflicts that a person is shown."""
LONGEST_AROUND = 160
"""Characters of the text before a place, and of that after it."""
LONGEST_SIDE = 1_000
"""Characters of one side of a conflict, and of its base."""
_CUT = "…"


class ConflictSide(NamedTuple):
    """One side of a conflict.

    Attributes:
        before: the text of this side before the place.
        pieces: the changes of this side there.
        after: the text of this side that follows.
    """

    before: str
    pieces: Sequence[ChangedPiece]
    after: str


class ConflictView(NamedTuple):
    """A place that both sides changed; ``heading`` is the title above it, or ''."""

    heading: str
    mine: ConflictSide
    theirs: ConflictSide


def conflict_views(
    mine: str, theirs: str, conflicts: Sequence[MergeConflict]
) -> list[ConflictView]:
    """Return the first `MOST_SHOWN` conflicts of a merge, each with enough text to find it.

    The headings are those of ``theirs``.
    """
    shown = conflicts[:MOST_SHOWN]
    headings = [leaf for leaf in leaves_of(theirs) if leaf.level] if shown else []
    views: list[ConflictView] = []
    following = 0
    for conflict in shown:
        while following < len(headings) and headings[following].end <= conflict.at_theirs:
            following += 1
        above = headings[following - 1] if following else None
        views.append(
            ConflictView(
                "" if above is None else _ended(title_of(theirs[above.start : above.end])),
                _side(mine, conflict.at_mine, conflict.base, conflict.mine),
                _side(theirs, conflict.at_theirs, conflict.base, conflict.theirs),
            )
        )
    return views


def _side(text: str, start: int, base: str, changed: str) -> ConflictSide:
    return ConflictSide(
        text_before(text, start), _pieces(base, changed), text_after(text, start + len(changed))
    )


def _pieces(base: str, changed: str) -> Sequence[ChangedPiece]:
    if max(len(base), len(changed)) <= LONGEST_SIDE:
        return words(base, changed)
    pieces = (ChangedPiece("removed", _shortened(base)), ChangedPiece("added", _shortened(changed)))
    return [piece for piece in pieces if piece.text]


def text_before(text: str, at: int) -> str:
    """Return the text before a place, from the start of the last line there that is not blank."""
    start = max(0, at - LONGEST_AROUND)
    near = text[start:at]
    content = near.rstrip()
    line = content.rfind("\n") + 1
    if not content:
        return ""
    return near[line:] if line or not start else f"{_CUT}{near}"


def text_after(text: str, at: int) -> str:
    """Return the text after a place, to the end of the first line there that is not blank."""
    near = text[at : at + LONGEST_AROUND]
    content = len(near) - len(near.lstrip())
    if content == len(near):
        return ""
    line = near.find("\n", content)
    if line >= 0:
        return near[:line]
    return near if at + LONGEST_AROUND >= len(text) else f"{near}{_CUT}"


def _shortened(text: str) -> str:
    if len(text) <= LONGEST_SIDE:
        return text
    half = LONGEST_SIDE // 2
    return f"{text[:half]} {_CUT} {text[-half:]}"


def _ended(title: str) -> str:
    return title if len(title) <= LONGEST_AROUND else f"{title[:LONGEST_AROUND]}{_CUT}"


_LONGEST_SHOWN = 160
"""Characters of unchanged text that are shown around a change."""
_LONGEST_COMPARED = 300_000
"""Characters of three texts whose differences are shown by words."""
MOST_LINES = 1_000
"""Lines of a difference that are shown."""
MOST_PIECES = 400
"""Pieces of a difference that are shown."""
LONGEST_CHANGE = 20_000
"""Characters that are shown of one line or piece."""
MOST_CHARACTERS = 200_000
"""Characters of a difference that are shown."""


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
    """Return what happened to a note since ``base``, while somebody wrote ``mine``.

    ``base`` is None if its text is not stored any more. Takes a tenth of a second for most notes,
    and a few seconds for the longest ones that differ in every line.
    """
    theirs = file.text or ""
    if base is None:
        base = shared(mine, theirs)
    merged = merge(base, mine, theirs)
    count = len(merged.conflicts)
    shown = conflict_views(mine, theirs, merged.conflicts)
    if len(base) + len(mine) + len(theirs) > _LONGEST_COMPARED:
        return Meanwhile(file, merged.text, count, shown, None, None)
    return Meanwhile(
        file,
        merged.text,
        count,
        shown,
        shortened(words(base, theirs))[0],
        shortened(words(base, mine))[0],
    )


def shortened(pieces: Sequence[ChangedPiece]) -> tuple[list[ChangedPiece], bool]:
    """Return the pieces of a difference that a page shows, and whether changes are left out.

    The middle of long unchanged pieces is left out, the end of long changed ones, and what exceeds
    `MOST_CHARACTERS`.
    """
    shown: list[ChangedPiece] = []
    left, is_cut = MOST_CHARACTERS, len(pieces) > MOST_PIECES
    for at, piece in enumerate(pieces[:MOST_PIECES]):
        text = piece.text
        if piece.kind == "equal" and len(text) > 2 * _LONGEST_SHOWN:
            start = "" if at == 0 else text[:_LONGEST_SHOWN]
            end = "" if at == len(pieces) - 1 else text[-_LONGEST_SHOWN:]
            text = f"{start} … {end}"
        text, is_short = _begin_of(text)
        is_cut = is_cut or is_short
        if len(text) > left:
            return shown, True
        left -= len(text)
        shown.append(piece._replace(text=text))
    return shown, is_cut


def _begin_of(text: str) -> tuple[str, bool]:
    """Return the part of a text that is shown, and whether it is cut."""
    if len(text) <= LONGEST_CHANGE:
        return text, False
    return f"{text[:LONGEST_CHANGE]} …\n", True


def without_line_ends(hunks: Sequence[DiffHunk]) -> list[DiffHunk]:
    """Return the hunks without changes of nothing but the line end of the last line."""
    remaining = []
    for hunk in hunks:
        before = [ChangedLine(line.kind, line.text) for line in hunk.lines]
        lines = tuple(DiffLine(kind=kind, text=text) for kind, text in ended_alike(before))
        if any(line.kind != "context" for line in lines):
            remaining.append(hunk.model_copy(update={"lines": lines}))
    return remaining


def cut(hunks: Sequence[DiffHunk]) -> tuple[list[DiffHunk], bool]:
    """Return the part of the hunks that is shown, and whether it is cut.

    The end of long lines is left out, and what exceeds `MOST_CHARACTERS`.
    """
    left, is_cut = MOST_CHARACTERS, False
    shown: list[DiffHunk] = []
    for hunk in hunks:
        lines: list[DiffLine] = []
        for line in hunk.lines:
            text, is_short = _begin_of(line.text)
            is_cut = is_cut or is_short
            if len(text) > left:
                return [*shown, hunk.model_copy(update={"lines": tuple(lines)})], True
            left -= len(text)
            lines.append(line.model_copy(update={"text": text}) if is_short else line)
        shown.append(hunk.model_copy(update={"lines": tuple(lines)}))
    return shown, is_cut
