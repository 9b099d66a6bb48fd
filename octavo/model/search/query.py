"""What somebody types to search for, and what it asks of the files."""

import re
from dataclasses import dataclass

from octavo.model.search.tokens import LONGEST_TOKEN, pairs_of, runs_of

LONGEST_QUERY = 500
"""Characters."""
MOST_CLAUSES = 16
MOST_TOKENS = 32
"""In one phrase: engines keep texts in pieces that overlap by so many."""

_NOTE_NAME = re.compile(r"(.)\.md\Z", re.IGNORECASE)
_PART = re.compile(r'"([^"]*+)(?:"|\Z)(\*)?|[^\s"]++')


class InvalidQuery(ValueError):
    """The query asks for nothing, or for too much; the text says what to do."""


@dataclass(frozen=True, slots=True)
class Clause:
    """Tokens that stand one behind the other.

    Attributes:
        tokens: as `tokens_of` answers them for a text.
        prefix: whether the last token may go on.
        runs: the words as they are written, folded, to find them again in a text.
    """

    tokens: tuple[str, ...]
    prefix: bool
    runs: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Query:
    """What each file has to hold: every clause, in its text or in its name."""

    clauses: tuple[Clause, ...]


def parse_query(given: str) -> Query:
    """Return what ``given`` asks for.

    Words must all be there; the last one, and each that ends with ``*``, may be the beginning of a
    word. What stands in quotes is a phrase. Anything else, as the operators of an engine, is text.
    Raises `InvalidQuery`.
    """
    if len(given) > LONGEST_QUERY:
        raise InvalidQuery(f"A query has at most {LONGEST_QUERY} characters: leave some words out.")
    parts = [(part[1] is not None, part) for part in _PART.finditer(given)]
    clauses = []
    for at, (quoted, part) in enumerate(parts):
        text = part[1] if quoted else part[0]
        starred = part[2] is not None if quoted else text.endswith("*")
        if not quoted:
            # The names of notes are known without it.
            text = _NOTE_NAME.sub(r"\1", text)
        clause = _clause(text, prefix=starred or (not quoted and at == len(parts) - 1))
        if clause is not None:
            clauses.append(clause)
    clauses = list(dict.fromkeys(clauses))
    if not clauses:
        raise InvalidQuery("There is nothing to search for: give a word with a letter or a digit.")
    if len(clauses) > MOST_CLAUSES:
        raise InvalidQuery(f"A query has at most {MOST_CLAUSES} words: leave some out.")
    if any(len(clause.tokens) > MOST_TOKENS for clause in clauses):
        raise InvalidQuery(f"A phrase has at most {MOST_TOKENS} words or characters: shorten it.")
    return Query(tuple(clauses))


def _clause(text: str, *, prefix: bool) -> Clause | None:
    tokens: list[str] = []
    runs = runs_of(text)
    for at, (run, east_asian) in enumerate(runs):
        last = at == len(runs) - 1
        if east_asian:
            tokens += pairs_of(run, ended=not last)
            # One character is the beginning of the pair that it stands in, or stands at an end.
            prefix = (len(run) == 1) if last else prefix
        else:
            # A token that was cut in the index can't be told from a longer one.
            tokens.append(run[:LONGEST_TOKEN])
    return Clause(tuple(tokens), prefix, tuple(run for run, _ in runs)) if tokens else None
