"""What a person sees of the conflicts of a merge: what each side changed, with the text around.

The text around a place is the rest of its lines, or the nearest line with text where the place
begins or ends with a line; and the heading above.
"""

from collections.abc import Sequence
from typing import NamedTuple

from octavo_rules.merge import MergeConflict

from octavo.features.history.rules.revision_diff import ChangedPiece, words
from octavo.model.links.blocks import leaves_of
from octavo.model.links.headings import title_of

MOST_SHOWN = 20
"""Conflicts that a person is shown."""
LONGEST_AROUND = 160
"""Characters of the text before a place, and of that after it."""
LONGEST_SIDE = 1_000
"""Characters of what one side made of a place, and of the base there."""
_CUT = "…"


class ConflictSide(NamedTuple):
    """What one side made of a place.

    Attributes:
        before: the text of the side that leads to the place.
        pieces: the changes of the side there.
        after: the text of the side that follows.
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
    found: list[ConflictView] = []
    following = 0
    for each in shown:
        while following < len(headings) and headings[following].end <= each.at_theirs:
            following += 1
        above = headings[following - 1] if following else None
        found.append(
            ConflictView(
                "" if above is None else _ended(title_of(theirs[above.start : above.end])),
                _side(mine, each.at_mine, each.base, each.mine),
                _side(theirs, each.at_theirs, each.base, each.theirs),
            )
        )
    return found


def _side(text: str, start: int, base: str, changed: str) -> ConflictSide:
    return ConflictSide(
        text_before(text, start), _pieces(base, changed), text_after(text, start + len(changed))
    )


def _pieces(base: str, changed: str) -> Sequence[ChangedPiece]:
    if max(len(base), len(changed)) <= LONGEST_SIDE:
        return words(base, changed)
    pieces = (ChangedPiece("removed", _shortened(base)), ChangedPiece("added", _shortened(changed)))
    return [each for each in pieces if each.text]


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
