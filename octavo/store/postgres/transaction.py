"""Transaction scripts on a connection of PostgreSQL, run in asyncio, with saves and searches."""

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from copy import copy

from attrs import define, field

from octavo.model.search.query import MAX_TOKENS, Clause
from octavo.model.search.tokens import name_tokens, tag_of, tokens_of
from octavo.store.compression import undamaged
from octavo.store.errors import StatementInvalid, StoreError
from octavo.store.head_conditions import head_conditions
from octavo.store.postgres.connection import FAILURES, PooledConnection, commit_failure, failure
from octavo.store.queries.revision_rows import COPIED, NAMES
from octavo.store.transaction import (
    MATCHED,
    NO_LISTENERS,
    IndexedNote,
    Listeners,
    MatchedNote,
    Matching,
    NewNote,
    NotInOneStatement,
    Row,
    TextSaves,
    Value,
    indexed_title,
)

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
"""The maximum number of positions of one token in a piece."""

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
    return " ".join(f"'{tag}{token}':{','.join(numbers)}" for token, numbers in positions.items())


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
    matches = []
    for clause in matching.clauses:
        arguments.append(_phrase(tag, clause))
        piece = "AND piece = 0" if matching.names else ""
        matches.append(_FOUND.format(phrase=f"${len(arguments)}", piece=piece))
    below = ""
    if matching.below is not None:
        arguments += matching.below
        path = "COALESCE(fulltext_notes.path, files.path)"
        below = f"AND {path} >= ${len(arguments) - 1} AND {path} < ${len(arguments)}"
    heads, values = head_conditions(matching.heads, len(arguments))
    arguments += values
    sql = f"""
        WITH matching AS MATERIALIZED ({" INTERSECT ".join(matches)})
        SELECT {MATCHED} FROM fulltext_notes JOIN files
        ON files.workspace = fulltext_notes.workspace AND files.pk = fulltext_notes.file
        WHERE fulltext_notes.workspace = (SELECT pk FROM workspaces WHERE id = $1::uuid)
        AND files.state = 'live'
        AND fulltext_notes.pk IN (SELECT note FROM matching) {below}{heads}
        ORDER BY fulltext_notes.pk DESC LIMIT $2
    """
    return sql, tuple(arguments)


def _phrase(tag: str, clause: Clause) -> str:
    phrase = " <-> ".join(f"'{tag}{token}'" for token in clause.tokens)
    return f"{phrase}:*" if clause.prefix else phrase


_TYPES = {"position": "bigint", "digest": "bytea", "size": "bigint", "changed_at": "bigint"}
_TYPES |= {"program": "bigint"}
_RECEIPT = {
    "mutation_id": "uuid",
    "fingerprint": "bytea",
    "position": "bigint",
    "mark_id": "uuid",
    "changes": "bytea",
    "created_at": "bigint",
}
_REPLACED = [name for name in NAMES if name not in ("file_id", "state", "kind", "path")]
_FIRST = 9


def _type_of(name: str) -> str:
    return "uuid" if name.endswith("_id") else _TYPES.get(name, "text")


def _columns(first: int, types: dict[str, str]) -> str:
    """Return ``unnest`` of arguments from ``$first`` on, an array for each column."""
    arrays = ", ".join(
        f"${number}::{type_name}[]" for number, type_name in enumerate(types.values(), first)
    )
    return f"unnest({arrays}) AS arguments ({', '.join(types)})"


