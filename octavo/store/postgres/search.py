"""The full text index of PostgreSQL: vectors of our own tokens under a GIN index.

Each token is preceded by the tag of its workspace, as on SQLite: one index serves all workspaces,
and a search reads the entries of its own. A vector holds positions below 16,384 only, and 255 of
each token (https://www.postgresql.org/docs/current/textsearch-limitations.html). So a text is split
into pieces, which overlap by the length of the longest phrase. A clause is matched within a piece,
and the clauses of a query in any pieces of a note.
"""

from collections import Counter
from collections.abc import Iterator, Sequence

from octavo.model.search.query import MAX_TOKENS, Clause
from octavo.model.search.tokens import name_tokens, tag_of, tokens_of
from octavo.store.head_conditions import head_conditions
from octavo.store.transaction import MATCHED, Matching, NewNote, Value, indexed_title

NUMBERS = "SELECT nextval('search_numbers') FROM generate_series(1, CAST($1 AS INTEGER))"
PUT = """
    INSERT INTO search (workspace_id, note, piece, tokens)
    VALUES ($1::uuid, $2, $3, CAST(CAST($4 AS TEXT) AS TSVECTOR))
"""
PUT_NAME = """
    UPDATE search SET tokens = CAST(CAST($3 AS TEXT) AS TSVECTOR)
    WHERE workspace_id = $1::uuid AND note = $2 AND piece = 0
"""
CLEAR = "DELETE FROM search"
REMOVE = "DELETE FROM search WHERE workspace_id = $1::uuid AND note = $2"
TEXT = "SELECT compressed FROM contents WHERE pk = $1"
CONTENTS = "SELECT nextval('content_numbers') FROM generate_series(1, CAST($1 AS INTEGER))"
PIECE = 2000
"""Tokens in a piece, at most."""
_PIECES_OF_PORTION = 1000
MAX_POSITIONS = 255
"""Of one token in a piece."""

# The planner does not account for the cost of reading a vector from another page than its row, and
# prefers a scan of the table to the index.
BY_INDEX = "SELECT set_config('enable_seqscan', 'off', true)"

# Each clause is matched separately, and by its words: the workspace is compared as text so that the
# index by workspace, which leads to all vectors of it, can't be chosen. The tag has excluded most
# other workspaces already.
_FOUND = """
    SELECT note FROM search
    WHERE tokens @@ CAST(CAST({phrase} AS TEXT) AS TSQUERY)
    AND CAST(workspace_id AS TEXT) = CAST($1::uuid AS TEXT) {piece}
"""


def pieces_of(tokens: Sequence[str]) -> Iterator[Sequence[str]]:
    """Split ``tokens`` into pieces that a vector can hold, each overlapping the next.

    Any `MAX_TOKENS` of them that follow each other are in one piece.
    """
    at = 0
    while True:
        piece = tokens[at : at + PIECE]
        highest = max(Counter(piece).values(), default=0)
        if highest > MAX_POSITIONS:
            piece = piece[:MAX_POSITIONS]
        yield piece
        if at + len(piece) >= len(tokens):
            return
        at += len(piece) - MAX_TOKENS + 1


def vector(tag: str, tokens: Sequence[str]) -> str:
    """Return the notation of the vector of ``tokens``, each preceded by ``tag``."""
    positions: dict[str, list[str]] = {}
    for position, token in enumerate(tokens, 1):
        positions.setdefault(token, []).append(str(position))
    # Tokens contain neither quotes nor backslashes: they consist of letters and digits.
    return " ".join(f"'{tag}{token}':{','.join(each)}" for token, each in positions.items())


def name_vector(tag: str, path: str, title: str) -> str:
    """Return the notation of the vector of a note's name."""
    return vector(tag, name_tokens(path, title))


def rows_of(
    workspace_id: str, numbers: Sequence[int], notes: Sequence[NewNote]
) -> Iterator[tuple[Value, ...]]:
    """Return the rows of notes: the name of each, and the pieces of its text."""
    tag = tag_of(workspace_id)
    for number, (path, text) in zip(numbers, notes, strict=True):
        yield workspace_id, number, 0, name_vector(tag, path, indexed_title(text))
        for piece, tokens in enumerate(pieces_of(tokens_of(text)), 1):
            if tokens:
                yield workspace_id, number, piece, vector(tag, tokens)


def portion_rows(
    workspace_id: str, number: int, portion: int, tokens: Sequence[str]
) -> Iterator[tuple[Value, ...]]:
    """Return the rows of a portion of a long note, whose name is piece 0."""
    tag = tag_of(workspace_id)
    for piece, some in enumerate(pieces_of(tokens), 1 + portion * _PIECES_OF_PORTION):
        if some:
            yield workspace_id, number, piece, vector(tag, some)


def match(workspace_id: str, matching: Matching) -> tuple[str, tuple[Value, ...]]:
    """Return the statement that finds files, and its arguments."""
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
        path = "COALESCE(fulltext_notes.path, files.path)"
        below = f"AND {path} >= ${len(arguments) - 1} AND {path} < ${len(arguments)}"
    heads, values = head_conditions(matching.heads, len(arguments))
    arguments += values
    sql = f"""
        WITH found AS MATERIALIZED ({" INTERSECT ".join(found)})
        SELECT {MATCHED} FROM fulltext_notes JOIN files
        ON files.workspace = fulltext_notes.workspace AND files.pk = fulltext_notes.file
        WHERE fulltext_notes.workspace = (SELECT pk FROM workspaces WHERE id = $1::uuid)
        AND files.state = 'live'
        AND fulltext_notes.pk IN (SELECT note FROM found) {below}{heads}
        ORDER BY fulltext_notes.pk DESC LIMIT $2
    """
    return sql, tuple(arguments)


def _phrase(tag: str, clause: Clause) -> str:
    phrase = " <-> ".join(f"'{tag}{token}'" for token in clause.tokens)
    return f"{phrase}:*" if clause.prefix else phrase
