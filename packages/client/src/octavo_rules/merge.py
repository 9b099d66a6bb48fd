"""Three-way merge of texts."""

from collections import Counter, deque
from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import NamedTuple

from octavo_rules.difference import DiffRange, Unit, diff_ranges

_LINES: tuple[Unit, ...] = ("line",)
_WHOLE_WORDS: tuple[Unit, ...] = (*_LINES, "word")
_UNITS: tuple[Unit, ...] = (*_WHOLE_WORDS, "character")


class MergeConflict(NamedTuple):
    """A place of the base that both sides changed, and not alike, as `merge` finds it.

    Attributes:
        mine: what it is in one text, where it begins at ``at_mine``; likewise ``theirs``.
        base: what it was.
    """

    mine: str
    theirs: str
    base: str
    at_mine: int
    at_theirs: int


def merged(base: str, mine: str, theirs: str, *, exact: bool = False) -> str:
    """Return ``base`` with the changes of both sides.

    The changes are those of `diff_ranges`, to the character: what either side deleted is removed,
    and what either inserted appears once. Insertions at the same position are concatenated, theirs
    first, or appear once if they are equal. The texts don't reveal which of several equal
    characters was meant, nor that both sides inserted the same line among other changes: it appears
    twice. Lines of which less than half is unchanged count as replaced, unless ``exact``, so that a
    new line isn't torn apart where it resembles a line that the other side deleted. Where the texts
    exceed the comparison budget (`MAX_WORK`), the rest counts as replaced.
    """
    if mine == theirs:
        return mine
    find = _differences if exact else _edits
    by_me, by_them = find(base, mine, _UNITS), find(base, theirs, _UNITS)
    put_by_me = {edit.old_start: mine[edit.new_start : edit.new_end] for edit in by_me}
    put_by_them = {edit.old_start: theirs[edit.new_start : edit.new_end] for edit in by_them}
    taken: Counter[int] = Counter()
    for edit in (*by_me, *by_them):
        taken[edit.old_start] += 1
        taken[edit.old_end] -= 1
    pieces: list[str] = []
    takers = 0
    # The end occurs twice, for insertions at the end.
    for place, following in pairwise([*sorted({0, len(base), *taken}), len(base)]):
        first, second = put_by_them.get(place, ""), put_by_me.get(place, "")
        pieces += first, second if second != first else ""
        takers += taken[place]
        if not takers:
            pieces.append(base[place:following])
    return "".join(pieces)


class Merge(NamedTuple):
    """A merged text, and the places that a person has to look at."""

    text: str
    conflicts: list[MergeConflict]


def merge(base: str, mine: str, theirs: str) -> Merge:
    """Return ``base`` with the changes of both sides, by words, and where they contradict.

    Changes that overlap or touch are one place. Where only one side changed something, or both
    alike, that is taken. Where they contradict, the text has what both sides made of the place as
    it is, theirs first: no word is made of parts of two. What one side deleted and the other
    changed stays as the other has it. Lines of which less than half is unchanged count as replaced.
    """
    if mine == theirs:
        return Merge(mine, [])
    pieces: list[str] = []
    conflicts: list[MergeConflict] = []
    done = 0
    by_me, by_them = (_edits(base, side, _WHOLE_WORDS) for side in (mine, theirs))
    for start, end, of_me, of_them in _places(by_me, by_them):
        pieces.append(base[done:start])
        done = end
        at_mine, first = _changed(start, end, of_me, mine)
        at_theirs, second = _changed(start, end, of_them, theirs)
        if not of_me or not of_them or first == second:
            pieces.append(first if of_me else second)
        else:
            pieces.append(_both(first, second, is_lines=_is_lines(base, start, end)))
            conflicts.append(MergeConflict(first, second, base[start:end], at_mine, at_theirs))
    pieces.append(base[done:])
    return Merge("".join(pieces), conflicts)


def _both(mine: str, theirs: str, *, is_lines: bool) -> str:
    """Return both texts of a place, theirs first, with a space or a line end between them.

    Of a place that one side deleted, or all words of it, the text of the other is left.
    """
    if not mine.strip():
        return theirs or mine
    if not theirs.strip():
        return mine
    if theirs[-1] == " " == mine[0]:
        return theirs + mine[1:]
    apart = theirs[-1].isspace() or mine[0].isspace()
    return theirs + ("" if apart else "\n" if is_lines else " ") + mine


def _is_lines(text: str, start: int, end: int) -> bool:
    """Return whether a place is made of whole lines."""
    starts = not start or text[start - 1] == "\n"
    return starts and (end == len(text) or text[end - 1 : end] == "\n")


def _places(
    by_me: Sequence[DiffRange], by_them: Sequence[DiffRange]
) -> Iterator[tuple[int, int, list[DiffRange], list[DiffRange]]]:
    """Yield the start and the end of each place, with the edits of both sides there."""
    sides = (by_me, by_them)
    edits = sorted((edit, side) for side in (0, 1) for edit in sides[side])
    at = 0
    while at < len(edits):
        start, end = edits[at][0].old_start, edits[at][0].old_end
        following = at + 1
        while following < len(edits) and edits[following][0].old_start <= end:
            end = max(end, edits[following][0].old_end)
            following += 1
        of_me, of_them = ([edit for edit, of in edits[at:following] if of == n] for n in (0, 1))
        yield start, end, of_me, of_them
        at = following


def _changed(start: int, end: int, edits: Sequence[DiffRange], text: str) -> tuple[int, str]:
    """Return where a part of the base is in the text of one side with edits there, and its text.

    Without edits, both are empty: the side has the text of the base.
    """
    if not edits:
        return 0, ""
    first, last = edits[0], edits[-1]
    at = first.new_start - (first.old_start - start)
    return at, text[at : last.new_end + end - last.old_end]


def shared(first: str, second: str) -> str:
    """Return the lines and words common to both texts, in their common order."""
    pieces: list[str] = []
    done = 0
    for changed in _differences(first, second, _WHOLE_WORDS):
        pieces.append(first[done : changed.old_start])
        done = changed.old_end
    return "".join([*pieces, first[done:]])


def _differences(old: str, new: str, units: Sequence[Unit]) -> list[DiffRange]:
    return diff_ranges(old, new, DiffRange(0, len(old), 0, len(new)), units)


def _edits(old: str, new: str, units: Sequence[Unit]) -> list[DiffRange]:
    """Return the differences; lines of which less than half is unchanged are one difference."""
    ranges: list[DiffRange] = []
    fine = deque(_differences(old, new, units))
    for lines in _differences(old, new, _LINES):
        within: list[DiffRange] = []
        while fine and fine[0].old_end <= lines.old_end and fine[0].new_end <= lines.new_end:
            within.append(fine.popleft())
        ranges += within if 2 * sum(map(_size, within)) <= _size(lines) else [lines]
    return ranges


def _size(changed: DiffRange) -> int:
    return changed.old_end - changed.old_start + changed.new_end - changed.new_start
