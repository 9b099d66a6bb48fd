"""A text and its path as searches need them: folded, with the headings."""

import re
from collections.abc import Iterator
from itertools import islice
from typing import NamedTuple

from octavo.model.search.tokens import folded

_HEADING_LINE = re.compile(r"##{0,5}+[ \t]++([^\n]++)")
MAX_HEADINGS = 100


class SearchedText(NamedTuple):
    """A text, and what is computed of it and its path once for all searches that look at it.

    Attributes:
        text: as written.
        body: folded.
        title: its first heading as written; None if it has none.
        folded_title: empty without one.
        headings: the other ones, folded, as far as the first `MAX_HEADINGS`.
        name: the last part of the path, folded.
        folder: the rest of the path, folded.
    """

    text: str
    body: str
    title: str | None
    folded_title: str
    headings: str
    name: str
    folder: str

    @classmethod
    def of(cls, text: str, path: str = "") -> "SearchedText":
        """Return ``text`` with what is computed of it and ``path``; takes linear time."""
        headings = list(islice(_headings_of(text), MAX_HEADINGS))
        title = _title(headings[0]) if headings else None
        others = folded("\n".join(headings[1:]))
        folder, _, name = path.rpartition("/")
        places = (folded(title or ""), others, folded(name), folded(folder))
        return cls(text, folded(text), title, *places)


def title_of(text: str) -> str | None:
    """Return the first heading of a text as written; None if it has none."""
    return next(map(_title, _headings_of(text)), None)


def _headings_of(text: str) -> Iterator[str]:
    # Search for the number sign first and check what precedes it afterwards, which is much faster.
    for found in _HEADING_LINE.finditer(text):
        before = text[max(0, found.start() - 4) : found.start()].rstrip(" ")
        if before.endswith("\n") or (not before and found.start() < 4):
            yield found[1]


def _title(heading: str) -> str | None:
    return heading.strip().rstrip("#").strip() or None
