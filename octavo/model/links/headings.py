"""The headings of a note, and the anchors that lead to them."""

import re
import unicodedata
from collections.abc import Container
from html import unescape
from typing import NamedTuple

from octavo.model.links.blocks import leaves_of

_CLOSING = re.compile(r"(?:^|[ \t])#++[ \t\r]*+$")
# From the first space of some: looked for from each of them, it would be found in quadratic time.
_LINE = re.compile(r"(?<![ \t\r])[ \t\r]*+\n[ \t>]*+")
_LINK = re.compile(r"!?\[([^\[\]]*+)\](?:\([^()]*+\)|\[[^\[\]]*+\])")
_WIKI = re.compile(r"!?\[\[([^\[\]|]++)(?:\|([^\[\]]++))?\]\]")
_MARKS = re.compile(r"[*`~]++|\\(?=[!-/:-@\[-`{-~])|<[A-Za-z/][^<>]*+>")
_EMPHASIS = re.compile(r"(?<![^\W_])_++(?=[^\W_])|(?<=[^\W_])_++(?![^\W_])")


class Heading(NamedTuple):
    """A heading: its text without marks, and its anchor, which no other of the note has."""

    text: str
    anchor: str


def headings_of(text: str) -> list[Heading]:
    """Return the headings of a Markdown text in order, their anchors as GitHub makes them."""
    if "#" not in text and "\n=" not in text and "\n-" not in text:
        return []
    found: list[Heading] = []
    taken: dict[str, int] = {}
    for leaf in leaves_of(text):
        if leaf.level:
            title = _plain(text[leaf.start : leaf.end])
            base = anchor_of(title)
            anchor = base
            while anchor in taken:
                taken[base] += 1
                anchor = f"{base}-{taken[base]}"
            taken[anchor] = 0
            found.append(Heading(title, anchor))
    return found


def anchor_of(title: str) -> str:
    """Return the anchor of a heading that is the first with its title."""
    return "".join(
        "-" if letter == " " else letter for letter in title.strip().lower() if _stays(letter)
    )


def _stays(letter: str) -> bool:
    return letter in " -_" or unicodedata.category(letter)[0] in "LMN"


def _plain(raw: str) -> str:
    title = _CLOSING.sub("", _LINE.sub(" ", raw))
    title = _WIKI.sub(lambda wiki: wiki[2] or wiki[1], _LINK.sub(r"\1", title))
    return " ".join(unescape(_EMPHASIS.sub("", _MARKS.sub("", title))).split())


def has_heading(anchors: Container[str], fragment: str) -> bool:
    """Return whether a link with ``fragment`` finds its heading among those with ``anchors``.

    A standard link names the anchor; a wiki link the text, below other headings perhaps:
    ``[[note#chapter#section]]``.
    """
    wanted = fragment.rpartition("#")[2].strip()
    return wanted in anchors or anchor_of(wanted) in anchors
