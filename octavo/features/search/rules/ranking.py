"""Rank the files that match a query.

A score depends on a single text: the frequency of the words relative to its length, their distance,
and whether they occur in its title, its name or a heading. Other texts, in this workspace or
another, have no influence.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from octavo_rules.identity import FileId, RevisionId, WorkspaceId

from octavo.features.search.rules.hits import Finder
from octavo.model.search.searched_text import SearchedText

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
    """A file that matches a query; ``text`` is None if it is not looked at."""

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
    found = [_rank(candidate, finders) for candidate in candidates]
    return sorted(
        found,
        key=lambda each: (-each.score, -each.candidate.changed_at, each.candidate.file_id),
    )


def _rank(candidate: Candidate, finders: Sequence[Finder]) -> Ranked:
    given = candidate.text
    text = (
        given if isinstance(given, SearchedText) else SearchedText.of(given or "", candidate.path)
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
