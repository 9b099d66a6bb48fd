"""Parse search queries, and restrict a search to notes by the last change of each."""

import re
from dataclasses import dataclass

from octavo_rules.identity import AccountId

from octavo.model.search.tokens import LONGEST_TOKEN, pairs_of, runs_of

LONGEST_QUERY = 500
"""Characters of a query."""
MAX_CLAUSES = 16
MAX_TOKENS = 32
"""Tokens of a phrase: engines store texts in pieces that overlap by this many."""

_NOTE_NAME = re.compile(r"(.)\.md\Z", re.IGNORECASE)
_PART = re.compile(r'"([^"]*+)(?:"|\Z)(\*)?|[^\s"]++')


class InvalidQuery(ValueError):
    """The query is empty or too large; the text says what to do."""


@dataclass(frozen=True, slots=True)
class Clause:
    """A sequence of tokens that must occur consecutively.

    Attributes:
        tokens: tokens as returned by `tokens_of` for a text.
        prefix: whether the last token may be the start of a longer one.
        runs: the folded words, for finding them in a text.
    """

    tokens: tuple[str, ...]
    prefix: bool
    runs: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Query:
    """The clauses that a file must contain, each in its text or in its name."""

    clauses: tuple[Clause, ...]


def parse_query(text: str) -> Query:
    """Parse a query; raises `InvalidQuery`.

    All words are required. The last word, and each that ends with ``*``, matches as a prefix. A
    quoted text is a phrase. Anything else is text, including operators of a search engine.
    """
    if len(text) > LONGEST_QUERY:
        raise InvalidQuery(f"The maximum is {LONGEST_QUERY} characters: remove some words.")
    parts = [(part[1] is not None, part) for part in _PART.finditer(text)]
    clauses = []
    for at, (quoted, part) in enumerate(parts):
        words = part[1] if quoted else part[0]
        starred = part[2] is not None if quoted else words.endswith("*")
        if not quoted:
            # The names of notes are indexed without the extension.
            words = _NOTE_NAME.sub(r"\1", words)
        clause = _clause(words, prefix=starred or (not quoted and at == len(parts) - 1))
        if clause is not None:
            clauses.append(clause)
    clauses = list(dict.fromkeys(clauses))
    if not clauses:
        raise InvalidQuery("The query is empty: give a word with a letter or a digit.")
    if len(clauses) > MAX_CLAUSES:
        raise InvalidQuery(f"The maximum is {MAX_CLAUSES} words: remove some.")
    if any(len(clause.tokens) > MAX_TOKENS for clause in clauses):
        raise InvalidQuery(f"A phrase has at most {MAX_TOKENS} words or characters: shorten it.")
    return Query(tuple(clauses))


def _clause(text: str, *, prefix: bool) -> Clause | None:
    tokens: list[str] = []
    runs = runs_of(text)
    for at, (run, east_asian) in enumerate(runs):
        last = at == len(runs) - 1
        if east_asian:
            tokens += pairs_of(run, ended=not last)
            # A single character is the start of its pair, or the last of its run.
            prefix = (len(run) == 1) if last else prefix
        else:
            # The index truncates tokens, so longer tokens can't be distinguished.
            tokens.append(run[:LONGEST_TOKEN])
    return Clause(tuple(tokens), prefix, tuple(run for run, _ in runs)) if tokens else None


@dataclass(frozen=True, slots=True)
class HeadFilter:
    """Which heads of notes to find; None for any.

    Attributes:
        since: the first time, in milliseconds of Unix time.
        before: the first time after the last.
        author: whose change it was.
    """

    since: int | None = None
    before: int | None = None
    author: AccountId | None = None


ANY_HEAD = HeadFilter()
"""Every head."""