_HEAD = {name: _type_of(name) for name in (*NAMES, "base_id")} | {"compressed": "bytea"}
_OLD = (
    "FROM saved JOIN files ON files.workspace = saved.workspace AND files.file_id = saved.file_id"
)
SAVE = f"""
    WITH moved AS (
        UPDATE workspaces SET position = $4, mark_id = $5::uuid, size = size + $6
        WHERE id = $1::uuid AND position = $2 AND mark_id = $3::uuid
        RETURNING pk, documents_were_read
    ), saved AS (
        SELECT moved.pk AS workspace, moved.documents_were_read, arguments.*,
            nextval('content_numbers') AS content
        FROM moved, {_columns(_FIRST, _HEAD)}
    ), preserved AS (
        INSERT INTO documents (workspace, file, epoch_id, content_revision_id, base_state, vector)
        SELECT files.workspace, files.pk, COALESCE(files.content_revision_id, files.revision_id),
            COALESCE(files.content_revision_id, files.revision_id), contents.compressed, ''::bytea
        {_OLD} JOIN contents ON contents.pk = files.content
        WHERE saved.documents_were_read = 1 ON CONFLICT (workspace, file) DO NOTHING
    ), superseded AS (
        INSERT INTO revisions (workspace, file, {COPIED})
        SELECT files.workspace, files.pk, {", ".join(f"files.{e}" for e in COPIED.split(", "))}
        {_OLD}
    ), replaced AS (
        UPDATE files SET {", ".join(f"{name} = saved.{name}" for name in (*_REPLACED, "content"))}
        FROM saved WHERE files.workspace = saved.workspace AND files.file_id = saved.file_id
            AND files.kind = saved.kind AND files.state = saved.state AND files.path = saved.path
            AND files.revision_id = saved.base_id
        RETURNING 1
    ), texts AS (
        INSERT INTO contents (pk, compressed) SELECT content, compressed FROM saved
    ), remembered AS (
        INSERT INTO receipts (workspace, {", ".join(_RECEIPT)})
        SELECT moved.pk, arguments.* FROM moved, {_columns(_FIRST + len(_HEAD), _RECEIPT)}
        ON CONFLICT DO NOTHING RETURNING 1
    )
    SELECT 1 / CAST(
            (SELECT COUNT(*) FROM replaced) = CARDINALITY(${_FIRST}::uuid[])
            AND (SELECT COUNT(*) FROM remembered) = CARDINALITY(${_FIRST + len(_HEAD)}::uuid[])
        AS INTEGER),
        pg_notify($7, $8)::text
    FROM moved
"""
"""Divides by zero, which undoes everything, unless all heads were where they should be and all
receipts are new; does nothing and returns no row when the cursor has moved."""


def arguments_of(saves: TextSaves) -> list[object]:
    """Return the arguments of `SAVE`."""
    columns: list[object] = [list(column) for column in zip(*saves.heads, strict=True)]
    receipts: list[object] = [list(column) for column in zip(*saves.receipts, strict=True)]
    return [
        saves.workspace_id,
        *saves.planned_at,
        *saves.reached,
        saves.growth,
        *saves.notice,
        *columns,
        list(saves.texts),
        *(receipts or [[] for _ in _RECEIPT]),
    ]


_CHANGING = frozenset({"INSERT", "UPDATE", "DELETE", "MERGE"})


def changed_rows(tag: str) -> int:
    """Return how many rows a statement changed, by the tag of its result: ``INSERT 0 1``."""
    words = tag.split()
    return int(words[-1]) if words and words[0] in _CHANGING else 0


