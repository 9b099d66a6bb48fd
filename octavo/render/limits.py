"""Limits of the Markdown grammar, which bound the time of rendering a note to seconds.

Each figure is an upper bound obtained by counting characters. Fenced code is excluded only when the
first count exceeds a limit. The check is linear in the length of the text.
"""

import re
from collections.abc import Iterator, Mapping
from types import MappingProxyType

from octavo.model.refusal import UnrenderableNote
from octavo.model.text_bounds import TextBounds, changed_lines

LIMITS: Mapping[str, int] = MappingProxyType(
    {
        "length": 2 * 1024 * 1024,
        "line_length": 1024 * 1024,
        "lines": 100_000,
        "nesting": 24,
        "nested_lines": 150_000,
        "delimiters": 100_000,
        "links": 25_000,
        "references": 10_000,
        "table_cells": 60_000,
        "markup": 5_000_000,
    }
)
"""The maximum of each limit; `MEANINGS` describes them."""

MEANINGS: Mapping[str, str] = MappingProxyType(
    {
        "length": "bytes of UTF-8",
        "line_length": "characters in a line",
        "lines": "nonblank lines outside fenced code",
        "nesting": "levels of nested lists and quotes",
        "nested_lines": "lines, each counted once for every list and quote that may contain it",
        "delimiters": "delimiters of emphasis and strikethrough: * _ ~",
        "links": "links, images, tasks and reference definitions: everything that begins with [",
        "references": "reference definitions",
        "table_cells": "cells in all tables, including cells that a row omits",
        "markup": "microseconds to render the markup, estimated by a weight for each character",
    }
)

# The maximum cost of each character in microseconds, parsed and rendered (`benchmarks/render.py`).
_WEIGHTS = {"[": 80, "<": 70, "*": 28, "_": 28, "~": 28, "`": 15, "&": 10, "\\": 10, "!": 8, "=": 6}
_LIGHT = "#$%+-:>@]^{}"
_LIGHT_WEIGHT = 4
_LINE_WEIGHT = 45
_NESTED_LINE_WEIGHT = 30
_CELL_WEIGHT = 36
_SIGNS = ("".join(_WEIGHTS) + _LIGHT + "|").encode()
_FEW = 20_000
"""Signs, lines or cells that exceed neither a limit on them nor the limit on their sum."""

_TAB = 4
# The markers of lists and quotes at the start of a line, after the preceding line feed; of many
# markers so many that they exceed the limit.
_MARKERS = re.compile(r"\n((?:[ \t]*+(?:>|[*+\-](?=[ \t\n])|[0-9]{1,9}[.)](?=[ \t\n]))){1,1000})")
_SHALLOW = LIMITS["nesting"] // 2
"""Characters that may begin a line before they can exceed the limit."""
# Deeply indented code has no marker.
_PERHAPS_DEEP = re.compile(rf"(?=[ \t>*+\-0-9.)]{{{_SHALLOW}}})[ \t]*[>*+\-0-9]")
_PERHAPS_DEEP_LATER = re.compile(rf"\n{_PERHAPS_DEEP.pattern}")
_RULE = re.compile(r"\n[ \t>]*([-*_])(?:[ \t]*\1)*[ \t]*(?=\n)")
# The second line of a table consists of these characters only, with at least one bar.
_COLUMNS = re.compile(r"\n[ \t>]*([|:\-][|:\- \t]*)(?=\n)")
# A line that closes every list and quote: after a blank line, not indented, without a marker.
_TOP_LEVEL = re.compile(r"\n[ \t]*(?=\n[^\s>*+\-\d])")
# The end of all lists, a list item, or a fence.
_STARTS = re.compile(
    r"\n(?:(?P<top>[ \t]*(?=\n[^\s>*+\-\d]))"
    r"|(?P<item>[ \t]*(?:[*+\-]|[0-9]{1,9}[.)])(?=[ \t\n]))"
    r"|(?P<indent> {0,3})(?P<fence>`{3,}(?=[^`\n]*\n)|~{3,})[^\n]*)"
)
_CLOSING = re.compile(r"\n {0,3}(`{3,}|~{3,})[ \t]*(?=\n)")
_FILLED = re.compile(r"\n[ \t>]*+[^\n]")
_BLANK = re.compile(r"\n[ \t>]*(?=\n)")


