"""Transaction scripts and their statements on a connection of SQLite, driven within its thread."""

import re
import sqlite3
from collections.abc import Iterable, Sequence
from copy import copy
from operator import itemgetter
from typing import NoReturn

from attrs import define, field

from octavo.store import compression, errors, identifiers
from octavo.store.identifiers import with_text, with_texts
from octavo.store.sqlite import search
from octavo.store.sqlite.connection import STATEMENT_ERRORS, failure
from octavo.store.transaction import (
    NO_LISTENERS,
    IndexedNote,
    Listeners,
    MatchedNote,
    Matching,
    NewNote,
    Row,
    Script,
    T,
    Value,
    indexed_title,
)

_TOKEN = re.compile(
    r"""
    '(?:[^']|'')*'          # a string
    | "(?:[^"]|"")*"        # a quoted name
    | --[^\n]*              # a comment
    | /\*.*?\*/
    | (?<![\w$])\$(?P<number>[0-9]+)(?P<cast>::uuid)?
    """,
    re.VERBOSE | re.DOTALL,
)
# Statements are written in the code, so there are few. Those that are composed from a list may
# still come in many lengths.
MAX_KEPT = 2048


class Statement:
    """A statement, with the arguments and the columns of its result that are identifiers.

    Attributes:
        sql: the text for SQLite.
        parameters: how many arguments it takes.
        columns: which columns of the result are identifiers; None until it was executed.
    """

    __slots__ = ("_arguments", "columns", "parameters", "sql")

    def __init__(self, sql: str) -> None:
        cast: set[int] = set()
        numbers = {0}

        def replaced(token: re.Match[str]) -> str:
            if not token["number"]:
                return token[0]
            numbers.add(int(token["number"]))
            if token["cast"]:
                cast.add(int(token["number"]) - 1)
            return f"?{token['number']}"

        self.sql = _TOKEN.sub(replaced, sql)
        self.parameters = max(numbers)
        self._arguments = tuple(sorted(cast))
        self.columns: tuple[int, ...] | None = None

    def bind(self, arguments: Sequence[Value]) -> Sequence[Value]:
        """Return the arguments for SQLite; raise ValueError for identifiers that are not UUIDs."""
        if not self._arguments:
            return arguments
        bound = [*arguments]
        for at in self._arguments:
            # SQLite reports missing arguments.
            value = bound[at] if at < len(bound) else None
            if isinstance(value, str):
                bound[at] = identifiers.to_bytes(value)
        return bound

    def describe(self, cursor: sqlite3.Cursor) -> tuple[int, ...]:
        """Set `columns`, and return them; ``cursor`` has executed this."""
        described = cursor.description or ()
        self.columns = identifiers.identifier_columns(column[0] for column in described)
        return self.columns


class Statements(dict[str, Statement]):
    """Statements by their texts in scripts, each translated when it is first looked up."""

    def __missing__(self, sql: str) -> Statement:
        if len(self) >= MAX_KEPT:
            self.clear()
        result = self[sql] = Statement(sql)
        return result


_LAST_CONTENT = """
    SELECT MAX(
        COALESCE((SELECT MAX(pk) FROM contents), 0),
        COALESCE((SELECT MAX(pk) FROM images), 0)
    )
"""
_OVER = errors.StatementInvalid("the transaction is over")


