"""The changes of one revision, for people: a unified diff of lines, or a diff of words."""

from collections.abc import Iterator, Sequence
from itertools import groupby
from typing import Literal, NamedTuple

from octavo_rules.difference import DiffRange, common_prefix, common_suffix, diff_ranges, lines_of

MAX_LINES = 1 << 16
"""Lines of one removal or addition that are listed separately; each takes about 120 bytes."""

_MARKS = {"context": " ", "removed": "-", "added": "+"}
_NO_NEWLINE = "\n\\ No newline at end of file\n"
_ESCAPES = {"\a": "a", "\b": "b", "\t": "t", "\n": "n", "\v": "v", "\f": "f", "\r": "r"}


class ChangedLine(NamedTuple):
    """A line of a text, including its line feed if it has one."""

    kind: Literal["context", "added", "removed"]
    text: str


class ChangedHunk(NamedTuple):
    """A range of changed lines with their context.

    Attributes:
        old_start: its first line in the old text, counted from 1, or the line before it if it
            has no line there. ``new_start`` likewise.
        old_lines: the number of its lines in the old text; ``new_lines`` likewise.
        lines: its lines in order, removals before the additions that replace them.
    """

    old_start: int
    old_lines: int
    new_start: int
    new_lines: int
    lines: tuple[ChangedLine, ...]


class ChangedPiece(NamedTuple):
    """A piece of text that both texts have, or only one."""

    kind: Literal["equal", "added", "removed"]
    text: str


class ShownHunks(NamedTuple):
    """The first hunks of a difference; ``cut`` says whether there is more."""

    hunks: list[ChangedHunk]
    cut: bool


def first_hunks(old: str, new: str, most: int, *, context: int = 3) -> ShownHunks:
    """Return the hunks of `unified` with ``most`` lines in all; the last one may be cut.

    A change that is cut shows as many removed as added lines, as far as there are.
    """
    hunks: list[ChangedHunk] = []
    for hunk in _hunks(old, new, context):
        if not most:
            return ShownHunks(hunks, cut=True)
        hunks.append(hunk._replace(lines=_first_lines(hunk.lines, most)))
        if len(hunk.lines) > most:
            return ShownHunks(hunks, cut=True)
        most -= len(hunk.lines)
    return ShownHunks(hunks, cut=False)


