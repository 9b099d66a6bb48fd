"""Two texts that were made of one, brought together."""

from collections import Counter, deque
from collections.abc import Sequence
from itertools import pairwise

from octavo.model.difference import DiffRange, Unit, diff_ranges

_LINES: tuple[Unit, ...] = ("line",)
_WHOLE_WORDS: tuple[Unit, ...] = (*_LINES, "word")
_UNITS: tuple[Unit, ...] = (*_WHOLE_WORDS, "character")


def merged(base: str, mine: str, theirs: str, *, exact: bool = False) -> str:
    """Answer ``base`` with what both sides did to it.

    What they did is what `diff_ranges` finds, to the character: what one of them took away is gone,
    what one of them put in stands there once. What both put in at one place stands there one
    behind the other, theirs first, and once if it is the same. Two texts don't tell which of
    several equal characters was meant, nor that the same line was put in by both among other
    changes: it stands there twice. Lines of which less than half was kept count as replaced, so
    that a new line is not torn where it happens to be like the one that the other side took away;
    not if ``exact``. Where the texts differ too much to be compared to the end (`MOST_WORK`), the
    rest counts as put in anew.
    """
    if mine == theirs:
        return mine
    find = _differences if exact else _edits
    by_me, by_them = find(base, mine, _UNITS), find(base, theirs, _UNITS)
    put_by_me = {each.old_start: mine[each.new_start : each.new_end] for each in by_me}
    put_by_them = {each.old_start: theirs[each.new_start : each.new_end] for each in by_them}
    taken: Counter[int] = Counter()
    for each in (*by_me, *by_them):
        taken[each.old_start] += 1
        taken[each.old_end] -= 1
    pieces: list[str] = []
    takers = 0
    # The end stands there twice, for what is put in at the end.
    for place, following in pairwise([*sorted({0, len(base), *taken}), len(base)]):
        first, second = put_by_them.get(place, ""), put_by_me.get(place, "")
        pieces += first, second if second != first else ""
        takers += taken[place]
        if not takers:
            pieces.append(base[place:following])
    return "".join(pieces)


def shared(first: str, second: str) -> str:
    """Answer the lines and words that both texts hold, in the order that both hold them in."""
    pieces: list[str] = []
    done = 0
    for each in _differences(first, second, _WHOLE_WORDS):
        pieces.append(first[done : each.old_start])
        done = each.old_end
    return "".join([*pieces, first[done:]])


def _differences(old: str, new: str, units: Sequence[Unit]) -> list[DiffRange]:
    return diff_ranges(old, new, DiffRange(0, len(old), 0, len(new)), units)


def _edits(old: str, new: str, units: Sequence[Unit]) -> list[DiffRange]:
    """Answer the differences, where less than half of some lines was kept as one of all of them."""
    found: list[DiffRange] = []
    fine = deque(_differences(old, new, units))
    for lines in _differences(old, new, _LINES):
        within: list[DiffRange] = []
        while fine and fine[0].old_end <= lines.old_end and fine[0].new_end <= lines.new_end:
            within.append(fine.popleft())
        found += within if 2 * sum(map(_size, within)) <= _size(lines) else [lines]
    return found


def _size(stretch: DiffRange) -> int:
    return stretch.old_end - stretch.old_start + stretch.new_end - stretch.new_start
