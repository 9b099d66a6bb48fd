"""The PostgreSQL store: each script a transaction, on a pool of connections."""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from itertools import count

import trio

from octavo.store.errors import StatementInvalid, StoreUnavailable
from octavo.store.migrations import NEWEST, shipped
from octavo.store.postgres.attempts import pause_before
from octavo.store.postgres.bridge import Bridge, open_bridge
from octavo.store.postgres.connection import Connections, PooledConnection, connect
from octavo.store.postgres.failures import FAILURES, Conflict, commit_failure, failure, told
from octavo.store.postgres.listening import Messages, listening
from octavo.store.postgres.migrating import migrate
from octavo.store.postgres.requirements import check_database, opening_failure
from octavo.store.postgres.transaction import PostgresTransaction
from octavo.store.postgres.ungrouped import ungrouped
from octavo.store.transaction import Script, T, Transaction

CONNECTIONS = 10
# How long a call waits for a connection to come free.
TURN_SECONDS = 5.0
# For all attempts of a write together. A cancelled caller waits for the end of its write so long.
WRITE_SECONDS = 40.0
ROLLBACK_SECONDS = 5.0
CLOSE_SECONDS = 5.0

_BEGIN_READING = "BEGIN READ ONLY"
_BEGIN_WRITING = "BEGIN READ WRITE"


class _Attempt:
    """How far a transaction has come: whether COMMIT was sent."""

    committing = False


class PostgresStore:
    """A `Store` on a PostgreSQL database; made by `open_postgres`.

    Every transaction is serializable; one that met another is run again, a few times.
    """

    def __init__(
        self, url: str, bridge: Bridge, random: Callable[[], float], connections: int
    ) -> None:
        self._url = url
        self._bridge = bridge
        self._random = random
        self._connections = Connections(url)
        self._turns = trio.Semaphore(connections)

    async def read(self, script: Script[T]) -> T:
        """As of `Store`. When cancelled, the server is told to stop, too."""
        async with self._turn():
            return await self._bridge.run(self._repeat(script, reading=True))

    async def read_much(self, script: Script[T]) -> T:
        """As of `Store`."""
        return await self.read(script)

    async def write(self, script: Script[T]) -> T:
        """As of `Store`. When cancelled before a connection came free, it does nothing."""
        async with self._turn():
            return await self._bridge.run(self._repeat(script, reading=False), to_the_end=True)

    async def applied_version(self) -> int:
        """Answer the version of the schema in the database; raises `StoreUnavailable`."""

        async def script(transaction: Transaction) -> int:
            row = await transaction.fetch_one(NEWEST)
            return 0 if row is None else int(row[0])

        return await self.read(script)

    def listen(self, channel: str) -> AbstractAsyncContextManager[Messages]:
        """Hear what is notified on ``channel`` within the block; see `listening`.

        A transaction notifies with the statement ``SELECT pg_notify($1, $2)``: heard when it has
        been committed.
        """
        return listening(self._bridge, self._url, channel, self._random)

    @asynccontextmanager
    async def _turn(self) -> AsyncIterator[None]:
        with trio.move_on_after(TURN_SECONDS) as waiting:
            await self._turns.acquire()
        if waiting.cancelled_caught:
            raise StoreUnavailable(f"no connection came free in {TURN_SECONDS:g} s")
        try:
            yield
        finally:
            self._turns.release()

    # What follows runs in asyncio.

    async def _repeat(self, script: Script[T], *, reading: bool) -> T:
        attempt = _Attempt()
        try:
            async with asyncio.timeout(WRITE_SECONDS):
                for number in count(2):
                    try:
                        return await self._transact(script, attempt, reading=reading)
                    except Conflict as conflict:
                        pause = pause_before(number, self._random())
                        if pause is None:
                            raise StoreUnavailable(str(conflict)) from conflict
                    await asyncio.sleep(pause)
        except TimeoutError:
            raise StoreUnavailable(
                f"the database took longer than {WRITE_SECONDS:g} s",
                outcome_unknown=attempt.committing and not reading,
            ) from None
        raise AssertionError("unreachable: counting has no end")

    async def _transact(self, script: Script[T], attempt: _Attempt, *, reading: bool) -> T:
        attempt.committing = False
        connection, used = await self._connect()
        clean = False
        try:
            try:
                await connection.execute(_BEGIN_READING if reading else _BEGIN_WRITING)
            except FAILURES as error:
                if used and connection.is_closed():
                    # The server has gone and come since it was last used.
                    raise Conflict(f"the connection was lost: {told(error)}") from error
                raise failure(error) from error
            result = await self._drive(script, PostgresTransaction(connection, reading=reading))
            attempt.committing = True
            try:
                await connection.execute("COMMIT")
            except FAILURES as error:
                raise failure(error) if reading else commit_failure(error) from error
            clean = True
        except BaseException:
            # Cancelled, too: asyncpg has the server cancel the statement, and the rollback waits
            # for its word.
            clean = await _roll_back(connection)
            raise
        finally:
            if clean:
                self._connections.give_back(connection)
            else:
                connection.terminate()
        return result

    async def _connect(self) -> tuple[PooledConnection, bool]:
        try:
            return await self._connections.take()
        except FAILURES as error:
            raise StoreUnavailable(f"the database can't be reached: {told(error)}") from error

    async def _drive(self, script: Script[T], transaction: PostgresTransaction) -> T:
        try:
            result = await script(transaction)
        except Exception:
            if isinstance(transaction.failure, StoreUnavailable):
                raise transaction.failure from None
            raise
        if transaction.failure is not None:
            raise transaction.failure
        transaction.failure = StatementInvalid("the transaction is over")
        return result

    async def make_ready(self) -> None:
        """Bring the schema to the newest version; in asyncio."""
        try:
            connection = await connect(self._url, statement_seconds=0)
            try:
                await check_database(connection)
                await migrate(connection, shipped("postgres"))
            finally:
                connection.terminate()
        except FAILURES as error:
            raise opening_failure(error, self._url) from error

    async def close(self) -> None:
        """Close the idle connections; in asyncio."""
        await self._connections.close(CLOSE_SECONDS)


async def _roll_back(connection: PooledConnection) -> bool:
    """Answer whether the connection is of use afterwards."""
    try:
        async with asyncio.timeout(ROLLBACK_SECONDS):
            await connection.execute("ROLLBACK")
    except FAILURES:
        return False
    return True


@asynccontextmanager
async def open_postgres(
    url: str, *, random: Callable[[], float], connections: int = CONNECTIONS
) -> AsyncIterator[PostgresStore]:
    """Open the database at ``url``, with the newest schema, for the block.

    Args:
        url: as libpq has it: ``postgresql://user:password@host:port/database``.
        random: numbers within [0, 1), for pauses.
        connections: how many there may be at most, those of listeners apart.

    Raises:
        StoreUnusable: the server refuses, or the database is newer than this version of Octavo.
        StoreUnavailable: the server can't be reached now.

    At the end of the block, and when it is cancelled, transactions under way are cut off; those who
    wait for one hear `StoreUnavailable`, with ``outcome_unknown`` for a write.
    """
    with ungrouped():
        async with open_bridge() as bridge:
            store = PostgresStore(url, bridge, random, connections)
            await bridge.run(store.make_ready())
            try:
                yield store
            finally:
                with trio.move_on_after(2 * CLOSE_SECONDS, shield=True):
                    await bridge.run(store.close())
