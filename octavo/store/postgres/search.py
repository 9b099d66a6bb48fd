"""The full text index of PostgreSQL: vectors of our own tokens under a GIN index.

Each token stands behind the tag of its workspace, as on SQLite: the index is one for all, and a
search walks the entries of its own workspace. A vector knows positions below 16,384 only, and 255
of each token (https://www.postgresql.org/docs/current/textsearch-limitations.html). So a text
stands in pieces, which overlap by what a phrase may have. A clause is found within a piece, and the
clauses of a query in any pieces of a note.
"""

from collections import Counter
from collections.abc import Iterator, Sequence

from octavo.model.search import MOST_TOKENS, Clause
from octavo.model.search.tokens import name_tokens, tag_of, tokens_of
from octavo.store.transaction import Matching, Value

NUMBERS = "SELECT nextval('search_numbers') FROM generate_series(1, CAST($1 AS INTEGER))"
PUT = """
    INSERT INTO search (workspace_id, number, piece, tokens)
    VALUES ($1, $2, $3, CAST(CAST($4 AS TEXT) AS TSVECTOR))
"""
PUT_NAME = """
    UPDATE search SET tokens = CAST(CAST($3 AS TEXT) AS TSVECTOR)
    WHERE workspace_id = $1 AND number = $2 AND piece = 0
"""
DROP = "DELETE FROM search WHERE workspace_id = $1 AND number = $2"
PIECE = 2000
"""Tokens in a piece, at most."""
MOST_POSITIONS = 255
"""Of one token in a piece."""

# The planner knows nothing of what it costs to read a vector that stands beside its row, and would
# rather read all of them than the index.
BY_INDEX = "SELECT set_config('enable_seqscan', 'off', true)"

# Each clause by itself, and by the words: the workspace is compared so that its own index, which
# leads to all its vectors, is none to choose. The tag has told it apart already.
_FOUND = """
    SELECT number FROM search
    WHERE tokens @@ CAST(CAST({phrase} AS TEXT) AS TSQUERY) AND workspace_id || '' = $1 {piece}
"""


def pieces_of(tokens: Sequence[str]) -> Iterator[Sequence[str]]:
    """Cut ``tokens`` into pieces that a vector can hold, each overlapping the next.

    Any `MOST_TOKENS` of them that follow each other stand in one piece.
    """
    at = 0
    while True:
        piece = tokens[at : at + PIECE]
        most = max(Counter(piece).values(), default=0)
        if most > MOST_POSITIONS:
            piece = piece[:MOST_POSITIONS]
        yield piece
        if at + len(piece) >= len(tokens):
            return
        at += len(piece) - MOST_TOKENS + 1


def vector(tag: str, tokens: Sequence[str]) -> str:
    """Answer the notation of the vector of ``tokens``, each behind ``tag``."""
    positions: dict[str, list[str]] = {}
    for position, token in enumerate(tokens, 1):
        positions.setdefault(token, []).append(str(position))
    # A token holds neither quote nor backslash: it is made of letters and digits.
    return " ".join(f"'{tag}{token}':{','.join(each)}" for token, each in positions.items())


def name_vector(tag: str, path: str, title: str) -> str:
    """Answer the notation of the vector of a note's name."""
    return vector(tag, name_tokens(path, title))


def rows_of(
    workspace_id: str, numbers: Sequence[int], notes: Sequence[tuple[str, str, str]]
) -> Iterator[tuple[Value, ...]]:
    """Answer the rows of notes that are taken in under ``numbers``: path, title, text of each."""
    tag = tag_of(workspace_id)
    for number, (path, title, text) in zip(numbers, notes, strict=True):
        yield workspace_id, number, 0, name_vector(tag, path, title)
        for place, piece in enumerate(pieces_of(tokens_of(text)), 1):
            if piece:
                yield workspace_id, number, place, vector(tag, piece)


def match(workspace_id: str, matching: Matching) -> tuple[str, tuple[Value, ...]]:
    """Answer the statement that finds the files, and its arguments."""
    tag = tag_of(workspace_id)
    arguments: list[Value] = [workspace_id, matching.limit]
    found = []
    for clause in matching.clauses:
        arguments.append(_phrase(tag, clause))
        piece = "AND piece = 0" if matching.names else ""
        found.append(_FOUND.format(phrase=f"${len(arguments)}", piece=piece))
    below = ""
    if matching.below is not None:
        arguments += matching.below
        below = f"AND path >= ${len(arguments) - 1} AND path < ${len(arguments)}"
    sql = f"""
        WITH found AS MATERIALIZED ({" INTERSECT ".join(found)})
        SELECT file_id FROM worded
        WHERE workspace_id = $1 AND number IN (SELECT number FROM found) {below}
        ORDER BY number DESC LIMIT $2
    """
    return sql, tuple(arguments)


def _phrase(tag: str, clause: Clause) -> str:
    phrase = " <-> ".join(f"'{tag}{token}'" for token in clause.tokens)
    return f"{phrase}:*" if clause.prefix else phrase
