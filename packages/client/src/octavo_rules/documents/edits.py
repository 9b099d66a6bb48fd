"""Minimal edits that turn one text into another, within bounded time."""

from collections.abc import Iterable
from typing import NamedTuple

from octavo_rules.difference import (
    DiffRange,
    Unit,
    common_prefix,
    common_suffix,
    diff_ranges,
    is_attached,
)

MIN_COMMON = 4
"""The number of common characters that is left unchanged between two edits.

A shorter match is replaced with its surroundings: each edit becomes an item of the document, which
takes more bytes, and such short matches are mostly accidental.
"""
_MAX_WIDENING = 16
"""Characters by which an edit is widened at most, to include a letter with its marks."""
_UNITS: tuple[Unit, ...] = ("line", "word", "character")
_SMALL = 1 << 10
"""Product of the lengths below which a range is compared by characters only."""


MAX_EDITS = 2_000
"""Edits of one write. A document locates each by walking its items, so the time is quadratic;
neighbouring edits are merged above this number."""


class Edit(NamedTuple):
    """Replace ``deleted`` bytes at ``at`` with ``inserted``.

    Attributes:
        at: offset in the UTF-8 of the old text, in bytes.
        deleted: bytes of UTF-8.
    """

    at: int
    deleted: int
    inserted: str


def edits_between(old: str, new: str) -> list[Edit]:
    """Return the edits that change ``old`` to ``new``, to be applied from the last to the first.

    They are in order and not adjacent; equal texts have none. Text common to both is left
    alone, so that concurrent edits keep their positions. No edit splits a character, nor a
    letter from its combining marks, up to 16 of them. Edits are not minimal where that would
    take over a second, and where there would be more than `MAX_EDITS`.

    Raises UnicodeEncodeError for a text with a lone surrogate, which has no UTF-8 encoding.
    """
    prefix = common_prefix(old, new)
    suffix = common_suffix(old, new, prefix)
    whole = DiffRange(prefix, len(old) - suffix, prefix, len(new) - suffix)
    ranges = _diff(old, new, whole)
    if not (old.isascii() and new.isascii()):
        ranges = _apart(_with_marks(old, new, ranges))
    ranges = _few(ranges)
    if old.isascii():
        return [Edit(at, end - at, new[start:stop]) for at, end, start, stop in ranges]
    return _in_bytes(old, new, ranges)


def _diff(old: str, new: str, whole: DiffRange) -> list[DiffRange]:
    before, after = whole.old_end - whole.old_start, whole.new_end - whole.new_start
    if before == after == 0:
        return []
    if min(before, after) < MIN_COMMON:
        # It starts and ends with a difference, so too little lies between any two edits.
        return [whole]
    units = _UNITS if before * after > _SMALL else _UNITS[-1:]
    return _apart(diff_ranges(old, new, whole, units))


def _few(ranges: list[DiffRange]) -> list[DiffRange]:
    """Merge neighbours if there are more than `MAX_EDITS`."""
    together = -(-len(ranges) // MAX_EDITS)
    if together <= 1:
        return ranges
    groups = (ranges[at : at + together] for at in range(0, len(ranges), together))
    return [
        DiffRange(group[0].old_start, group[-1].old_end, group[0].new_start, group[-1].new_end)
        for group in groups
    ]


def _apart(ranges: Iterable[DiffRange]) -> list[DiffRange]:
    """Merge ranges with fewer than `MIN_COMMON` characters between them."""
    joined: list[DiffRange] = []
    for changed in ranges:
        if joined and changed.old_start - joined[-1].old_end < MIN_COMMON:
            last = joined[-1]
            joined[-1] = DiffRange(last.old_start, changed.old_end, last.new_start, changed.new_end)
        else:
            joined.append(changed)
    return joined


def _with_marks(old: str, new: str, ranges: list[DiffRange]) -> list[DiffRange]:
    """Widen each range so that it neither starts nor ends before a mark."""
    widened: list[DiffRange] = []
    done = 0
    for index, changed in enumerate(ranges):
        old_start, old_end, new_start, new_end = changed
        following = ranges[index + 1].old_start if index + 1 < len(ranges) else len(old)
        nearest = max(done, old_start - _MAX_WIDENING)
        while old_start > nearest and (_marked(old, old_start) or _marked(new, new_start)):
            old_start, new_start = old_start - 1, new_start - 1
        farthest = min(following, old_end + _MAX_WIDENING)
        while old_end < farthest and _marked(old, old_end):
            old_end, new_end = old_end + 1, new_end + 1
        widened.append(DiffRange(old_start, old_end, new_start, new_end))
        done = old_end
    return widened


def _marked(text: str, at: int) -> bool:
    return at < len(text) and is_attached(text[at])


def _in_bytes(old: str, new: str, ranges: list[DiffRange]) -> list[Edit]:
    edits: list[Edit] = []
    at = done = 0
    for old_start, old_end, new_start, new_end in ranges:
        at += len(old[done:old_start].encode())
        deleted = len(old[old_start:old_end].encode())
        edits.append(Edit(at, deleted, new[new_start:new_end]))
        at, done = at + deleted, old_end
    return edits
