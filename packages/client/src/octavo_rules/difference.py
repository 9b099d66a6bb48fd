"""Differences between two texts, in lines, words or characters, in bounded time.

Each range of differing lines is compared again in finer units. Within a range, units that occur
exactly once on both sides are matched first, by their longest common order (patience diff); the
rest is compared exactly by the longest common subsequence, bit-parallel (Hyyrö 2004), in
n x m / 64 steps and n x m / 8 bytes. All comparisons share one budget. A range that exceeds the
budget is replaced as a whole: the result is coarser, and still correct.
"""

import re
from bisect import bisect_left
from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import accumulate, pairwise
from typing import Literal, NamedTuple

from rapidfuzz.distance import Indel, Postfix, Prefix

Unit = Literal["line", "word", "character"]

MAX_WORK = 1 << 28
"""Cells of comparison for one pair of texts, each about half a nanosecond."""
MAX_AT_ONCE = 1 << 26
"""Cells of one exact comparison, each one bit of memory: 8 MiB."""
_EXACT = 1 << 18
"""Cells below which an exact comparison is cheaper than a search for unique units."""

_SET_OUT = 128
"""Units added to the length of each side, for the fixed cost of a comparison."""
_STRETCH_WORK = 1 << 14
"""The minimum cost of comparing a range in finer units, in cells."""
_LINE_WORK = 512
_WORD_WORK = 384
"""The cost of splitting, in cells: for a line, and for each character split into words."""
_ROUNDS = 3

# A character of a script without spaces, each a unit.
_IDEOGRAPHS = (
    "\u1100-\u11ff\u2e80-\u2fdf\u3005-\u3007\u3021-\u3029\u3040-\u30ff\u3130-\u318f\u31a0-\u31ff"
    "\u3400-\u4dbf\u4e00-\u9fff\ua960-\ua97f\uac00-\ud7ff\uf900-\ufaff\uff66-\uff9f"
    "\U0001b000-\U0001b16f\U00020000-\U0003ffff"
)
# Characters that attach to the one before and that ``re`` doesn't class as letters: combining
# marks, vowel signs of Indic and other scripts, joiners, variation selectors, skin tones, tags.
_ATTACHED = (
    "\u0300-\u036f\u0483-\u0489\u0591-\u05c7\u0610-\u061a\u064b-\u065f\u0670\u06d6-\u06ed"
    "\u0711-\u074a\u07a6-\u07b0\u07eb-\u07f3\u0816-\u082d\u0859-\u085b\u08ca-\u0903\u093a-\u094f"
    "\u0951-\u0957\u0962-\u0963\u0981-\u0983\u09bc-\u09cd\u09d7\u0a01-\u0a03\u0a3c-\u0a51"
    "\u0a70-\u0a71\u0a81-\u0a83\u0abc-\u0acd\u0b01-\u0b03\u0b3c-\u0b57\u0b82\u0bbe-\u0bcd"
    "\u0c00-\u0c04\u0c3e-\u0c56\u0c81-\u0c83\u0cbc-\u0cd6\u0d00-\u0d03\u0d3e-\u0d4d\u0dca-\u0ddf"
    "\u0e31\u0e34-\u0e3a\u0e47-\u0e4e\u0eb1\u0eb4-\u0ece\u0f71-\u0f87\u102b-\u103e\u1056-\u1060"
    "\u135d-\u135f\u17b4-\u17d3\u1ab0-\u1aff\u1b00-\u1b04\u1b34-\u1b44\u1dc0-\u1dff\u200c-\u200d"
    "\u20d0-\u20ff\u302a-\u302f\u3099-\u309a\ufe00-\ufe0f\ufe20-\ufe2f"
    "\U0001f3fb-\U0001f3ff\U000e0020-\U000e007f\U000e0100-\U000e01ef"
)
# A byte of an address, or those of one character of UTF-8, and a character of HTML by its name or
# number. Names have at most 31 characters.
_ESCAPE = (
    "(?:%[c-fC-F][0-9a-fA-F](?:%[89abAB][0-9a-fA-F]){1,3}|%[0-9a-fA-F]{2}"
    "|&(?:[a-zA-Z][a-zA-Z0-9]{1,30}|#[0-9]{1,7}|#[xX][0-9a-fA-F]{1,6});)"
)
WORD_GRAMMAR = (
    f"[{_IDEOGRAPHS}][{_ATTACHED}]*"
    f"|(?:[^\\W{_IDEOGRAPHS}]|[{_ATTACHED}])+"
    "|\\r\\n|[\\r\\n]|[^\\S\\r\\n]+"
    f"|(?:{_ESCAPE}|[^\\w\\s])[{_ATTACHED}]*"
)
"""What `words_of` splits into, as a regular expression."""
# Units that begin in ASCII first, where what attaches to them is only looked for outside of it:
# the same units of English text in a third of the time.
_ABOVE_ASCII = "(?=[^\\x00-\\x7f])"
_WORD = re.compile(
    f"[0-9A-Za-z_]+(?:{_ABOVE_ASCII}(?:[^\\W{_IDEOGRAPHS}]|[{_ATTACHED}])+)?"
    "| [^\\S\\r\\n]*|\\n"
    f"|[!-$'-/:-@\\[-^`{{-~](?:{_ABOVE_ASCII}[{_ATTACHED}]*)?"
    f"|{WORD_GRAMMAR}"
)
_IS_ATTACHED = re.compile(f"[{_ATTACHED}]").match


