"""A store without threads, for deterministic runs."""

import sqlite3
from collections.abc import Awaitable, Callable, Sequence
from functools import cache
from graphlib import TopologicalSorter
from pathlib import Path
from typing import Any

import trio
from outcome import Value

from octavo.store.errors import StoreError
from octavo.store.migrations import shipped
from octavo.store.sqlite.connection import connect, require_sqlite
from octavo.store.sqlite.migrating import applied_version, migrate
from octavo.store.sqlite.transaction import SqliteTransaction, Statement, Statements
from octavo.store.sqlite.writer import BatchTransaction, Outcomes, all_failed, commit, roll_back
from octavo.store.transaction import NO_LISTENERS, Listeners, Script, T

# Copying a migrated database takes a tenth of the time of the migrations; emptying one that was
# used takes less, and its connection keeps the statements that it has prepared.
_SPARE = 4


class MemoryDatabases:
    """Migrated databases without content, in memory.

    Attributes:
        closed: a connection that raises, in place of one that was put back.
    """

    def __init__(self) -> None:
        self._template = connect(None)
        migrate(self._template, shipped())
        self._tables = _tables(self._template)
        self._rows = {name: rows for name in self._tables if (rows := self._content(name))}
        self.closed = sqlite3.connect(":memory:")
        self.closed.close()
        self._spare: list[sqlite3.Connection] = []

    def open(self) -> sqlite3.Connection:
        """Return a connection to a database of its own."""
        if self._spare:
            return self._spare.pop()
        connection = connect(None)
        self.copy_to(connection)
        return connection

    def copy_to(self, connection: sqlite3.Connection) -> None:
        """Replace the content of another database, in memory or in a file, by the schema."""
        self._template.backup(connection)

    def put_back(self, connection: sqlite3.Connection) -> None:
        """Take over a connection that `open` returned, and that nobody uses any longer.

        Temporary tables stay, and triggers of the caller must be gone.
        Nothing here may change a setting: SQLite would prepare all statements anew.
        """
        if len(self._spare) >= _SPARE:
            connection.close()
            return
        roll_back(connection)
        connection.execute("BEGIN")
        for name in self._tables:
            connection.execute(f"DELETE FROM {name}")
        connection.execute("INSERT INTO search (search) VALUES ('delete-all')")
        for name, rows in reversed(self._rows.items()):
            places = ", ".join("?" * len(rows[0]))
            connection.executemany(f"INSERT INTO {name} VALUES ({places})", rows)
        connection.execute("COMMIT")
        self._spare.append(connection)

    def _content(self, table: str) -> list[tuple[object, ...]]:
        return self._template.execute(f"SELECT * FROM {table}").fetchall()


def _tables(connection: sqlite3.Connection) -> list[str]:
    """Return the tables with content of their own, each before those that it refers to."""
    rows = connection.execute("SELECT name FROM pragma_table_list WHERE type = 'table'")
    # The statistics are part of the schema.
    names = {row[0] for row in rows} - {"sqlite_schema", "sqlite_temp_schema", "sqlite_stat1"}
    references = {
        name: {row[2] for row in connection.execute(f"PRAGMA foreign_key_list({name})")} - {name}
        for name in sorted(names)
    }
    return [*reversed([*TopologicalSorter(references).static_order()])]


@cache
def memory_databases() -> MemoryDatabases:
    """Return those of this process."""
    return MemoryDatabases()


FaultPoint = Callable[[str], Awaitable[None]]


class InlineStore:
    """Runs each script in the calling task, on a single connection.

    Each call executes one checkpoint, before its transaction begins. A fault point is awaited with
    ``store.before_commit`` and ``store.after_commit``. What it raises propagates from the call;
    before the commit, nothing is committed.

    It blocks the event loop while it works: it is meant for tests and for commands.

    Args:
        path: the database, whose schema is migrated; None for a new one in memory.
        fault_point: see above.
        listeners: what features do in each transaction.

    Raises:
        StoreUnusable: SQLite is too old, or the database is newer than this version of Octavo.
    """

    def __init__(
        self,
        path: Path | None = None,
        fault_point: FaultPoint | None = None,
        listeners: Listeners = NO_LISTENERS,
    ) -> None:
        self._listeners = listeners
        require_sqlite()
        self._in_memory = path is None
        self._connection = connect(path) if path is not None else memory_databases().open()
        if path is not None:
            try:
                migrate(self._connection, shipped())
            except StoreError:
                self._connection.close()
                raise
        self._fault_point = fault_point
        # A call may wait at a fault point while its transaction is open.
        self._free = trio.Lock()

    def close(self) -> None:
        """Close the database; one in memory is lost."""
        used, self._connection = self._connection, memory_databases().closed
        if self._in_memory and used is not self._connection:
            memory_databases().put_back(used)
        else:
            used.close()

    async def read(self, script: Script[T]) -> T:
        """See `Store`."""
        async with self._free:
            connection = self._connection
            statements = _reading_statements()
            statements.connection = connection
            connection.execute("BEGIN")
            try:
                return SqliteTransaction(connection, statements, reading=True).drive(script)
            finally:
                roll_back(connection)

    async def read_much(self, script: Script[T]) -> T:
        """See `Store`."""
        return await self.read(script)

    async def write(self, script: Script[T]) -> T:
        """See `Store`."""
        # Kept in no variable: an error refers to this frame.
        result: T = (await self.write_batch([script])).pop().unwrap()
        return result

    async def write_batch(self, scripts: Sequence[Script[Any]]) -> Outcomes:
        """Run scripts in one transaction; return the result or exception of each, in order.

        A script that raises has no effect. When the database fails, all of them fail.
        """
        async with self._free:
            try:
                batch = BatchTransaction(self._connection, _statements(), self._listeners)
                outcomes = batch.perform(scripts)
                await self._pass("store.before_commit")
                if any(isinstance(outcome, Value) for outcome in outcomes):
                    commit(self._connection)
            except StoreError as error:
                outcomes = all_failed(error, len(scripts))
            finally:
                roll_back(self._connection)
            await self._pass("store.after_commit")
            return outcomes

    async def applied_version(self) -> int:
        """Return the version of the schema in the database."""
        async with self._free:
            return applied_version(self._connection)

    async def _pass(self, point: str) -> None:
        if self._fault_point is not None:
            await self._fault_point(point)


class _ReadingStatements(Statements):
    """Statements that change nothing.

    A setting of the connection would say so for less, but each change of a setting makes SQLite
    prepare all statements anew.

    Attributes:
        connection: compiles statements that are new.
    """

    connection: sqlite3.Connection

    def __missing__(self, sql: str) -> Statement:
        statement = super().__missing__(sql)
        program = self.connection.execute(
            f"EXPLAIN {statement.sql}", [None] * statement.parameters
        ).fetchall()
        if any(row[1] == "Transaction" and row[3] for row in program):
            del self[sql]
            raise sqlite3.OperationalError("attempt to write in a script that may only read")
        return statement


@cache
def _statements() -> Statements:
    """Return the statements of this process: they are the same in each of its databases."""
    return Statements()


@cache
def _reading_statements() -> _ReadingStatements:
    return _ReadingStatements()
