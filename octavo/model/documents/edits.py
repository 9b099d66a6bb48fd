"""The edits that turn one text into another, as small as bounded time allows."""

from collections.abc import Iterable
from typing import NamedTuple

from octavo.model.difference import (
    Stretch,
    Unit,
    common_prefix,
    common_suffix,
    is_attached,
    stretches,
)

KEPT = 4
"""Characters that must be common to stay between two edits.

Fewer are replaced with what surrounds them: each edit becomes an item of its own in a document,
which takes more bytes than that, and so short a match is mostly chance.
"""
_FARTHEST = 16
"""Characters by which an edit grows at most, to take a letter along with its marks."""
_UNITS: tuple[Unit, ...] = ("line", "word", "character")
_SMALL = 1 << 10
"""Characters of one stretch by those of the other, up to which lines and words are no help."""


MOST_EDITS = 2_000
"""Of one write. A document finds the place of each by walking its items, so that the time for many
grows with their square; neighbours are joined beyond."""


class Edit(NamedTuple):
    """Take ``deleted`` bytes away at ``at``, and put ``inserted`` there.

    Attributes:
        at: offset in the UTF-8 of the old text, in bytes.
        deleted: bytes of UTF-8.
    """

    at: int
    deleted: int
    inserted: str


def edits_between(old: str, new: str) -> list[Edit]:
    """Return the edits that make ``new`` of ``old``, when applied from the last to the first.

    They are in order and never touch each other; equal texts have none. What both texts hold in
    the same order is left alone, so that a concurrent edit stays where it was made. No edit begins
    or ends within a character, nor between a letter and its combining marks, of which up to 16
    are looked at. Edits are larger than they could be where finding the smallest would take over
    a second, and where there would be more than `MOST_EDITS`.

    Raises UnicodeEncodeError for a text with a lone surrogate, which UTF-8 can't hold.
    """
    prefix = common_prefix(old, new)
    suffix = common_suffix(old, new, prefix)
    whole = Stretch(prefix, len(old) - suffix, prefix, len(new) - suffix)
    found = _stretches(old, new, whole)
    if not (old.isascii() and new.isascii()):
        found = _apart(_with_marks(old, new, found))
    found = _few(found)
    if old.isascii():
        return [Edit(each[0], each[1] - each[0], new[each[2] : each[3]]) for each in found]
    return _in_bytes(old, new, found)


def _stretches(old: str, new: str, whole: Stretch) -> list[Stretch]:
    before, after = whole.old_end - whole.old_start, whole.new_end - whole.new_start
    if before == after == 0:
        return []
    if min(before, after) < KEPT:
        # It begins and ends with what differs, so that too little stands between any two edits.
        return [whole]
    units = _UNITS if before * after > _SMALL else _UNITS[-1:]
    return _apart(stretches(old, new, whole, units))


def _few(found: list[Stretch]) -> list[Stretch]:
    """Join neighbours where there are more than `MOST_EDITS`."""
    together = -(-len(found) // MOST_EDITS)
    if together <= 1:
        return found
    groups = (found[at : at + together] for at in range(0, len(found), together))
    return [
        Stretch(each[0].old_start, each[-1].old_end, each[0].new_start, each[-1].new_end)
        for each in groups
    ]


def _apart(found: Iterable[Stretch]) -> list[Stretch]:
    """Join what fewer than `KEPT` characters stand between."""
    joined: list[Stretch] = []
    for each in found:
        if joined and each.old_start - joined[-1].old_end < KEPT:
            last = joined[-1]
            joined[-1] = Stretch(last.old_start, each.old_end, last.new_start, each.new_end)
        else:
            joined.append(each)
    return joined


def _with_marks(old: str, new: str, found: list[Stretch]) -> list[Stretch]:
    """Widen each stretch so that it neither begins nor ends before a mark."""
    widened: list[Stretch] = []
    done = 0
    for index, each in enumerate(found):
        old_start, old_end, new_start, new_end = each
        following = found[index + 1].old_start if index + 1 < len(found) else len(old)
        nearest = max(done, old_start - _FARTHEST)
        while old_start > nearest and (_marked(old, old_start) or _marked(new, new_start)):
            old_start, new_start = old_start - 1, new_start - 1
        farthest = min(following, old_end + _FARTHEST)
        while old_end < farthest and _marked(old, old_end):
            old_end, new_end = old_end + 1, new_end + 1
        widened.append(Stretch(old_start, old_end, new_start, new_end))
        done = old_end
    return widened


def _marked(text: str, at: int) -> bool:
    return at < len(text) and is_attached(text[at])


def _in_bytes(old: str, new: str, found: list[Stretch]) -> list[Edit]:
    edits: list[Edit] = []
    at = done = 0
    for old_start, old_end, new_start, new_end in found:
        at += len(old[done:old_start].encode())
        deleted = len(old[old_start:old_end].encode())
        edits.append(Edit(at, deleted, new[new_start:new_end]))
        at, done = at + deleted, old_end
    return edits