class DiffRange(NamedTuple):
    """A replacement of ``old_start:old_end`` with ``new_start:new_end`` of the new text."""

    old_start: int
    old_end: int
    new_start: int
    new_end: int


class _Work:
    """The remaining budget of a comparison."""

    def __init__(self) -> None:
        self._left = MAX_WORK

    def take(self, cells: int) -> bool:
        if cells > self._left:
            return False
        self._left -= cells
        return True


def diff_ranges(old: str, new: str, within: DiffRange, units: Sequence[Unit]) -> list[DiffRange]:
    """Return the ranges within ``within`` where ``old`` and ``new`` differ, in order and disjoint.

    ``units`` go from coarse to fine. A range starts and ends between two units of the last as far
    as the budget suffices, and otherwise between coarser ones. Two texts of 8 MiB take about a
    second and 110 MiB in the worst case.
    """
    return list(_refined(old, new, within, units, _Work()))


def common_prefix(old: str, new: str) -> int:
    """Return the length of the common prefix, in characters."""
    return int(Prefix.similarity(old, new))


def common_suffix(old: str, new: str, prefix: int = 0) -> int:
    """Return the length of the common suffix after the first ``prefix`` characters of each."""
    return int(Postfix.similarity(old[prefix:], new[prefix:]))


def is_attached(character: str) -> bool:
    """Return whether a character attaches to the one before: a combining mark, joiner, selector."""
    return _IS_ATTACHED(character) is not None


def lines_of(text: str) -> list[str]:
    """Split after each line feed; a carriage return stays in its line."""
    lines = text.split("\n")
    last = lines.pop()
    cut = [f"{line}\n" for line in lines]
    if last:
        cut.append(last)
    return cut


def words_of(text: str) -> list[str]:
    """Split into words, runs of spaces, line ends, escapes, and single signs.

    An escape is one of an address, as ``%20``, or of HTML, as ``&amp;``. Each letter of Chinese,
    Japanese and Korean is a unit; marks stay with their letter.
    """
    return _WORD.findall(text)


def _refined(
    old: str, new: str, within: DiffRange, units: Sequence[Unit], work: _Work
) -> Iterator[DiffRange]:
    empty = within.old_start == within.old_end or within.new_start == within.new_end
    if not units or empty or not work.take(_STRETCH_WORK):
        if within.old_start < within.old_end or within.new_start < within.new_end:
            yield within
        return
    unit, finer = units[0], units[1:]
    before, after = old[within[0] : within[1]], new[within[2] : within[3]]
    if unit == "character":
        yield from _in_characters(before, after, within, work)
        return
    if not work.take(_cutting(before, unit) + _cutting(after, unit)):
        yield from _refined(old, new, within, finer, work)
        return
    cut = lines_of if unit == "line" else words_of
    old_units, new_units = cut(before), cut(after)
    for stretch in _in_text(_differences(old_units, new_units, work), old_units, new_units, within):
        yield from _refined(old, new, stretch, finer, work)


def _cutting(text: str, unit: Unit) -> int:
    return (text.count("\n") + 1) * _LINE_WORK if unit == "line" else len(text) * _WORD_WORK


def _in_characters(before: str, after: str, within: DiffRange, work: _Work) -> Iterator[DiffRange]:
    prefix = common_prefix(before, after)
    suffix = common_suffix(before, after, prefix)
    inner = DiffRange(prefix, len(before) - suffix, prefix, len(after) - suffix)
    for changed in _exactly(before, after, inner, work) or [inner]:
        yield DiffRange(
            within.old_start + changed.old_start,
            within.old_start + changed.old_end,
            within.new_start + changed.new_start,
            within.new_start + changed.new_end,
        )