@define(eq=False)
class PostgresTransaction:
    """The statements of one script. The caller begins and ends the transaction.

    Args:
        connection: executes them.
        reading: whether the transaction is read-only.
        single: whether it has one statement at most (`single_statement`).

    Attributes:
        listeners: what features do in it.
        failure: what ended the transaction early; its statements raise copies of it from then on:
            it would refer to the frames that it passed, which refer to the transaction.
    """

    _connection: PooledConnection
    _reading: bool
    listeners: Listeners = NO_LISTENERS
    _single: bool = False
    _begun: bool = field(default=False, init=False)
    failure: StoreError | None = field(default=None, init=False)

    async def fetch_one(self, sql: str, *arguments: Value) -> Row | None:
        """Return the first row, or None."""
        return await self._fetch_one(sql, arguments)

    async def _fetch_one(self, sql: str, arguments: Sequence[object]) -> Row | None:
        self._begin(sql)
        try:
            row = await self._connection.fetchrow(sql, *arguments)
        except FAILURES as error:
            raise self._failed(error) from error
        return None if row is None else tuple(row)

    async def fetch_all(self, sql: str, *arguments: Value) -> Sequence[Row]:
        """Return every row."""
        self._begin(sql)
        try:
            return [tuple(row) for row in await self._connection.fetch(sql, *arguments)]
        except FAILURES as error:
            raise self._failed(error) from error

    async def execute(self, sql: str, *arguments: Value) -> int:
        """Execute, and return how many rows were inserted, changed or deleted."""
        self._begin(sql)
        try:
            return changed_rows(await self._connection.execute(sql, *arguments))
        except FAILURES as error:
            raise self._failed(error) from error

    async def notify(self, channel: str, payload: str) -> None:
        """Send ``payload`` to the listeners on ``channel``, once this is committed."""
        await self.fetch_one("SELECT pg_notify($1, $2)", channel, payload)

    async def execute_many(self, sql: str, rows: Iterable[Sequence[Value]]) -> None:
        """Execute once for each row of arguments."""
        self._begin(sql)
        try:
            await self._connection.executemany(sql, rows)
        except FAILURES as error:
            raise self._failed(error) from error

    async def save_texts(self, saves: TextSaves) -> None:
        """Save new texts, or raise `NotInOneStatement`."""
        try:
            row = await self._fetch_one(SAVE, arguments_of(saves))
        except StatementInvalid as error:
            raise NotInOneStatement from error
        if row is None:
            raise NotInOneStatement

    async def new_contents(self, count: int) -> Sequence[int]:
        """Return numbers for new texts and images, which are to be inserted, in ascending order."""
        return sorted(row[0] for row in await self.fetch_all(CONTENTS, count))

    async def put_words(self, workspace_id: str, notes: Sequence[NewNote]) -> Sequence[int]:
        """Add short notes to the full text index; return their numbers, in order."""
        numbers = [row[0] for row in await self.fetch_all(NUMBERS, len(notes))]
        await self.execute_many(PUT, rows_of(workspace_id, numbers, notes))
        return numbers

    async def new_words(self) -> int:
        """Return the number of a long note that is to be added to the full text index."""
        [row] = await self.fetch_all(NUMBERS, 1)
        return int(row[0])

    async def put_portion(
        self, workspace_id: str, number: int, portion: int, tokens: Sequence[str]
    ) -> None:
        """Add a portion of a long note's text, counted from 0, to the full text index."""
        await self.execute_many(PUT, portion_rows(workspace_id, number, portion, tokens))

    async def put_name(self, workspace_id: str, number: int, path: str, title: str) -> None:
        """Add the path and the title of a long note to the full text index."""
        vector = name_vector(tag_of(workspace_id), path, title)
        await self.execute(PUT, workspace_id, number, 0, vector)

    async def rename_words(
        self, workspace_id: str, notes: Sequence[tuple[IndexedNote, str]]
    ) -> None:
        """Change the paths of notes that are in the full text index."""
        tag = tag_of(workspace_id)
        for note, path in notes:
            row = await self.fetch_one(TEXT, note.content)
            title = "" if row is None else indexed_title(undamaged(row[0]) or "")
            await self.execute(PUT_NAME, workspace_id, note.pk, name_vector(tag, path, title))

    async def remove_words(
        self, workspace_id: str, note: IndexedNote, text: str, portion: int
    ) -> int | None:
        """Remove all words of a note from the full text index; return None."""
        await self.execute(REMOVE, workspace_id, note.pk)
        return None

    async def merge_words(self, *, begin: bool) -> bool:
        """Do nothing: the server overwrites deleted rows when it vacuums."""
        return False

    async def settle_words(self) -> None:
        """Do nothing: changes fail at once."""

    async def words_are_worn_out(self) -> bool:
        """Return False: the index is an ordinary table."""
        return False

    async def clear_words(self) -> None:
        """Empty the full text index."""
        await self.execute(CLEAR)

    async def match_words(self, workspace_id: str, matching: Matching) -> Sequence[MatchedNote]:
        """Return the live notes that match, those first that were indexed last."""
        await self.fetch_one(BY_INDEX)
        sql, arguments = match(workspace_id, matching)
        return [MatchedNote._make(row[:-1]) for row in await self.fetch_all(sql, *arguments)]

    def _begin(self, sql: str) -> None:
        if self.failure is not None:
            raise copy(self.failure)
        if self._single:
            # Outside of a transaction, the server would execute anything.
            if self._begun or (self._reading and not sql.lstrip().startswith("SELECT")):
                self.failure = StatementInvalid(
                    "a script that is marked with single_statement has more than one SELECT"
                )
                raise copy(self.failure)
            self._begun = True

    def _failed(self, error: BaseException) -> StoreError:
        if self._single and not self._reading:
            # The statement commits, too.
            self.failure = commit_failure(error)
        else:
            self.failure = failure(error, reading=self._reading)
        return copy(self.failure)
