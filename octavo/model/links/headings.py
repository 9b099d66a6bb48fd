"""The headings of a note, and their anchors."""

import re
import unicodedata
from collections.abc import Container, Iterable, Iterator
from html import unescape
from typing import NamedTuple

from octavo.model.links.blocks import leaves_of

_CLOSING = re.compile(r"(?:^|[ \t])#++[ \t\r]*+$")
# The lookbehind prevents a match from each space of a run, which would take quadratic time.
_LINE = re.compile(r"(?<![ \t\r])[ \t\r]*+\n[ \t>]*+")
_LINK = re.compile(r"!?\[([^\[\]]*+)\](?:\([^()]*+\)|\[[^\[\]]*+\])")
_WIKI = re.compile(r"!?\[\[([^\[\]|]++)(?:\|([^\[\]]++))?\]\]")
_MARKS = re.compile(r"[*`~]++|\\(?=[!-/:-@\[-`{-~])|<[A-Za-z/][^<>]*+>")
_EMPHASIS = re.compile(r"(?<![^\W_])_++(?=[^\W_])|(?<=[^\W_])_++(?![^\W_])")


class Heading(NamedTuple):
    """A heading: its plain text, and its anchor, unique in the note."""

    text: str
    anchor: str


def headings_of(text: str) -> list[Heading]:
    """Return the headings of a Markdown text in order, with anchors as GitHub makes them."""
    if "#" not in text and "\n=" not in text and "\n-" not in text:
        return []
    titles = [title_of(text[leaf.start : leaf.end]) for leaf in leaves_of(text) if leaf.level]
    return [*map(Heading, titles, unique_anchors(titles))]


def unique_anchors(titles: Iterable[str], reserved: Iterable[str] = ()) -> Iterator[str]:
    """Yield the anchors of the headings of a text; ``reserved`` ones are not used."""
    taken = dict.fromkeys(reserved, 0)
    for title in titles:
        base = anchor_of(title)
        anchor = base
        while anchor in taken:
            taken[base] += 1
            anchor = f"{base}-{taken[base]}"
        taken[anchor] = 0
        yield anchor


def anchor_of(title: str) -> str:
    """Return the anchor of the first heading with the title."""
    return "".join(
        "-" if letter == " " else letter for letter in title.strip().lower() if _stays(letter)
    )


def _stays(letter: str) -> bool:
    return letter in " -_" or unicodedata.category(letter)[0] in "LMN"


def title_of(content: str, *, closed: bool = True) -> str:
    """Return the plain text of a heading.

    Args:
        content: its inline content.
        closed: whether closing signs are to be removed.
    """
    title = _LINE.sub(" ", content)
    if closed:
        title = _CLOSING.sub("", title)
    title = _WIKI.sub(lambda wiki: wiki[2] or wiki[1], _LINK.sub(r"\1", title))
    return " ".join(unescape(_EMPHASIS.sub("", _MARKS.sub("", title))).split())


def has_heading(anchors: Container[str], fragment: str) -> bool:
    """Return whether ``fragment`` refers to a heading with one of ``anchors``.

    A standard link has the anchor; a wiki link has the heading text, possibly with the headings
    above it: ``[[note#chapter#section]]``.
    """
    wanted = fragment.rpartition("#")[2].strip()
    return wanted in anchors or anchor_of(wanted) in anchors
