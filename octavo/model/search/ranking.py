"""Rank the files that match a query.

A score depends on a single text: the frequency of the words relative to its length, their distance,
and whether they occur in its title, its name or a heading. Other texts, in this workspace or
another, have no influence.
"""

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice

from octavo.model.identity import FileId, RevisionId, WorkspaceId
from octavo.model.search.folding import folded
from octavo.model.search.hits import Finder

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

_HEADING_LINE = re.compile(r"##{0,5}+[ \t]++([^\n]++)")
MAX_HEADINGS = 100


@dataclass(frozen=True, slots=True)
class Candidate:
    """A file that matches a query; ``text`` is None if it was not read."""

    workspace_id: WorkspaceId
    file_id: FileId
    revision_id: RevisionId
    path: str
    changed_at: int
    text: str | None


@dataclass(frozen=True, slots=True)
class Ranked:
    """A candidate with its score, which is above 0, and its title, if it has one."""

    candidate: Candidate
    score: float
    title: str | None


def ranked(candidates: Iterable[Candidate], finders: Sequence[Finder]) -> list[Ranked]:
    """Return the candidates by descending score, and by descending time of change if equal.

    ``finders`` are those of the clauses of the query, which `finders_of` makes.
    """
    found = [_rank(candidate, finders) for candidate in candidates]
    return sorted(
        found,
        key=lambda each: (-each.score, -each.candidate.changed_at, each.candidate.file_id),
    )


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


def _rank(candidate: Candidate, finders: Sequence[Finder]) -> Ranked:
    text = candidate.text or ""
    headings = list(islice(_headings_of(text), MAX_HEADINGS))
    title = _title(headings[0]) if headings else None
    folder, _, name = candidate.path.rpartition("/")
    fields = [
        (_TITLE, folded(title or "")),
        (_NAME, folded(name)),
        (_FOLDER, folded(folder)),
        (_HEADING, folded("\n".join(headings[1:]))),
    ]
    body = folded(text)
    usual = 1 - _LENGTH_WEIGHT + _LENGTH_WEIGHT * len(body) / _USUAL_LENGTH
    score = 0.0
    firsts = []
    for finder in finders:
        hits = [start for start, _ in islice(finder.spans(body), _MAX_HITS)]
        firsts += hits[:1]
        score += len(hits) * (_SATURATION + 1) / (len(hits) + _SATURATION * usual)
        score += sum(weight for weight, place in fields if finder.matches(place))
    if len(firsts) > 1:
        gap = (max(firsts) - min(firsts)) / (len(firsts) - 1)
        score += _NEAR / (1 + gap / _NEAR_CHARACTERS)
    return Ranked(candidate, round(score / len(finders), 4), title)
