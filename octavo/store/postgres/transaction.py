"""Transaction scripts on a connection of PostgreSQL, run in asyncio."""

from collections.abc import Iterable, Sequence
from copy import copy

from octavo.model.search.tokens import tag_of
from octavo.store.compression import undamaged
from octavo.store.errors import StatementInvalid, StoreError
from octavo.store.postgres.connection import PooledConnection
from octavo.store.postgres.failures import FAILURES, commit_failure, failure
from octavo.store.postgres.saves import SAVE, arguments_of
from octavo.store.postgres.search import (
    BY_INDEX,
    CLEAR,
    CONTENTS,
    NUMBERS,
    PUT,
    PUT_NAME,
    REMOVE,
    TEXT,
    match,
    name_vector,
    portion_rows,
    rows_of,
)
from octavo.store.transaction import (
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

_CHANGING = frozenset({"INSERT", "UPDATE", "DELETE", "MERGE"})


def changed_rows(tag: str) -> int:
    """Return how many rows a statement changed, by the tag of its result: ``INSERT 0 1``."""
    words = tag.split()
    return int(words[-1]) if words and words[0] in _CHANGING else 0


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

    __slots__ = ("_begun", "_connection", "_reading", "_single", "failure", "listeners")

    def __init__(
        self,
        connection: PooledConnection,
        listeners: Listeners = NO_LISTENERS,
        *,
        reading: bool,
        single: bool = False,
    ) -> None:
        self.listeners = listeners
        self._connection = connection
        self._reading = reading
        self._single = single
        self._begun = False
        self.failure: StoreError | None = None

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