def _first_lines(lines: tuple[ChangedLine, ...], most: int) -> tuple[ChangedLine, ...]:
    """Return the first ``most`` lines of a hunk, with both sides of a change."""
    first: list[ChangedLine] = []
    for is_context, group in groupby(lines, key=lambda line: line.kind == "context"):
        run, left = [*group], most - len(first)
        if is_context or len(run) <= left:
            first += run[:left]
            continue
        removed = [line for line in run if line.kind == "removed"]
        added = [line for line in run if line.kind == "added"]
        half = max(left // 2, left - len(added))
        first += removed[:half]
        first += added[: most - len(first)]
    return tuple(first)


def unified(old: str, new: str, *, context: int = 3) -> list[ChangedHunk]:
    """Return the changes from ``old`` to ``new`` by lines, in order.

    A line ends with a line feed; a carriage return is an ordinary character of it. ``context``
    is the number of unchanged lines around each change. Equal texts have no hunk.

    Texts that exceed the comparison budget (`octavo_rules.difference`) have one hunk for
    everything that differs. A removal or addition of more than `MAX_LINES` lines is a single
    `ChangedLine` that contains line feeds.
    """
    return list(_hunks(old, new, context))


def _hunks(old: str, new: str, context: int) -> Iterator[ChangedHunk]:
    groups: list[list[DiffRange]] = []
    for change in diff_ranges(old, new, _lines_apart(old, new), ("line",)):
        if groups and old.count("\n", groups[-1][-1].old_end, change.old_start) <= 2 * context:
            groups[-1].append(change)
        else:
            groups.append([change])
    old_done = new_done = old_before = new_before = 0
    for group in groups:
        lines, within = _shown(old, new, group, context)
        old_before += old.count("\n", old_done, within.old_start)
        new_before += new.count("\n", new_done, within.new_start)
        old_done, new_done = within.old_start, within.new_start
        old_lines = _count(old[within.old_start : within.old_end])
        new_lines = _count(new[within.new_start : within.new_end])
        old_start, new_start = old_before + (old_lines > 0), new_before + (new_lines > 0)
        yield ChangedHunk(old_start, old_lines, new_start, new_lines, tuple(lines))


def ended_alike(lines: Sequence[ChangedLine]) -> list[ChangedLine]:
    """Return the lines of a hunk; one that only gained or lost its line feed is unchanged.

    It keeps the line feed that it has in one of the texts. Forms send a text as it was typed,
    devices mostly end it with a line feed: otherwise the line before an added one would be shown
    as removed and added again.
    """
    shown: list[ChangedLine] = []
    for is_context, group in groupby(lines, key=lambda line: line.kind == "context"):
        run = list(group)
        shown += run if is_context else _ended_alike(run)
    return shown


def _ended_alike(run: Sequence[ChangedLine]) -> list[ChangedLine]:
    """Return lines that were removed and those that replace them, as `ended_alike` does."""
    removed = [line for line in run if line.kind == "removed"]
    added = [line for line in run if line.kind == "added"]
    at = to = None
    # Only the last line of a text can be without an end.
    if removed and not removed[-1].text.endswith("\n"):
        at, to = len(removed) - 1, _place_of(f"{removed[-1].text}\n", added)
    if to is None and added and not added[-1].text.endswith("\n"):
        at, to = _place_of(f"{added[-1].text}\n", removed), len(added) - 1
    if at is None or to is None:
        return list(run)
    same = ChangedLine("context", max(removed[at].text, added[to].text))
    return [*removed[:at], *added[:to], same, *removed[at + 1 :], *added[to + 1 :]]


def _place_of(text: str, lines: Sequence[ChangedLine]) -> int | None:
    return next((at for at, line in enumerate(lines) if line.text == text), None)


def unified_text(hunks: list[ChangedHunk], old_name: str, new_name: str) -> str:
    """Return the hunks as a unified diff for ``patch``; empty without hunks.

    File names with special characters are quoted as in GNU diff.
    """
    if not hunks:
        return ""
    parts = [f"--- {_name(old_name)}\n+++ {_name(new_name)}\n"]
    for hunk in hunks:
        old = _range(hunk.old_start, hunk.old_lines)
        new = _range(hunk.new_start, hunk.new_lines)
        parts.append(f"@@ -{old} +{new} @@\n")
        for kind, text in hunk.lines:
            mark, ended = _MARKS[kind], text.endswith("\n")
            parts.append(mark + text[: len(text) - ended].replace("\n", f"\n{mark}"))
            parts.append("\n" if ended else _NO_NEWLINE)
    return "".join(parts)


def words(old: str, new: str) -> list[ChangedPiece]:
    """Return both texts as one sequence of common, removed and added pieces.

    The equal and added pieces make up ``new``, the equal and removed ones ``old``. Pieces end
    between words, runs of spaces, line ends, escapes like ``%20`` or ``&amp;``, and single signs;
    each letter of Chinese, Japanese and Korean is a word. Neighbours differ in kind, and removals
    precede the additions that replace them. Texts that exceed the comparison budget
    (`octavo_rules.difference`) are split between lines only, or at the first and last difference.
    """
    pieces: list[ChangedPiece] = []
    done = 0
    for change in _readable(old, diff_ranges(old, new, _lines_apart(old, new), ("line", "word"))):
        pieces += (
            ChangedPiece("equal", old[done : change.old_start]),
            ChangedPiece("removed", old[change.old_start : change.old_end]),
            ChangedPiece("added", new[change.new_start : change.new_end]),
        )
        done = change.old_end
    pieces.append(ChangedPiece("equal", old[done:]))
    return [piece for piece in pieces if piece.text]


def _lines_apart(old: str, new: str) -> DiffRange:
    """Return the range from the first to the last line that differs."""
    start = common_prefix(old, new)
    start = old.rfind("\n", 0, start) + 1
    suffix = common_suffix(old, new, start)
    # The common suffix starts after a line feed; one right before it counts, too.
    if suffix > 0 and not _at_line(old, suffix) & _at_line(new, suffix):
        end = old.find("\n", len(old) - suffix)
        suffix = 0 if end < 0 else len(old) - end - 1
    return DiffRange(start, len(old) - suffix, start, len(new) - suffix)


def _at_line(text: str, suffix: int) -> bool:
    return suffix == len(text) or text[len(text) - suffix - 1] == "\n"


def _shown(
    old: str, new: str, group: list[DiffRange], context: int
) -> tuple[list[ChangedLine], DiffRange]:
    """Return the lines of a hunk, and its range in both texts."""
    start, end = group[0].old_start, group[-1].old_end
    for _ in range(context):
        start = old.rfind("\n", 0, max(0, start - 1)) + 1
        end = old.find("\n", end) + 1 or len(old)
    lines: list[ChangedLine] = []
    done = start
    for change in group:
        lines += (ChangedLine("context", text) for text in lines_of(old[done : change.old_start]))
        lines += (
            ChangedLine("removed", text) for text in _cut(old[change.old_start : change.old_end])
        )
        lines += (
            ChangedLine("added", text) for text in _cut(new[change.new_start : change.new_end])
        )
        done = change.old_end
    lines += (ChangedLine("context", text) for text in lines_of(old[done:end]))
    new_start = group[0].new_start - (group[0].old_start - start)
    return lines, DiffRange(start, end, new_start, group[-1].new_end + end - done)


def _cut(text: str) -> list[str]:
    return lines_of(text) if text.count("\n") <= MAX_LINES else [text]


def _count(text: str) -> int:
    return text.count("\n") + (text != "" and not text.endswith("\n"))


def _range(start: int, lines: int) -> str:
    return f"{start}" if lines == 1 else f"{start},{lines}"


def _name(name: str) -> str:
    if any(character < " " or character in '"\\\x7f' for character in name):
        return '"' + "".join(map(_escaped, name)) + '"'
    # A tab ends a name that contains spaces.
    return f"{name}\t" if " " in name else name


def _escaped(character: str) -> str:
    if character in '"\\':
        return f"\\{character}"
    if character in _ESCAPES:
        return f"\\{_ESCAPES[character]}"
    return f"\\{ord(character):03o}" if character < " " or character == "\x7f" else character


def _readable(old: str, changes: list[DiffRange]) -> Iterator[DiffRange]:
    """Merge changes with only spaces between them."""
    joined: DiffRange | None = None
    for change in changes:
        if joined is None:
            joined = change
        elif _is_gap(old[joined.old_end : change.old_start]):
            joined = DiffRange(joined.old_start, change.old_end, joined.new_start, change.new_end)
        else:
            yield joined
            joined = change
    if joined is not None:
        yield joined


def _is_gap(between: str) -> bool:
    return between.strip(" \t") == ""
