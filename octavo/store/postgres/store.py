"""The PostgreSQL store: a transaction for each script, on a pool of connections."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager, suppress
from copy import copy
from itertools import count

import trio

from octavo.store.errors import StatementInvalid, StoreUnavailable
from octavo.store.fair_turns import FairTurns, working_for
from octavo.store.migrations import NEWEST, shipped
from octavo.store.postgres import requirements
from octavo.store.postgres.bridge import Bridge, open_bridge, time_limit, ungrouped
from octavo.store.postgres.connection import (
    FAILURES,
    Conflict,
    Connections,
    PooledConnection,
    beginning,
    commit_failure,
    connect,
    failure,
    message_of,
)
from octavo.store.postgres.listening import Messages, listening
from octavo.store.postgres.transaction import PostgresTransaction
from octavo.store.transaction import (
    NO_LISTENERS,
    Listeners,
    NotInOneStatement,
    Script,
    T,
    Transaction,
    is_single_statement,
    shortcut_of,
)

CONNECTIONS = 10
# How long a call waits for a connection.
TURN_SECONDS = 5.0
# The limit of all attempts of a write, for whose end a cancelled caller waits.
WRITE_SECONDS = 40.0
ROLLBACK_SECONDS = 5.0
CLOSE_SECONDS = 5.0
MAX_ATTEMPTS = 12
FIRST_PAUSE = 0.002
LONGEST_PAUSE = 0.25

_BEGIN_READING = beginning(reading=True)
_BEGIN_WRITING = beginning(reading=False)


def pause_before(attempt: int, random: float) -> float | None:
    """Return the seconds to wait before the ``attempt``-th try, from 2 on; None to give up.

    The pause is random, below a bound that doubles, so that transactions that conflicted do not
    conflict again. ``random`` is a random number within [0, 1).
    """
    if attempt > MAX_ATTEMPTS:
        return None
    bound: float = FIRST_PAUSE * 2 ** (attempt - 2)
    return random * min(bound, LONGEST_PAUSE)


class _Attempt:
    """The state of a transaction: whether COMMIT was sent."""

    committing = False


class PostgresStore:
    """A `Store` on a PostgreSQL database; see `open_postgres`.

    Transactions are serializable. One that conflicts with another is run again, a few times.
    """

    def __init__(
        self,
        url: str,
        bridge: Bridge,
        random: Callable[[], float],
        connections: int,
        listeners: Listeners,
    ) -> None:
        self._listeners = listeners
        self._url = url
        self._bridge = bridge
        self._random = random
        self._connections = Connections(url)
        self._turns = FairTurns(connections, max(1, connections // 2))

    async def read(self, script: Script[T]) -> T:
        """See `Store`. When cancelled, the statement is cancelled on the server, too."""
        async with self._turn():
            return await self._bridge.run(self._repeat(script, reading=True))

    async def read_much(self, script: Script[T]) -> T:
        """See `Store`."""
        return await self.read(script)

    async def write(self, script: Script[T]) -> T:
        """See `Store`. When cancelled while it waits for a connection, it does nothing."""
        async with self._turn():
            return await self._bridge.run(self._repeat(script, reading=False), to_the_end=True)

    async def applied_version(self) -> int:
        """Return the version of the schema in the database; raise `StoreUnavailable`."""

        async def read_version(transaction: Transaction) -> int:
            row = await transaction.fetch_one(NEWEST)
            return 0 if row is None else int(row[0])

        return await self.read(read_version)

    def listen(self, channel: str) -> AbstractAsyncContextManager[Messages]:
        """Receive notifications on ``channel`` within the block; see `listening`.

        A transaction sends one with ``SELECT pg_notify($1, $2)``. It is delivered after the commit.
        """
        return listening(self._bridge, self._url, channel, self._random)

    @asynccontextmanager
    async def _turn(self) -> AsyncIterator[None]:
        holder = working_for.get()
        with trio.move_on_after(TURN_SECONDS) as waiting:
            await self._turns.acquire(holder)
        if waiting.cancelled_caught:
            raise StoreUnavailable(f"no connection became available within {TURN_SECONDS:g} s")
        try:
            yield
        finally:
            self._turns.release(holder)

    # The following methods run in asyncio.

    async def _repeat(self, script: Script[T], *, reading: bool) -> T:
        attempt = _Attempt()
        try:
            async with time_limit(WRITE_SECONDS):
                for number in count(2):
                    try:
                        if reading and is_single_statement(script):
                            return await self._run_once(script, attempt, reading=True)
                        shortcut = None if reading else shortcut_of(script)
                        if shortcut is not None:
                            with suppress(NotInOneStatement):
                                return await self._run_once(shortcut, attempt, reading=False)
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
        raise AssertionError("unreachable: count() does not end")

    async def _transact(self, script: Script[T], attempt: _Attempt, *, reading: bool) -> T:
        attempt.committing = False
        connection, used = await self._connect()
        clean = False
        try:
            try:
                await connection.execute(_BEGIN_READING if reading else _BEGIN_WRITING)
            except FAILURES as error:
                if used and connection.is_closed():
                    # The server was restarted since it was last used.
                    raise Conflict(f"the connection was lost: {message_of(error)}") from error
                raise failure(error) from error
            result = await self._drive(
                script, PostgresTransaction(connection, reading, self._listeners)
            )
            attempt.committing = True
            try:
                await connection.execute("COMMIT")
            except FAILURES as error:
                raise failure(error) if reading else commit_failure(error) from error
            clean = True
        except BaseException:
            # On cancellation, too: asyncpg has the server cancel the statement, and the rollback
            # waits for that.
            clean = await _roll_back(connection)
            raise
        finally:
            self._leave(connection, clean=clean)
        return result

    async def _run_once(
        self,
        script: Callable[[PostgresTransaction], Awaitable[T]],
        attempt: _Attempt,
        *,
        reading: bool,
    ) -> T:
        """Run a script of one statement, which is a transaction of its own."""
        attempt.committing = False
        connection, used = await self._connect()
        # The statement commits, too.
        attempt.committing = True
        clean = False
        try:
            transaction = PostgresTransaction(connection, reading=reading, single=True)
            try:
                result = await self._drive(script, transaction)
            except StoreUnavailable as error:
                if reading and used and connection.is_closed():
                    # The server was restarted since it was last used.
                    raise Conflict(str(error)) from error
                raise
            clean = True
        except Exception:
            # The server has rolled back by itself.
            clean = not connection.is_closed()
            raise
        except BaseException:
            # On cancellation, wait until the server has ended the statement.
            clean = await _roll_back(connection)
            raise
        finally:
            self._leave(connection, clean=clean)
        return result

    def _leave(self, connection: PooledConnection, *, clean: bool) -> None:
        if clean:
            self._connections.give_back(connection)
        else:
            connection.terminate()

    async def _connect(self) -> tuple[PooledConnection, bool]:
        try:
            return await self._connections.take()
        except FAILURES as error:
            raise StoreUnavailable(f"the database can't be reached: {message_of(error)}") from error

    async def _drive(
        self,
        script: Callable[[PostgresTransaction], Awaitable[T]],
        transaction: PostgresTransaction,
    ) -> T:
        try:
            result = await script(transaction)
        except Exception:
            if isinstance(transaction.failure, StoreUnavailable):
                raise copy(transaction.failure) from None
            raise
        if transaction.failure is not None:
            raise copy(transaction.failure)
        transaction.failure = StatementInvalid("the transaction is over")
        return result

    async def make_ready(self) -> None:
        """Migrate the schema to the newest version; in asyncio."""
        try:
            connection = await connect(self._url, statement_seconds=0)
            try:
                await requirements.check_database(connection)
                other = await connect(self._url)
                try:
                    await requirements.check_sessions(connection, other)
                finally:
                    other.terminate()
                await requirements.migrate(connection, shipped("postgres"))
            finally:
                connection.terminate()
        except FAILURES as error:
            raise requirements.opening_failure(error, self._url) from error

    async def close(self) -> None:
        """Close the idle connections; in asyncio."""
        await self._connections.close(CLOSE_SECONDS)


async def _roll_back(connection: PooledConnection) -> bool:
    """Roll back; return whether the connection can be used again."""
    try:
        async with time_limit(ROLLBACK_SECONDS):
            await connection.execute("ROLLBACK")
    except FAILURES:
        return False
    return True


@asynccontextmanager
async def open_postgres(
    url: str,
    listeners: Listeners = NO_LISTENERS,
    *,
    random: Callable[[], float],
    connections: int = CONNECTIONS,
) -> AsyncIterator[PostgresStore]:
    """Open the database at ``url``, with the newest schema, for the block.

    Args:
        url: as libpq has it: ``postgresql://user:password@host:port/database``.
        listeners: what features do in each transaction.
        random: returns random numbers within [0, 1), for pauses.
        connections: the maximum number of connections, without those of listeners; one holder
            (`octavo.store.fair_turns`) uses half of them.

    Raises:
        StoreUnusable: the server refuses, or the database is newer than this version of Octavo.
        StoreUnavailable: the server can't be reached now.

    At the end of the block, and when it is cancelled, running transactions are aborted. Their
    callers receive `StoreUnavailable`, with ``outcome_unknown`` for a write.
    """
    with ungrouped():
        async with open_bridge() as bridge:
            store = PostgresStore(url, bridge, random, connections, listeners)
            await bridge.run(store.make_ready())
            try:
                yield store
            finally:
                with trio.move_on_after(2 * CLOSE_SECONDS, shield=True):
                    await bridge.run(store.close())