def _in_text(
    ranges: list[DiffRange], old: list[str], new: list[str], within: DiffRange
) -> Iterator[DiffRange]:
    """Convert ranges of units to ranges of the text that starts at ``within``."""
    old_at = list(accumulate(map(len, old), initial=within.old_start))
    new_at = list(accumulate(map(len, new), initial=within.new_start))
    for old_start, old_end, new_start, new_end in ranges:
        yield DiffRange(old_at[old_start], old_at[old_end], new_at[new_start], new_at[new_end])


def _differences(old: list[str], new: list[str], work: _Work) -> list[DiffRange]:
    # Numbers instead of strings: ``Indel`` compares hashes, which may collide.
    numbers: dict[str, int] = {}
    before = [numbers.setdefault(unit, len(numbers)) for unit in old]
    after = [numbers.setdefault(unit, len(numbers)) for unit in new]
    whole = DiffRange(0, len(before), 0, len(after))
    return list(_between(before, after, whole, work, _ROUNDS))


def _between(
    old: list[int], new: list[int], within: DiffRange, work: _Work, rounds: int
) -> Iterator[DiffRange]:
    inner = _trimmed(old, new, within)
    if inner.old_start == inner.old_end or inner.new_start == inner.new_end:
        if inner.old_end - inner.old_start + inner.new_end - inner.new_start:
            yield inner
        return
    sizes = (inner.old_end - inner.old_start) * (inner.new_end - inner.new_start)
    anchors = _anchors(old, new, inner) if rounds and sizes > _EXACT else []
    if not anchors:
        exact = _exactly(old, new, inner, work)
        yield from [inner] if exact is None else exact
        return
    ends = [(inner.old_start - 1, inner.new_start - 1), *anchors, (inner.old_end, inner.new_end)]
    for (old_before, new_before), (old_at, new_at) in pairwise(ends):
        if old_at - old_before == new_at - new_before == 1:
            continue
        gap = DiffRange(old_before + 1, old_at, new_before + 1, new_at)
        if old_at - old_before == 1 or new_at - new_before == 1:
            yield gap
        else:
            yield from _between(old, new, gap, work, rounds - 1)


def _trimmed(old: list[int], new: list[int], within: DiffRange) -> DiffRange:
    old_start, old_end, new_start, new_end = within
    while old_start < old_end and new_start < new_end and old[old_start] == new[new_start]:
        old_start, new_start = old_start + 1, new_start + 1
    while old_start < old_end and new_start < new_end and old[old_end - 1] == new[new_end - 1]:
        old_end, new_end = old_end - 1, new_end - 1
    return DiffRange(old_start, old_end, new_start, new_end)


def _anchors(old: list[int], new: list[int], within: DiffRange) -> list[tuple[int, int]]:
    """Return the positions of units unique on both sides, in their longest common order."""
    before, after = old[within.old_start : within.old_end], new[within.new_start : within.new_end]
    once = {unit for unit, count in Counter(after).items() if count == 1}
    once &= {unit for unit, count in Counter(before).items() if count == 1}
    positions = {unit: at for at, unit in enumerate(after, within.new_start) if unit in once}
    pairs = [
        (at, positions[unit]) for at, unit in enumerate(before, within.old_start) if unit in once
    ]
    # The longest increasing subsequence: the last pair of the best chain of each length.
    lowest: list[int] = []
    last: list[int] = []
    previous: list[int] = []
    for index, (_, position) in enumerate(pairs):
        length = bisect_left(lowest, position)
        previous.append(last[length - 1] if length else -1)
        if length == len(lowest):
            lowest.append(position)
            last.append(index)
        else:
            lowest[length], last[length] = position, index
    chain: list[tuple[int, int]] = []
    index = last[-1] if last else -1
    while index >= 0:
        chain.append(pairs[index])
        index = previous[index]
    return chain[::-1]


def _exactly(
    old: Sequence[int] | str, new: Sequence[int] | str, within: DiffRange, work: _Work
) -> list[DiffRange] | None:
    """Compare by the longest common subsequence; return None if that exceeds the budget."""
    before, after = old[within.old_start : within.old_end], new[within.new_start : within.new_end]
    cells = (len(before) + _SET_OUT) * (len(after) + _SET_OUT)
    if cells > MAX_AT_ONCE or not work.take(cells):
        return None
    stretches: list[DiffRange] = []
    old_at, new_at = within.old_start, within.new_start
    for block in Indel.opcodes(before, after).as_matching_blocks():
        stretch = DiffRange(old_at, within.old_start + block.a, new_at, within.new_start + block.b)
        if stretch.old_end > old_at or stretch.new_end > new_at:
            stretches.append(stretch)
        old_at, new_at = stretch.old_end + block.size, stretch.new_end + block.size
    return stretches
