"""Front matter: the metadata at the beginning of a Markdown text, between lines of dashes."""

import re
from collections.abc import Mapping
from typing import NamedTuple

_BLOCK = re.compile(r"---[ \t]*\n(.*?)^(?:---|\.\.\.)[ \t]*(?:\n|\Z)", re.DOTALL | re.MULTILINE)
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
    ends with a line of three dashes or dots, as in YAML; without such a line there is none.
    """
    text = text.removeprefix("\ufeff").replace("\r\n", "\n").replace("\r", "\n")
    block = _BLOCK.match(text)
    if block is None:
        return FrontMatter({}, text)
    entries = {
        entry[1]: _value(entry[2] or "")
        for entry in map(_ENTRY.fullmatch, block[1].split("\n"))
        if entry is not None
    }
    return FrontMatter(entries, text[block.end() :])


def _value(text: str) -> str:
    text = text.strip()
    quote = text[:1]
    if quote in _QUOTES and (end := text.find(quote, 1)) > 0:
        return text[1:end]
    return _COMMENT.sub("", text).strip()