def check_renderable(text: str) -> None:
    """Raise `UnrenderableNote` for a text that exceeds a limit of the grammar.

    The error names the limit, one of `LIMITS`. Takes microseconds for an ordinary note, and
    linear time for any text. `octavo.render.note.render_note` renders an accepted text in seconds.
    """
    if not is_plainly_small(text):
        check_changed(text)


def is_plainly_small(text: str) -> bool:
    """Return True only for a text within all limits, as most notes are; much is not looked at.

    A character at the start of a line nests by one level, and a tab by two. The columns of a table
    are at most one more than all bars.
    """
    if len(text) > _FEW - 2 or "\r" in text:
        return False
    lines = text.count("\n") + 2
    return (
        lines * _SHALLOW <= _FEW
        and lines * (text.count("|") + 1) <= _FEW
        and _PERHAPS_DEEP.match(text) is None
        and _PERHAPS_DEEP_LATER.search(text) is None
    )


def check_changed(
    text: str, before: str = "", bounds: TextBounds | None = None
) -> TextBounds | None:
    """Check a text like `check_renderable`; of one that has changed, its new lines alone.

    Args:
        text: the text.
        before: the text that it has evolved from.
        bounds: what this returned for ``before``.

    Returns:
        The bounds with which the next text is checked; None if they are not known, so that it has
        to be counted as a whole.

    Raises `UnrenderableNote`, as `check_renderable` does.
    """
    if 4 * len(text) > LIMITS["length"]:
        size = len(text) if text.isascii() else len(text.encode(errors="surrogatepass"))
        if size > LIMITS["length"]:
            raise _refusal("length", size)
    if "\r" in text:
        text = text.replace("\r\n", "\n").replace("\r", "\n")
    elif bounds is not None and "\r" not in before:
        changed = _counted(f"\n{changed_lines(before, text)}\n")
        if changed is not None and _are_small(joined := bounds.joined(changed), text):
            return joined
    text = f"\n{text}\n"
    counted = _counted(text)
    if counted is not None and _are_small(counted, text):
        return counted
    if _first_over(_found(text)) is None:
        return None
    over = _first_over(_found(_without_code(text)))
    if over is not None:
        raise _refusal(*over)
    return None


def _refusal(limit: str, figure: int) -> UnrenderableNote:
    maximum = LIMITS[limit]
    remedy = "Nest less deeply." if limit == "nesting" else "Split it into several notes."
    if limit == "length":
        excess = f"is too long: it has {figure:,} bytes"
    else:
        has = "takes" if limit == "markup" else "has"
        meaning = MEANINGS[limit].partition(":")[0]
        excess = f"is too complex: it {has} {figure:,} {meaning}"
    detail = f"The note {excess}; at most {maximum:,} are allowed. {remedy}"
    return UnrenderableNote(detail, limit=limit, maximum=maximum, found=figure)


def _counted(text: str) -> TextBounds | None:
    """Count a text that begins and ends with a line feed; None if it has many lines or signs."""
    data = text.encode(errors="surrogatepass")
    lines, signs = data.count(b"\n"), len(data) - len(data.translate(None, _SIGNS))
    if lines > _FEW or signs > _FEW:
        return None
    # Any line of dashes may be the second line of a table with one column.
    return TextBounds(lines, signs, _depth(text), _columns(text) if b"|" in data else 1)


def _are_small(bounds: TextBounds, text: str) -> bool:
    """Return whether ``bounds`` prove that ``text`` is within all limits."""
    lines, signs, levels, columns = bounds
    return (
        len(text) <= LIMITS["line_length"]
        and lines <= _FEW
        and signs <= _FEW
        and columns * lines <= _FEW
        and levels <= LIMITS["nesting"]
        and levels * lines <= 2 * _FEW
    )


