"""Snippets of a text that show why it matches a query."""

import re
import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import islice

from octavo.features.search.rules.hits import Finder
from octavo.model.hidden_characters import stream_safe
from octavo.model.search.folding import folded_in_place
from octavo.model.search.searched_text import SearchedText

MAX_SNIPPETS = 3
_BEFORE = 60
_LENGTH = 200
_MAX_HITS = 200
_SPACE = re.compile(r"\s++")


@dataclass(frozen=True, slots=True)
class Snippet:
    """A one-line excerpt of a text with its hits marked.

    Attributes:
        text: the excerpt, in NFC, with single spaces and a limited number of marks per letter.
        marks: start and end of each hit in ``text``, in code points, in order.
    """

    text: str
    marks: tuple[tuple[int, int], ...]


def snippets_of(searched: SearchedText, finders: Sequence[Finder]) -> list[Snippet]:
    """Return up to three excerpts of a text, chosen for the most distinct clauses.

    ``finders`` are those of the clauses, which `finders_of` makes.

    They are in the order of the text and don't overlap. A text without hits has none.
    """
    text = searched.text
    body: str
    offsets: list[int] | None
    if text.isascii():
        body, offsets = searched.body, None
    else:
        text = unicodedata.normalize("NFC", stream_safe(text))
        body, offsets = folded_in_place(text)
    hits = _hits(body, offsets, finders)
    windows: list[tuple[int, int]] = []
    rated: Sequence[int] = range(len(hits))
    if len(finders) > 1:
        rated = sorted(rated, key=lambda at: (-_clauses_near(hits, at), hits[at][0]))
    for at in rated:
        start = max(0, hits[at][0] - _BEFORE)
        end = min(len(text), start + _LENGTH)
        if all(end <= other[0] or start >= other[1] for other in windows):
            windows.append((start, end))
        if len(windows) == MAX_SNIPPETS:
            break
    return [_snippet(text, *_trimmed(text, *each), hits) for each in sorted(windows)]


def _hits(
    body: str, offsets: list[int] | None, finders: Sequence[Finder]
) -> list[tuple[int, int, int]]:
    """Return start, end and clause of the hits in the text, in order, without overlaps.

    ``body`` and ``offsets`` are those of `folded_in_place`.
    """
    found = []
    for clause, finder in enumerate(finders):
        for start, end in islice(finder.spans(body), _MAX_HITS):
            if offsets is None:
                found.append((start, end, clause))
            else:
                found.append((offsets[start], offsets[end - 1] + 1, clause))
    hits: list[tuple[int, int, int]] = []
    for hit in sorted(found, key=lambda each: (each[0], -each[1])):
        if not hits or hit[0] >= hits[-1][1]:
            hits.append(hit)
    return hits


def _clauses_near(hits: list[tuple[int, int, int]], at: int) -> int:
    end = hits[at][0] - _BEFORE + _LENGTH
    near = set()
    for start, _, clause in hits[at : at + 20]:
        if start >= end:
            break
        near.add(clause)
    return len(near)


def _trimmed(text: str, start: int, end: int) -> tuple[int, int]:
    """Move the ends of an excerpt to nearby spaces, if there are any."""
    if start > 0:
        space = text.find(" ", start, start + 20)
        start = start if space < 0 else space + 1
    if end < len(text):
        space = text.rfind(" ", end - 20, end)
        end = end if space < 0 else space
    return start, end


def _snippet(text: str, start: int, end: int, hits: list[tuple[int, int, int]]) -> Snippet:
    parts: list[str] = []
    length = 0

    def add(piece: str) -> int:
        nonlocal length
        plain = _SPACE.sub(" ", piece)
        if plain.startswith(" ") and (not parts or parts[-1].endswith(" ")):
            plain = plain[1:]
        if plain:
            parts.append(plain)
            length += len(plain)
        return length

    marks = []
    at = start
    for hit in hits:
        if hit[0] >= start and hit[1] <= end:
            begin = add(text[at : hit[0]])
            marks.append((begin, add(text[hit[0] : hit[1]])))
            at = hit[1]
    add(text[at:end])
    whole = "".join(parts)
    return Snippet(whole.rstrip(), tuple(marks))
