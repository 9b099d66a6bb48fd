"""A store without threads, for runs that must repeat exactly."""

from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path
from typing import Any

import trio
from outcome import Value

from octavo.store.errors import StoreError
from octavo.store.migrations import shipped
from octavo.store.sqlite.batch import Outcomes, all_failed, commit, perform, roll_back
from octavo.store.sqlite.connection import connect, require_sqlite
from octavo.store.sqlite.migrating import applied_version, migrate
from octavo.store.sqlite.statement import Statements
from octavo.store.sqlite.transaction import SqliteTransaction
from octavo.store.transaction import Script, T

FaultPoint = Callable[[str], Awaitable[None]]


class InlineStore:
    """Runs each script at once, in the task that asks, on the one connection that it has.

    Each call is one checkpoint, before its transaction begins, and none after it. With a fault
    point it passes that, too: ``store.before_commit`` and ``store.after_commit``, with the name;
    what this raises comes out of the call, and before the commit nothing is kept.

    It holds up the whole loop while it works: for tests, and for commands.
    """

    def __init__(self, path: Path | None, fault_point: FaultPoint | None = None) -> None:
        require_sqlite()
        self._connection = connect(path)
        self._statements = Statements()
        self._fault_point = fault_point
        # Somebody may wait at a fault point, with the transaction open.
        self._free = trio.Lock()

    def close(self) -> None:
        """Close the database; one in memory is gone then."""
        self._connection.close()

    def migrate(self) -> None:
        """Bring the schema to the newest version; raises `StoreUnusable`."""
        migrate(self._connection, shipped())

    async def read(self, script: Script[T]) -> T:
        """As of `Store`."""
        async with self._free:
            connection = self._connection
            connection.execute("PRAGMA query_only = ON")
            connection.execute("BEGIN")
            try:
                return SqliteTransaction(connection, self._statements, reading=True).drive(script)
            finally:
                roll_back(connection)
                connection.execute("PRAGMA query_only = OFF")

    async def read_much(self, script: Script[T]) -> T:
        """As of `Store`."""
        return await self.read(script)

    async def write(self, script: Script[T]) -> T:
        """As of `Store`."""
        [outcome] = await self.write_batch([script])
        result: T = outcome.unwrap()
        return result

    async def write_batch(self, scripts: Sequence[Script[Any]]) -> Outcomes:
        """Run scripts in one transaction; answer what each returned or raised.

        A script that raises leaves nothing behind. When the database fails, all of them do.
        """
        async with self._free:
            try:
                outcomes = perform(self._connection, self._statements, scripts)
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
        """Answer the version of the schema in the database."""
        async with self._free:
            return applied_version(self._connection)

    async def _pass(self, point: str) -> None:
        if self._fault_point is not None:
            await self._fault_point(point)


def open_inline(path: Path | None = None, fault_point: FaultPoint | None = None) -> InlineStore:
    """Open the database at ``path``, or a new one in memory, and bring its schema to the newest.

    Raises:
        StoreUnusable: SQLite is too old, or the database is newer than this version of Octavo.
    """
    store = InlineStore(path, fault_point)
    try:
        store.migrate()
    except StoreError:
        store.close()
        raise
    return store
