"""Find the leaf blocks of a Markdown text that hold inline content.

This follows the first phase of the parsing strategy in CommonMark (0.31, appendix): containers,
then leaves. Fenced and indented code and HTML comments are excluded. Other HTML blocks are treated
as paragraphs.
"""

import re
from collections.abc import Iterator
from typing import NamedTuple

MAX_CONTAINERS = 32
"""Nested quotes and lists that are tracked, which bounds the cost of a line by its length."""

_TAB = 4
_QUOTE = 0
# Columns: three, a marker of ten, and four.
_WIDEST = 20
_BLANK = re.compile(r"[ \t\r]*+$")
_BULLET = re.compile(r"(?:[-+*]|[0-9]{1,9}[.)])(?=[ \t\r]|$)")
_FENCE = re.compile(r"`{3,}+(?=[^`]*+$)|~{3,}+")
_HEADING = re.compile(r"(#{1,6})(?=[ \t\r]|$)")
_UNDERLINE = re.compile(r"(?:=++|-++)[ \t\r]*+$")
_RULE = re.compile(r"(?:(?:-[ \t]*+){3,}+|(?:_[ \t]*+){3,}+|(?:\*[ \t]*+){3,}+)\r?+$")
# Outside containers, a line with such a start continues a paragraph or starts one.
_PLAIN = frozenset("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz[(!")
# An item of an outer list with such a start, as most are.
_ITEM = re.compile(r"[-+*] {1,4}(?=[A-Za-z\[(!])")


class Leaf(NamedTuple):
    """A block of inline content in ``text[start:end]``; ``level`` is 0 for a paragraph.

    The range of a paragraph in a quote or a list includes the markers of its further lines.
    """

    start: int
    end: int
    level: int


class _Blocks:
    """The open blocks at a line: containers, and at most one leaf."""

    def __init__(self) -> None:
        # For each container from the outside: a quote, or the content column of a list item.
        self.containers: list[int] = []
        self.fence = ""
        self.comment = False
        # Whether the previous line opened a list item and had no other content.
        self.hollow = False
        # Whether the line is outside its container and can only continue the paragraph there.
        self.lazy = False
        # The open paragraph; -1 if there is none.
        self.start = self.end = -1
        self.leaves: list[Leaf] = []

    def close(self, level: int = 0) -> None:
        if self.start >= 0:
            self.leaves.append(Leaf(self.start, self.end, level))
            self.start = -1

    def paragraph(self, start: int, end: int) -> None:
        if self.start < 0:
            self.start = start
        self.end = end

    def item(self, start: int, column: int, end: int) -> None:
        """Open the item of an outer list, with a paragraph in ``text[start:end]``."""
        if self.containers:
            self._leave(0)
        self.close()
        self.hollow = self.lazy = False
        self.containers.append(column)
        self.paragraph(start, end)

    def line(self, line: str, offset: int) -> None:
        if _BLANK.match(line):
            self._blank(offset)
            return
        self.hollow = self.lazy = False
        at, column = 0, 0
        for depth, container in enumerate(self.containers):
            at_content, width = _indent(line, at, column)
            if container == _QUOTE:
                if width < _TAB and line.startswith(">", at_content):
                    at, column = _after_marker(line, at_content + 1, column + width + 1)
                    continue
            elif _BLANK.match(line, at_content):
                # After the marker of a quote; wholly blank lines are handled before.
                continue
            elif width >= container:
                at, column = _skip(line, at, column, container)
                continue
            self.lazy = self._lazy(line, at_content, width)
            if not self.lazy:
                self._leave(depth)
            break
        self._leaf(line, at, column, offset)

    def _blank(self, offset: int) -> None:
        # A blank line ends a quote, and continues a list, unless the item is still empty.
        if self.hollow:
            self._leave(len(self.containers) - 1)
            self.hollow = False
        if _QUOTE in self.containers:
            self._leave(self.containers.index(_QUOTE))
        self._leaf("", 0, 0, offset)

    def _lazy(self, line: str, at: int, width: int) -> bool:
        """Return whether a line outside its container continues the paragraph in it."""
        if self.start < 0 or self.fence or self.comment or _BLANK.match(line, at):
            return False
        return width >= _TAB or not _opens(line, at)

    def _leave(self, depth: int) -> None:
        self.close()
        self.fence, self.comment = "", False
        del self.containers[depth:]

    def _leaf(self, line: str, at: int, column: int, offset: int) -> None:
        while True:
            start, width = _indent(line, at, column)
            if self.fence:
                if width < _TAB and line.startswith(self.fence, start):
                    rest = line[start:].strip()
                    if not rest.strip(self.fence[0]):
                        self.fence = ""
                return
            if self.comment:
                self.comment = "-->" not in line[at:]
                return
            if _BLANK.match(line, start):
                self.close()
                return
            if width >= _TAB:
                if self.start >= 0:
                    self.paragraph(offset + start, offset + len(line))
                return
            marker = self._container(line, start)
            if marker is None:
                break
            container, at = marker
            self.close()
            column = column + width + (at - start)
            if container == _QUOTE:
                at, column = _after_marker(line, at, column)
            else:
                content, space = _indent(line, at, column)
                # Code or an empty item starts one column after the marker.
                space = 1 if space > _TAB or _BLANK.match(line, content) else space
                container = width + container + space
                at, column = _skip(line, at, column, space)
                self.hollow = _BLANK.match(line, content) is not None
            self.containers.append(container)
        self._text(line, start, offset)

    def _container(self, line: str, start: int) -> tuple[int, int] | None:
        """Return the container that starts at ``start``: a quote, or the width of a marker."""
        if len(self.containers) >= MAX_CONTAINERS:
            return None
        if line[start] == ">":
            return _QUOTE, start + 1
        bullet = _BULLET.match(line, start)
        if bullet is None or _RULE.match(line, start):
            return None
        if self.start >= 0 and not self._interrupts(line, bullet):
            return None
        return bullet.end() - start, bullet.end()

    def _interrupts(self, line: str, bullet: re.Match[str]) -> bool:
        if _UNDERLINE.match(line, bullet.start()):
            return False
        if _BLANK.match(line, bullet.end()):
            return False
        return bullet[0] in ("-", "+", "*", "1.", "1)") or bool(self.containers)

    def _text(self, line: str, start: int, offset: int) -> None:
        fence = _FENCE.match(line, start)
        if fence is not None:
            self.close()
            self.fence = fence[0]
            return
        heading = _HEADING.match(line, start)
        if heading is not None:
            self.close()
            self.leaves.append(Leaf(offset + heading.end(), offset + len(line), len(heading[1])))
            return
        if line.startswith("<!--", start):
            self.close()
            self.comment = line.find("-->", start + 4) < 0
            return
        if self.start >= 0 and not self.lazy and _UNDERLINE.match(line, start):
            self.close(1 if line[start] == "=" else 2)
            return
        if _RULE.match(line, start):
            self.close()
            return
        self.paragraph(offset + start, offset + len(line))


