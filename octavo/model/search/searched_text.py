"""A text and its path as searches need them: folded, with the headings, split into portions."""

import re
import unicodedata
from collections.abc import Iterator
from itertools import islice
from typing import NamedTuple

from octavo.model.search.query import MAX_TOKENS
from octavo.model.search.tokens import MAX_CHARACTERS, folded, tokens_of

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
    for heading in _HEADING_LINE.finditer(text):
        before = text[max(0, heading.start() - 4) : heading.start()].rstrip(" ")
        if before.endswith("\n") or (not before and heading.start() < 4):
            yield heading[1]


def _title(heading: str) -> str | None:
    return heading.strip().rstrip("#").strip() or None


PORTION = 4096
"""Characters of a portion, about: it ends between two tokens, as far as these are short."""
_LONGEST_WORD = 512
_OVERLAP = MAX_TOKENS - 1
_LONGEST_OVERLAP = 8192

# None of these composes with the one before it, and each is a letter to the tokenizer.
_ALONE = "[\u3041-\u3096\u30a1-\u30fa\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7a3\U00020000-\U0003ffff]"
_BETWEEN = re.compile(rf"(?<={_ALONE})(?={_ALONE})|[^\w]|_")
# A mark belongs to the character before it; a soft hyphen or a joiner is within a word.
_WITHIN_WORDS = frozenset({"Mn", "Mc", "Me", "Cf"})


def portions_of(text: str) -> int:
    """Return the number of portions of ``text``, at least one."""
    return max(1, -(-min(len(text), MAX_CHARACTERS) // PORTION))


def portion(text: str, number: int) -> list[str]:
    """Return the tokens of a portion of ``text``, in order; they are counted from 0."""
    begin = _cut(text, number)[1]
    end, following = _cut(text, number + 1)
    if begin is None or begin >= end:
        return []
    if end == following and _is_run(text, end):
        # The character after the cut completes the last pair, and is no token of its own here.
        return tokens_of(text[begin : end + 1])[:-1]
    return tokens_of(text[begin:end])


def overlapping(text: str, number: int) -> list[str]:
    """Return the tokens of a portion and those that follow it within a phrase that it begins."""
    return [*portion(text, number), *_following(text, _cut(text, number + 1)[1])]


def _following(text: str, begin: int | None) -> list[str]:
    if begin is None:
        return []
    text = text[:MAX_CHARACTERS]
    size = _LONGEST_WORD
    while True:
        tokens = tokens_of(text[begin : begin + size])
        # The last one may be cut.
        if len(tokens) > _OVERLAP or begin + size >= len(text) or size >= _LONGEST_OVERLAP:
            return tokens[:_OVERLAP]
        size *= 2


def _cut(text: str, number: int) -> tuple[int, int | None]:
    """Return where the portions before ``number`` end, and where those from it on begin.

    Between them is what remains of a word that is truncated. None when that fills the portion.
    """
    length = min(len(text), MAX_CHARACTERS)
    at = number * PORTION
    if at <= 0:
        return 0, 0
    if at >= length:
        return length, length
    end = _next_between(text, at, min(at + _LONGEST_WORD, length))
    if end is not None:
        return end, end
    end = min(at + _LONGEST_WORD, length)
    limit = min(at + PORTION + _LONGEST_WORD, length)
    begin = _next_between(text, end, limit)
    return end, length if begin is None and limit == length else begin


def _next_between(text: str, begin: int, end: int) -> int | None:
    # The expression looks at one character after its match.
    for boundary in _BETWEEN.finditer(text, begin, end + 1):
        at = boundary.start()
        if at >= end:
            return None
        if not _continues(text, at + 1 if boundary.end() == at else at):
            return at
    return None


def _continues(text: str, at: int) -> bool:
    return at < len(text) and unicodedata.category(text[at]) in _WITHIN_WORDS


def _is_run(text: str, at: int) -> bool:
    boundary = None if at >= min(len(text), MAX_CHARACTERS) else _BETWEEN.match(text, at)
    return boundary is not None and boundary.end() == at
