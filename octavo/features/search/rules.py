"""Find the clauses of a query in folded texts, rank the files that match, and show why they do.

A score depends on a single text: the frequency of the words relative to its length, their distance,
and whether they occur in its title, its name or a heading. Other texts, in this workspace or
another, have no influence.
"""

import re
import unicodedata
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice

from octavo_rules.identity import FileId, RevisionId, WorkspaceId

from octavo.model.label import stream_safe
from octavo.model.search.query import Clause, Query
from octavo.model.search.searched_text import SearchedText
from octavo.model.search.tokens import EAST_ASIAN, LETTER, LONGEST_TOKEN, folded_in_place

_EAST_ASIAN = re.compile(EAST_ASIAN)


class Finder:
    """Finds a clause in folded texts, in linear time.

    Args:
        clause: the clause to find.
    """

    __slots__ = ("_pattern",)

    def __init__(self, clause: Clause) -> None:
        *others, last = clause.runs
        if _EAST_ASIAN.match(last):
            end = ""
        elif clause.prefix or len(last) > LONGEST_TOKEN:
            end = f"{LETTER}*+"
        else:
            end = f"(?!{LETTER})"
        words = [*map(re.escape, others), re.escape(last[:LONGEST_TOKEN])]
        if _EAST_ASIAN.match(clause.runs[0]) is None:
            # The word precedes its look-behind: patterns that start with a literal are much faster.
            words[0] += f"(?<!{LETTER}{words[0]})"
        self._pattern = re.compile(" *+".join(words) + end)

    def spans(self, text: str) -> Iterator[tuple[int, int]]:
        """Yield start and end of each hit in ``text``, in order, without overlaps."""
        return map(re.Match.span, self._pattern.finditer(text))

    def count(self, text: str) -> int:
        """Return the number of hits in ``text``."""
        return len(self._pattern.findall(text))

    def first(self, text: str) -> int | None:
        """Return the start of the first hit in ``text``; None without one."""
        hit = self._pattern.search(text)
        return None if hit is None else hit.start()


def finders_of(query: Query) -> list[Finder]:
    """Return a finder for each clause, in order."""
    return [Finder(clause) for clause in query.clauses]


# BM25 (Robertson and Zaragoza 2009, section 3.4), with a fixed length instead of the average.
_SATURATION = 1.2
_LENGTH_WEIGHT = 0.5
_USUAL_LENGTH = 4000.0
_TITLE = 3.0
_NAME = 2.0
_FOLDER = 0.5
_HEADING = 0.5
_NEAR = 1.0
_NEAR_CHARACTERS = 100.0
_MAX_HITS = 100


@dataclass(frozen=True, slots=True)
class Candidate:
    """A file that matches a query; ``text`` is None if it was not read."""

    workspace_id: WorkspaceId
    file_id: FileId
    revision_id: RevisionId
    path: str
    changed_at: int
    text: str | SearchedText | None


@dataclass(frozen=True, slots=True)
class Ranked:
    """A candidate with its score, which is above 0, and its text; empty without one."""

    candidate: Candidate
    score: float
    text: SearchedText


def ranked(candidates: Iterable[Candidate], finders: Sequence[Finder]) -> list[Ranked]:
    """Return the candidates by descending score, and by descending time of change if equal.

    ``finders`` are those of the clauses of the query, which `finders_of` makes.
    """
    notes = [_rank(candidate, finders) for candidate in candidates]
    return sorted(
        notes,
        key=lambda note: (-note.score, -note.candidate.changed_at, note.candidate.file_id),
    )


def _rank(candidate: Candidate, finders: Sequence[Finder]) -> Ranked:
    known = candidate.text
    text = (
        known if isinstance(known, SearchedText) else SearchedText.of(known or "", candidate.path)
    )
    fields = (
        (_TITLE, text.folded_title),
        (_NAME, text.name),
        (_FOLDER, text.folder),
        (_HEADING, text.headings),
    )
    body = text.body
    usual = 1 - _LENGTH_WEIGHT + _LENGTH_WEIGHT * len(body) / _USUAL_LENGTH
    score = 0.0
    firsts = []
    for finder in finders:
        hits = min(finder.count(body), _MAX_HITS)
        first = finder.first(body)
        if first is not None:
            firsts.append(first)
        score += hits * (_SATURATION + 1) / (hits + _SATURATION * usual)
        score += sum([weight for weight, place in fields if finder.first(place) is not None])
    if len(firsts) > 1:
        gap = (max(firsts) - min(firsts)) / (len(firsts) - 1)
        score += _NEAR / (1 + gap / _NEAR_CHARACTERS)
    return Ranked(candidate, round(score / len(finders), 4), text)


MAX_SNIPPETS = 3
_BEFORE = 60
_LENGTH = 200
_MAX_SHOWN_HITS = 200
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
    return [_snippet(text, *_trimmed(text, *window), hits) for window in sorted(windows)]


def _hits(
    body: str, offsets: list[int] | None, finders: Sequence[Finder]
) -> list[tuple[int, int, int]]:
    """Return start, end and clause of the hits in the text, in order, without overlaps.

    ``body`` and ``offsets`` are those of `folded_in_place`.
    """
    unordered = []
    for clause, finder in enumerate(finders):
        for start, end in islice(finder.spans(body), _MAX_SHOWN_HITS):
            if offsets is None:
                unordered.append((start, end, clause))
            else:
                unordered.append((offsets[start], offsets[end - 1] + 1, clause))
    hits: list[tuple[int, int, int]] = []
    for hit in sorted(unordered, key=lambda hit: (hit[0], -hit[1])):
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
