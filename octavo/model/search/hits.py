"""Find the clauses of a query in folded texts."""

import re
from collections.abc import Iterator
from itertools import islice

from octavo.model.search.query import Clause, Query
from octavo.model.search.tokens import EAST_ASIAN, LETTER, LONGEST_TOKEN

_EAST_ASIAN = re.compile(EAST_ASIAN)
_LETTER = re.compile(LETTER)


class Finder:
    """Finds a clause in folded texts, in linear time.

    Args:
        clause: the clause to find.
    """

    __slots__ = ("_pattern", "_whole")

    def __init__(self, clause: Clause) -> None:
        *others, last = clause.runs
        if _EAST_ASIAN.match(last):
            end = ""
        elif clause.prefix or len(last) > LONGEST_TOKEN:
            end = f"{LETTER}*+"
        else:
            end = f"(?!{LETTER})"
        words = [*map(re.escape, others), re.escape(last[:LONGEST_TOKEN])]
        self._pattern = re.compile(" *+".join(words) + end)
        # Checked after the match: a pattern that starts with a literal is much faster.
        self._whole = _EAST_ASIAN.match(clause.runs[0]) is None

    def spans(self, text: str) -> Iterator[tuple[int, int]]:
        """Yield start and end of each hit in ``text``, in order, without overlaps."""
        at = 0
        while (found := self._pattern.search(text, at)) is not None:
            start, end = found.span()
            if self._whole and start and _LETTER.match(text, start - 1):
                at = start + 1
            else:
                yield start, end
                at = end

    def matches(self, text: str) -> bool:
        """Return whether ``text`` has a hit."""
        return any(True for _ in islice(self.spans(text), 1))


def finders_of(query: Query) -> list[Finder]:
    """Return a finder for each clause, in order."""
    return [Finder(clause) for clause in query.clauses]