def _found(text: str) -> Iterator[tuple[str, int]]:
    """Yield each limit with the figure found for it, the cheapest first."""
    if len(text) > LIMITS["line_length"]:
        yield "line_length", max(map(len, text.split("\n")))
    lines = text.count("\n")
    if lines > LIMITS["lines"]:
        lines = len(_FILLED.findall(text))
    yield "lines", lines
    counts = {sign: text.count(sign) for sign in _WEIGHTS}
    yield "links", counts["["]
    yield "references", text.count("]:")
    yield "delimiters", sum(counts[sign] for sign in "*_~")
    depth = _depth(text)
    if depth > LIMITS["nesting"]:
        depth = _depth(_RULE.sub("\n", text))
    yield "nesting", depth
    nested_lines = depth * lines
    if nested_lines > 2 * _FEW:
        nested_lines = sum(_depth(part) * part.count("\n") for part in _parts(_TOP_LEVEL, text))
    yield "nested_lines", nested_lines
    cells = _columns(text) * lines
    if cells > _FEW:
        cells = sum(_columns(part) * part.count("\n") for part in _parts(_BLANK, text))
    yield "table_cells", cells
    yield (
        "markup",
        sum(counts[sign] * weight for sign, weight in _WEIGHTS.items())
        + sum(map(text.count, _LIGHT)) * _LIGHT_WEIGHT
        + lines * _LINE_WEIGHT
        + nested_lines * _NESTED_LINE_WEIGHT
        + cells * _CELL_WEIGHT,
    )


def _first_over(figures: Iterator[tuple[str, int]]) -> tuple[str, int] | None:
    return next(((limit, figure) for limit, figure in figures if figure > LIMITS[limit]), None)


def _depth(text: str) -> int:
    """Return an upper bound of the nesting depth of lists and quotes.

    A nested list is indented by at least two columns and starts on a line with its marker, so
    only lines with markers count, by their markers and their indentation.
    """
    return max(map(_levels, set(_MARKERS.findall(text))), default=0)


def _levels(markers: str) -> int:
    # Each marker contains one of these characters.
    count = sum(map(markers.count, ">*+-.)"))
    columns = markers.count(" ") + markers.count("\t") * _TAB
    return count + max(0, columns - count + 1) // 2


def _columns(text: str) -> int:
    """Return an upper bound of the columns of the widest table; 0 without a table."""
    return max(map(_cells, set(_COLUMNS.findall(text))), default=0)


def _cells(row: str) -> int:
    row = row.rstrip(" \t")
    return row.count("|") + 1 - row.startswith("|") - row.endswith("|")


def _parts(cut: re.Pattern[str], text: str) -> Iterator[str]:
    """Split before each match; each part begins and ends with a line feed."""
    start = 0
    for match in cut.finditer(text):
        yield text[start : match.start() + 1]
        start = match.start()
    yield text[start:]


def _without_code(text: str) -> str:
    """Remove fenced code that is certainly outside lists and quotes.

    A fence ends at a line indented by less than four columns (CommonMark 0.31 section 4.5), and
    outside lists and quotes nothing else ends it. An indented fence after a list item may
    belong to the list; the rest of the text is counted from there.
    """
    kept: list[str] = []
    at = done = 0
    listed = False
    while (match := _STARTS.search(text, at)) is not None:
        at = match.end()
        if match["item"] is not None:
            listed = True
            continue
        if match["fence"] is not None:
            if match["indent"] and listed:
                break
            kept.append(text[done : match.start()])
            at = done = _end_of_code(text, at, match["fence"])
        listed = False
    return "\n".join([*kept, text[done:]])


def _end_of_code(text: str, at: int, fence: str) -> int:
    """Return the end of the line that closes the code of ``fence``; of the text if none does."""
    for closing in _CLOSING.finditer(text, at):
        if closing[1][0] == fence[0] and len(closing[1]) >= len(fence):
            return closing.end()
    return len(text)
