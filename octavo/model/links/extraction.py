"""Find the links to files in a Markdown text.

These are inline links, images, reference definitions (CommonMark 0.31 sections 4.7, 6.3, 6.4), and
wiki links ``[[note#heading|label]]`` with their embeds ``![[image.png]]``. Links with a scheme or a
host are external and excluded, and so is code. Every pass over the text is linear.
"""

import re
from typing import Literal, NamedTuple

from octavo.model.links.blocks import Leaf, leaves_of
from octavo.model.links.destination import (
    DESTINATION,
    Destination,
    end_of_title,
    find_destination,
    read_destination,
)

LinkKind = Literal["standard", "wiki"]

# Each alternative starts with a distinct character, so the search skips other text quickly.
_TOKEN = re.compile(
    r"\\[!-/:-@\[-`{-~]|``*+|<(?:!--|[A-Za-z/][^<>\n]*+>)|!\[(?:\[(?!\[))?|\[(?:\[(?!\[))?|\]"
)
# The common form of links, whose label, path and fragment need no decoding.
_SIMPLE = re.compile(
    r"[^\[\]`<\\\n]*+\]\((?!//)([^\x00-\x20\x7f()<\\&%?#:]*+)(?:#([^\x00-\x20\x7f()<\\&%]*+))?\)"
)
_WIKI = re.compile(r"([^\[\]\n]++)\]\](?!\()")
_DEFINITION = re.compile(
    r"[ \t>]*+\[(?!\^)((?:[^\[\]\\]|\\.){1,999}+)\]:[ \t]*+(?:\n[ \t>]*+)?", re.DOTALL
)
_END_OF_LINE = re.compile(r"[ \t\r]*+(?:\n|\Z)")
_BETWEEN = re.compile(r"[ \t\r]*+\n?[ \t>]*+")


class Link(NamedTuple):
    """A link to a file of the workspace, or to a heading of its own note.

    Attributes:
        kind: its syntax.
        embed: whether it shows its target: an image, or an embed.
        target: the decoded path or name; empty for a link to its own note.
        heading: the decoded fragment; empty if there is none.
        start: the start of the encoded ``target`` in the text.
        end: the end of the encoded ``target``.
        whole: the range of a wiki link with its brackets; the target's range for others.
        in_link: whether it is within the text of a standard link; an image or a wiki link is.
    """

    kind: LinkKind
    embed: bool
    target: str
    heading: str
    start: int
    end: int
    whole: tuple[int, int]
    in_link: bool = False


def links_of(text: str) -> list[Link]:
    """Return the links of ``text`` to files, in the order of their targets in the text."""
    if "](" not in text and "[[" not in text and "]:" not in text:
        return []
    links: list[Link] = []
    for leaf in leaves_of(text):
        if text.find("[", leaf.start, leaf.end) >= 0:
            _Inline(text, leaf, links).scan()
    return sorted(links, key=lambda link: link.start)