@define(eq=False)
class SqliteTransaction:
    """The statements of one script. The caller begins and ends the transaction.

    Attributes:
        listeners: what features do in it.
        failure: what ended the transaction early; its statements raise copies of it from then on:
            it would refer to the frames that it passed, which refer to the transaction.
    """

    _connection: sqlite3.Connection
    _statements: Statements
    listeners: Listeners = NO_LISTENERS
    _reading: bool = False
    failure: errors.StoreError | None = field(default=None, init=False)

    async def fetch_one(self, sql: str, *arguments: Value) -> Row | None:
        """Return the first row, or None."""
        if self.failure is not None:
            self._refuse()
        try:
            statement = self._statements[sql]
            cursor = self._connection.execute(statement.sql, statement.bind(arguments))
            row: Row | None = cursor.fetchone()
            columns = statement.columns
            if columns is None:
                columns = statement.describe(cursor)
            # A statement with rows left would block the commit.
            cursor.close()
        except STATEMENT_ERRORS as error:
            raise self._failed(error) from error
        return with_text(row, columns) if columns and row is not None else row

    async def fetch_all(self, sql: str, *arguments: Value) -> Sequence[Row]:
        """Return every row."""
        if self.failure is not None:
            self._refuse()
        try:
            statement = self._statements[sql]
            cursor = self._connection.execute(statement.sql, statement.bind(arguments))
            rows = cursor.fetchall()
        except STATEMENT_ERRORS as error:
            raise self._failed(error) from error
        columns = statement.columns
        if columns is None:
            columns = statement.describe(cursor)
        return with_texts(rows, columns) if columns and rows else rows

    async def execute(self, sql: str, *arguments: Value) -> int:
        """Execute, and return how many rows were inserted, changed or deleted."""
        if self.failure is not None:
            self._refuse()
        try:
            statement = self._statements[sql]
            cursor = self._connection.execute(statement.sql, statement.bind(arguments))
            if cursor.description is not None:
                # The count of a statement with RETURNING is known when its rows were read.
                cursor.fetchall()
        except STATEMENT_ERRORS as error:
            raise self._failed(error) from error
        count = cursor.rowcount
        return max(count, 0)

    async def notify(self, channel: str, payload: str) -> None:
        """Do nothing: no other process uses the database."""

    async def execute_many(self, sql: str, rows: Iterable[Sequence[Value]]) -> None:
        """Execute once for each row of arguments."""
        if self.failure is not None:
            self._refuse()
        try:
            statement = self._statements[sql]
            self._connection.executemany(statement.sql, map(statement.bind, rows))
        except STATEMENT_ERRORS as error:
            raise self._failed(error) from error

    async def new_contents(self, count: int) -> Sequence[int]:
        """Return numbers for new texts and images, which are to be inserted, in ascending order."""
        row = await self.fetch_one(_LAST_CONTENT)
        first = 1 if row is None else row[0] + 1
        return range(first, first + count)

    async def put_words(self, workspace_id: str, notes: Sequence[NewNote]) -> Sequence[int]:
        """Add short notes to the full text index; return their numbers, in order."""
        row = await self.fetch_one(search.NUMBER, len(notes))
        last = len(notes) if row is None else row[0]
        numbers = range(last + 1 - len(notes), last + 1)
        rows = (
            search.index_row(workspace_id, number, note.path, indexed_title(note.text), note.text)
            for number, note in zip(numbers, notes, strict=True)
        )
        await self.execute_many(search.PUT, rows)
        return numbers

    async def new_words(self) -> int:
        """Return the number of a long note that is to be added to the full text index."""
        row = await self.fetch_one(search.NUMBER, 1)
        return 1 if row is None else int(row[0])

    async def put_portion(
        self, workspace_id: str, number: int, portion: int, tokens: Sequence[str]
    ) -> None:
        """Add a portion of a long note's text, counted from 0, to the full text index."""
        await self.execute(search.PUT, *search.portion_row(workspace_id, number, portion, tokens))

    async def put_name(self, workspace_id: str, number: int, path: str, title: str) -> None:
        """Add the path and the title of a long note to the full text index."""
        await self.execute(search.PUT, *search.name_row(workspace_id, number, path, title))

    async def rename_words(
        self, workspace_id: str, notes: Sequence[tuple[IndexedNote, str]]
    ) -> None:
        """Change the paths of notes that are in the full text index."""
        for note, path in notes:
            row = await self.fetch_one(search.TEXT, note.content)
            # The words of a damaged text remain under a number that no note has then.
            text = "" if row is None else compression.undamaged(row[0]) or ""
            title = indexed_title(text)
            for statement, name in ((search.REMOVE, note.path or ""), (search.PUT, path)):
                renamed = (
                    search.name_row(workspace_id, note.pk, name, title)
                    if note.portions
                    else search.index_row(workspace_id, note.pk, name, title, text)
                )
                await self.execute(statement, *renamed)

    async def remove_words(
        self, workspace_id: str, note: IndexedNote, text: str, portion: int
    ) -> int | None:
        """Remove words of a note from the full text index: those of one portion of its ``text``.

        Returns how many tokens the portion has, None when nothing of the note is left.
        """
        removed = search.removal(workspace_id, note, text, portion)
        if removed is None:
            return None
        row, tokens, uncounted = removed
        if note.portions and note.path is not None and portion == 0:
            name = search.name_row(workspace_id, note.pk, note.path, indexed_title(text))
            await self.execute(search.REMOVE, *name)
        # Each removal is one of a row for FTS5, which reports a damaged table without rows.
        for _ in range(uncounted):
            await self.execute(search.PUT, note.pk, "", "")
        await self.execute(search.REMOVE, *row)
        return tokens

    async def merge_words(self, *, begin: bool) -> bool:
        """Overwrite some entries of removed notes in the full text index."""
        before = self._connection.total_changes
        await self.execute(search.MERGE, -search.MERGED_PAGES if begin else search.MERGED_PAGES)
        return self._connection.total_changes - before >= search.LEAST_CHANGES

    async def settle_words(self) -> None:
        """Make changes of the full text index fail now instead of in the commit."""
        # FTS5 keeps them in memory until a savepoint begins.
        await self.execute("SAVEPOINT settled")
        await self.execute("RELEASE settled")

    async def words_are_worn_out(self) -> bool:
        """Return whether the full text index can't take many more changes."""
        row = await self.fetch_one(search.STRUCTURE)
        return search.is_worn_out(None if row is None else row[0])

    async def clear_words(self) -> None:
        """Empty the full text index, even if it is damaged."""
        for sql in search.CLEAR:
            await self.execute(sql)

    async def match_words(self, workspace_id: str, matching: Matching) -> Sequence[MatchedNote]:
        """Return the live notes that match, those first that were indexed last."""
        sql, arguments = search.match(workspace_id, matching)
        rows = await self.fetch_all(sql, *arguments)
        # A query takes as long without any.
        if await self.fetch_one(search.HAS_LONG, workspace_id) is not None:
            sql, arguments = search.match_long(workspace_id, matching)
            long = await self.fetch_all(sql, *arguments)
            rows = sorted((*rows, *long), key=itemgetter(-1), reverse=True)
        return [MatchedNote._make(row[:-1]) for row in rows[: matching.limit]]

    def _refuse(self) -> NoReturn:
        raise copy(self.failure or _OVER)

    def _failed(self, error: BaseException) -> errors.StoreError:
        self.failure = failure(error, reading=self._reading)
        return copy(self.failure)

    def drive(self, script: Script[T]) -> T:
        """Run ``script`` to its end, and return what it returns.

        What it raises propagates. So does the failure of a statement that the script caught: half
        of a script must not count as the whole. Raises `StatementInvalid` when it awaits anything
        but this transaction. The transaction is over afterwards in any case.
        """
        if self.failure is not None:
            self._refuse()
        steps = script(self).__await__()
        try:
            steps.send(None)
        except StopIteration as end:
            if self.failure is not None:
                raise copy(self.failure) from None
            result: T = end.value
            return result
        else:
            steps.close()
            raise errors.StatementInvalid(
                "a transaction script awaited something else than its transaction"
            )
        finally:
            if self.failure is None:
                self.failure = _OVER
