"""Find the clauses of a query in folded texts."""

import re
from collections.abc import Iterator

from octavo.model.search.query import Clause, Query
from octavo.model.search.tokens import EAST_ASIAN, LETTER, LONGEST_TOKEN

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
            # Looked up behind the word: a pattern that starts with a literal is much faster.
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
        found = self._pattern.search(text)
        return None if found is None else found.start()


def finders_of(query: Query) -> list[Finder]:
    """Return a finder for each clause, in order."""
    return [Finder(clause) for clause in query.clauses]