class _Inline:
    """Finds the links of one leaf block."""

    def __init__(self, text: str, leaf: Leaf, links: list[Link]) -> None:
        self._text = text
        self._leaf = leaf
        self._end = leaf.end
        self._links = links
        # For each open bracket, whether it starts an image, and how many links were found before.
        self._open: list[tuple[bool, int]] = []
        # Links can't be nested: brackets below this depth can't start a link any more.
        self._no_link_below = 0
        self._fences: dict[int, list[int]] | None = None
        self._comment_ends = True

    def scan(self) -> None:
        text, end = self._text, self._end
        at = self._leaf.start
        if not self._leaf.level:
            at = self._definitions(at)
        while (token := _TOKEN.search(text, at, end)) is not None:
            at = self._token(token)

    def _token(self, token: re.Match[str]) -> int:
        text, kind, after = self._text, token[0], token.end()
        if kind[0] == "\\":
            return after
        if kind[0] == "`":
            return self._after_code(after, len(kind))
        if kind == "<!--":
            close = text.find("-->", after, self._end) if self._comment_ends else -1
            self._comment_ends = close >= 0
            return after if close < 0 else close + 3
        if kind.endswith("[["):
            wiki = _WIKI.match(text, after, self._end)
            if wiki is not None:
                self._wiki(token.start(), kind[0] == "!", wiki)
                return wiki.end()
            # Two brackets; the image, if it is one, is the outer bracket.
            self._open += [(kind[0] == "!", len(self._links)), (False, len(self._links))]
        elif kind.endswith("["):
            simple = _SIMPLE.match(text, after, self._end)
            if simple is not None:
                return self._simple(simple, kind[0] == "!")
            self._open.append((kind[0] == "!", len(self._links)))
        elif kind == "]" and self._open:
            return self._close(after)
        return after

    def _simple(self, simple: re.Match[str], image: bool) -> int:
        if not image:
            self._no_link_below = len(self._open)
        path, fragment, span = simple[1], simple[2] or "", simple.span(1)
        if path or fragment:
            self._links.append(Link("standard", image, path, fragment, *span, span))
        return simple.end()

    def _close(self, after: int) -> int:
        image, found_before = self._open.pop()
        depth = len(self._open)
        alive = image or depth >= self._no_link_below
        self._no_link_below = min(self._no_link_below, depth)
        if not alive or not self._text.startswith("(", after):
            return after
        destination = find_destination(self._text, after + 1, self._end)
        if destination is None:
            return after
        close = end_of_title(self._text, destination.end, self._end)
        if close is None:
            return after
        if not image:
            self._no_link_below = depth
            inside = self._links[found_before:]
            self._links[found_before:] = [link._replace(in_link=True) for link in inside]
        self._standard(destination, image)
        return close

    def _definitions(self, at: int) -> int:
        """Parse the reference definitions at the start of a paragraph; return their end."""
        text, end = self._text, self._end
        while (label := _DEFINITION.match(text, at, end)) is not None:
            written = DESTINATION.match(text, label.end(), end)
            if written is None or not label[1].strip():
                break
            destination = read_destination(text, written)
            after = _after_definition(text, written.end(), end)
            if after is None:
                break
            self._standard(destination, False)
            at = after
        return at

    def _standard(self, destination: Destination, embed: bool) -> None:
        if destination.is_local and (destination.path or destination.fragment):
            span = (destination.start, destination.end_of_path)
            self._links.append(
                Link("standard", embed, destination.path, destination.fragment, *span, span)
            )

    def _wiki(self, start: int, embed: bool, wiki: re.Match[str]) -> None:
        # In a table, the bar is escaped.
        written = wiki[1].partition("|")[0].removesuffix("\\")
        path, _, heading = written.partition("#")
        target = path.strip()
        if target or heading.strip():
            begin = wiki.start() + len(path) - len(path.lstrip())
            whole = (start, wiki.end())
            self._links.append(
                Link("wiki", embed, target, heading.strip(), begin, begin + len(target), whole)
            )

    def _after_code(self, at: int, length: int) -> int:
        """Return the end of the code span whose fence ends at ``at``; ``at`` if it is unclosed."""
        if self._fences is None:
            self._fences = {}
            for run in re.finditer("`++", self._text[self._leaf.start : self._end]):
                place = run.start() + self._leaf.start
                self._fences.setdefault(len(run[0]), []).append(place)
            for positions in self._fences.values():
                positions.reverse()
        positions = self._fences.get(length, [])
        while positions and positions[-1] < at:
            positions.pop()
        return positions.pop() + length if positions else at


def _after_definition(text: str, at: int, end: int) -> int | None:
    """Return the end of the line if it has nothing after a destination and optional title."""
    ended = _END_OF_LINE.match(text, at, end)
    space = _BETWEEN.match(text, at, end)
    if space is not None and space.end() > at:
        title = end_of_title(text, at, end, closing="")
        if title is not None and title > space.end():
            after = _END_OF_LINE.match(text, title, end)
            if after is not None:
                return after.end()
    return None if ended is None else ended.end()