def leaves_of(text: str) -> Iterator[Leaf]:
    """Return the paragraphs and headings of ``text`` in order; takes linear time."""
    blocks = _Blocks()
    offset = 0
    for line in text.split("\n"):
        if line[:1] in _PLAIN and not blocks.containers and not blocks.fence and not blocks.comment:
            if blocks.start < 0:
                blocks.start = offset
            blocks.end = offset + len(line)
        elif line or blocks.containers or blocks.fence or blocks.comment:
            in_code = (blocks.fence or blocks.comment) and not blocks.containers
            item = None if in_code else _ITEM.match(line)
            if item is not None:
                column = item.end()
                blocks.item(offset + column, column, offset + len(line))
            else:
                blocks.line(line, offset)
        else:
            blocks.close()
        offset += len(line) + 1
    blocks.close()
    return iter(blocks.leaves)


def _opens(line: str, at: int) -> bool:
    """Return whether a block that can interrupt a paragraph starts at ``at``."""
    if line[at] in "<>":
        return line[at] == ">" or line.startswith("<!--", at)
    return any(pattern.match(line, at) for pattern in (_BULLET, _FENCE, _HEADING, _RULE))


def _indent(line: str, at: int, column: int) -> tuple[int, int]:
    """Return the end of the white space at ``at`` and its width in columns.

    The scan stops at the largest width that a container can require.
    """
    begin = column
    while at < len(line) and column < begin + _WIDEST:
        if line[at] == " ":
            column += 1
        elif line[at] == "\t":
            column += _TAB - column % _TAB
        else:
            break
        at += 1
    return at, column - begin


def _skip(line: str, at: int, column: int, columns: int) -> tuple[int, int]:
    """Return the position after ``columns`` of white space; a wider tab is consumed whole."""
    end = column + columns
    while at < len(line) and column < end and line[at] in " \t":
        column += 1 if line[at] == " " else _TAB - column % _TAB
        at += 1
    return at, column


def _after_marker(line: str, at: int, column: int) -> tuple[int, int]:
    return _skip(line, at, column, 1)
