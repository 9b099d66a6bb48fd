"""Front matter: the metadata at the beginning of a Markdown text, between lines of dashes."""

import re
from collections.abc import Mapping
from typing import NamedTuple

_BLOCK = re.compile(
    r"\ufeff?---[ \t]*(?:\r\n?|\n)(?P<entries>(?:.*?[\r\n])??)(?:---|\.\.\.)[ \t]*(?:\r\n?|\n|\Z)",
    re.DOTALL,
)
_ENTRY = re.compile(r"([A-Za-z][\w-]*):(?:[ \t]+(.*))?")
_COMMENT = re.compile(r"(?:^|[ \t])#.*")
_QUOTES = ("'", '"')


class FrontMatter(NamedTuple):
    """The entries of the front matter, and the text after it."""

    entries: Mapping[str, str]
    body: str


def split_front_matter(text: str) -> FrontMatter:
    """Return the front matter of ``text`` and the rest; without any, no entries and all of it.

    Only entries of the form ``name: value`` on one line are read; values may be quoted. The block
    ends with a line of three dashes or dots, as in YAML; without such a line there is none. Lines
    of the rest end with line feeds.
    """
    block = _BLOCK.match(text)
    if block is None:
        return FrontMatter({}, _with_line_feeds(text.removeprefix("\ufeff")))
    entries = {
        entry[1]: _value(entry[2] or "")
        for entry in map(_ENTRY.fullmatch, _with_line_feeds(block["entries"]).split("\n"))
        if entry is not None
    }
    return FrontMatter(entries, _with_line_feeds(text[block.end() :]))


def end_of_front_matter(text: str) -> int:
    """Return the position in ``text`` at which its body begins; 0 without front matter."""
    block = _BLOCK.match(text)
    return 0 if block is None else block.end()


def _with_line_feeds(text: str) -> str:
    return text.replace("\r\n", "\n").replace("\r", "\n")


def _value(text: str) -> str:
    text = text.strip()
    quote = text[:1]
    if quote in _QUOTES and (end := text.find(quote, 1)) > 0:
        return text[1:end]
    return _COMMENT.sub("", text).strip()
