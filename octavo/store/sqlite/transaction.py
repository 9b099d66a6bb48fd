"""Transaction scripts on a connection of SQLite, driven without ever leaving the thread."""

import sqlite3
from collections.abc import Iterable, Sequence

from octavo.store.errors import StatementInvalid, StoreError
from octavo.store.sqlite.failures import STATEMENT_ERRORS, failure
from octavo.store.sqlite.placeholders import Translations
from octavo.store.sqlite.search import (
    DROP,
    LEAST_CHANGES,
    MERGE,
    MERGED_PAGES,
    NUMBER,
    PUT,
    TEXT,
    match,
    renamed,
    row_of,
)
from octavo.store.transaction import IndexedNote, Matching, Row, Script, T, Value


class SqliteTransaction:
    """The statements of one script. Whoever makes it begins and ends the transaction.

    Attributes:
        failure: what ended the transaction before its time; its statements raise it from then on.
    """

    __slots__ = ("_connection", "_reading", "_translations", "failure")

    def __init__(
        self, connection: sqlite3.Connection, translations: Translations, *, reading: bool = False
    ) -> None:
        self._connection = connection
        self._translations = translations
        self._reading = reading
        self.failure: StoreError | None = None

    async def fetch_one(self, sql: str, *arguments: Value) -> Row | None:
        """Answer the first row; None when there is none."""
        if self.failure is not None:
            raise self.failure
        try:
            cursor = self._connection.execute(self._translations[sql], arguments)
            row: Row | None = cursor.fetchone()
            # A statement that has rows left would hold up the commit.
            cursor.close()
        except STATEMENT_ERRORS as error:
            raise self._failed(error) from error
        return row

    async def fetch_all(self, sql: str, *arguments: Value) -> Sequence[Row]:
        """Answer every row."""
        if self.failure is not None:
            raise self.failure
        try:
            return self._connection.execute(self._translations[sql], arguments).fetchall()
        except STATEMENT_ERRORS as error:
            raise self._failed(error) from error

    async def execute(self, sql: str, *arguments: Value) -> int:
        """Execute, and answer how many rows were inserted, changed or deleted."""
        if self.failure is not None:
            raise self.failure
        try:
            cursor = self._connection.execute(self._translations[sql], arguments)
            if cursor.description is not None:
                # The count of a statement with RETURNING is known when its rows were read.
                cursor.fetchall()
        except STATEMENT_ERRORS as error:
            raise self._failed(error) from error
        count = cursor.rowcount
        return max(count, 0)

    async def notify(self, channel: str, payload: str) -> None:
        """Tell nobody: this process has the database for itself."""

    async def execute_many(self, sql: str, rows: Iterable[Sequence[Value]]) -> None:
        """Execute once for each row of arguments."""
        if self.failure is not None:
            raise self.failure
        translated = self._translations[sql]
        try:
            self._connection.executemany(translated, rows)
        except STATEMENT_ERRORS as error:
            raise self._failed(error) from error

    async def put_words(
        self, workspace_id: str, notes: Sequence[tuple[str, str, str]]
    ) -> Sequence[int]:
        """Take notes into the full text index; answer their numbers, in order."""
        row = await self.fetch_one(NUMBER, len(notes))
        last = len(notes) if row is None else row[0]
        numbers = range(last + 1 - len(notes), last + 1)
        rows = (
            row_of(workspace_id, number, *note) for number, note in zip(numbers, notes, strict=True)
        )
        await self.execute_many(PUT, rows)
        return numbers

    async def rename_words(
        self, workspace_id: str, notes: Sequence[tuple[IndexedNote, str]]
    ) -> None:
        """Give notes that are in the full text index other paths."""
        for note, path in notes:
            text = await self._text(workspace_id, note)
            left, taken = renamed(workspace_id, note, path, text)
            await self.execute(DROP, *left)
            await self.execute(PUT, *taken)

    async def drop_words(self, workspace_id: str, notes: Sequence[IndexedNote]) -> None:
        """Take notes out of the full text index, while their texts are still kept."""
        for note in notes:
            text = await self._text(workspace_id, note)
            row = row_of(workspace_id, note.number, note.path, note.title, text)
            await self.execute(DROP, *row)

    async def _text(self, workspace_id: str, note: IndexedNote) -> str:
        row = await self.fetch_one(TEXT, workspace_id, note.content_id)
        return "" if row is None else row[0]

    async def merge_words(self, *, begin: bool) -> bool:
        """Overwrite some of what the full text index still has of notes that were taken out."""
        before = self._connection.total_changes
        await self.execute(MERGE, -MERGED_PAGES if begin else MERGED_PAGES)
        return self._connection.total_changes - before >= LEAST_CHANGES

    async def match_words(self, workspace_id: str, matching: Matching) -> Sequence[str]:
        """Answer the ids of notes that match, those first that were taken in last."""
        sql, arguments = match(workspace_id, matching)
        return [row[0] for row in await self.fetch_all(sql, *arguments)]

    def _failed(self, error: BaseException) -> StoreError:
        self.failure = failure(error, reading=self._reading)
        return self.failure

    def drive(self, script: Script[T]) -> T:
        """Run ``script`` to its end, and answer what it returns.

        What it raises comes out. So does the failure of a statement that it kept to itself: half
        of a script must not be taken for the whole. Raises `StatementInvalid` when it awaits
        anything but this transaction, which is over afterwards in any case.
        """
        steps = script(self).__await__()
        try:
            steps.send(None)
        except StopIteration as end:
            if self.failure is not None:
                raise self.failure from None
            result: T = end.value
            return result
        else:
            steps.close()
            raise StatementInvalid(
                "a transaction script awaited something else than its transaction"
            )
        finally:
            if self.failure is None:
                self.failure = StatementInvalid("the transaction is over")
