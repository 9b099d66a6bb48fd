"""Connections to a PostgreSQL server: settings, errors, and the beginning of transactions.

A pooler such as PgBouncer may drop the parameters with which a connection starts. So isolation and
limits are set by statements: for the session, where a statement is a transaction of its own, and
again by the statement that begins a transaction. Each connection is checked once.
"""

import asyncio
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from typing import Any, Protocol, cast

import asyncpg  # type: ignore[import-untyped]

from octavo.store import errors, identifiers
from octavo.store.postgres.bridge import time_limit

# The exceptions of statements and connections, including those for text that is not Unicode,
# identifiers that are not UUIDs, and numbers that are too large.
FAILURES = (
    asyncpg.PostgresError,
    asyncpg.InterfaceError,
    asyncpg.InternalClientError,
    OSError,
    TimeoutError,
    asyncio.IncompleteReadError,
    OverflowError,
    ValueError,
)

_CONFLICTS = frozenset({"40001", "40P01"})
_DISK_FULL = "53100"
_READ_ONLY = "25006"
# Classes: integrity constraints; errors of a statement, its data or its context.
_CONSTRAINT = "23"
_MISTAKES = frozenset({"0A", "21", "22", "25", "26", "2B", "34", "42", "44"})
_NOT_ALLOWED = "42501"


class Conflict(errors.StoreUnavailable):
    """The transaction conflicted with another, and was rolled back; it may be run again."""


def message_of(error: BaseException) -> str:
    """Return the message of an error; its name if it has none, as a timeout."""
    return str(error) or type(error).__name__


def failure(error: BaseException, *, reading: bool = False) -> errors.StoreError:
    """Return the store's error for an error of a statement, with this as the cause.

    ``reading`` says that the transaction is read-only, so that an attempt to write is a bug of the
    script. In any other transaction, the server is a standby.
    """
    result = _failure(error, reading=reading)
    result.__cause__ = error
    return result


def _failure(error: BaseException, *, reading: bool) -> errors.StoreError:
    code = getattr(error, "sqlstate", None)
    if code is None:
        # What asyncpg refuses to send is a ValueError, or an InterfaceError with another message.
        wrong = isinstance(error, ValueError | OverflowError)
        if wrong or (isinstance(error, asyncpg.InterfaceError) and "connection" not in str(error)):
            return errors.StatementInvalid(str(error))
        return errors.StoreUnavailable(f"the database can't be reached: {message_of(error)}")
    if code in _CONFLICTS:
        return Conflict(f"too many concurrent writes: {error}")
    if code.startswith(_CONSTRAINT):
        return errors.ConstraintViolated(str(error))
    if code == _DISK_FULL:
        return errors.StoreFull(f"the database has no room: {error}")
    if code == _READ_ONLY and not reading:
        return errors.StoreUnavailable(f"the database is read-only: {error}")
    if code[:2] in _MISTAKES and code != _NOT_ALLOWED:
        return errors.StatementInvalid(str(error))
    return errors.StoreUnavailable(f"the database failed: {error}")


def commit_failure(error: BaseException) -> errors.StoreError:
    """Return the store's error for an error of COMMIT, with this as the cause.

    Or of a statement that is a transaction of its own. After a conflict, a failed constraint or a
    mistake, the server has rolled back. After any other error, as a lost connection, the
    transaction may have been committed.
    """
    result = failure(error)
    rolled_back = Conflict | errors.ConstraintViolated | errors.StatementInvalid
    result.outcome_unknown = not isinstance(result, rolled_back)
    return result


CONNECT_SECONDS = 5.0
# Enforced by the server. A timer of the client for each statement would cost more than many
# statements do, so the client has one for each transaction.
STATEMENT_SECONDS = 25.0
# A server that has lost its client must release its locks.
IDLE_SECONDS = 60.0

ISOLATION = "serializable"
POOLER = (
    "a pooler between Octavo and PostgreSQL changes its sessions: in PgBouncer, set pool_mode ="
    " session for this database, or name the PostgreSQL server itself in the setting database"
)

_SETTINGS = "SELECT name, setting FROM pg_settings WHERE name = ANY($1::text[])"

Notified = Callable[[object, int, str, str], None]


class PooledConnection(Protocol):
    """The used part of ``asyncpg.PooledConnection``; its methods are awaited in asyncio."""

    def fetch(self, sql: str, *arguments: object) -> Awaitable[Sequence[Any]]:
        """Return every row."""

    def fetchrow(self, sql: str, *arguments: object) -> Awaitable[Any]:
        """Return the first row, or None."""

    def execute(self, sql: str, *arguments: object) -> Awaitable[str]:
        """Return the tag of the command. Without arguments, there may be many statements."""

    def executemany(self, sql: str, rows: Any) -> Awaitable[None]:  # noqa: ANN401
        """Execute for each row."""

    def add_listener(self, channel: str, notified: Notified) -> Awaitable[None]:
        """LISTEN."""

    def add_termination_listener(self, ended: Callable[[object], None]) -> None:
        """Call ``ended`` when the connection is gone."""

    def is_closed(self) -> bool:
        """Whether it is gone."""

    def terminate(self) -> None:
        """Close without waiting for the server."""

    def close(self, *, timeout: float | None = None) -> Awaitable[None]:
        """Close gracefully."""


def limits(statement_seconds: float = STATEMENT_SECONDS) -> dict[str, str]:
    """Return the settings that limit statements and transactions, in milliseconds."""
    return {
        "statement_timeout": str(int(statement_seconds * 1000)),
        "idle_in_transaction_session_timeout": str(int(IDLE_SECONDS * 1000)),
    }


def beginning(*, reading: bool) -> str:
    """Return the statements, sent at once, that begin a transaction."""
    begin = f"BEGIN ISOLATION LEVEL {ISOLATION} {'READ ONLY' if reading else 'READ WRITE'}"
    return "; ".join([begin, *(f"SET LOCAL {name} = {value}" for name, value in limits().items())])


async def connect(url: str, *, statement_seconds: float = STATEMENT_SECONDS) -> PooledConnection:
    """Open a connection; in asyncio.

    ``statement_seconds`` is the maximum time of a statement, 0 for no limit. Raises the exceptions
    of asyncpg, and `StoreUnavailable` when the session does not have the settings.
    """
    asked = {"default_transaction_isolation": ISOLATION, **limits(statement_seconds)}
    # A pooler accepts a connection at once, and its first statement waits for a session.
    async with time_limit(CONNECT_SECONDS):
        # Poolers keep these two, and refuse others.
        parameters = {"application_name": "octavo", "timezone": "UTC"}
        # A cached statement has a timer, which would keep a request in memory (see `time_limit`).
        connection = await asyncpg.connect(
            url, server_settings=parameters, max_cached_statement_lifetime=0
        )
        try:
            await connection.execute("; ".join(f"SET {name} = {asked[name]}" for name in asked))
            await connection.set_type_codec(
                "uuid",
                schema="pg_catalog",
                encoder=identifiers.to_bytes,
                decoder=identifiers.to_text,
                format="binary",
            )
            require_settings(asked, await connection.fetch(_SETTINGS, [*asked]))
        except BaseException:
            connection.terminate()
            raise
    return cast(PooledConnection, connection)


def require_settings(asked: Mapping[str, str], rows: Iterable[tuple[str, str]]) -> None:
    """Raise `StoreUnavailable` unless what was ``asked`` for is among the settings found."""
    settings = dict(rows)
    for name, value in asked.items():
        if settings.get(name) != value:
            raise errors.StoreUnavailable(
                f"{name} is {settings.get(name)} instead of {value}: {POOLER}"
            )


class Connections:
    """A pool of idle connections. The caller limits their number."""

    def __init__(self, url: str) -> None:
        self._url = url
        self._idle: list[PooledConnection] = []

    async def take(self) -> tuple[PooledConnection, bool]:
        """Return a connection, and whether it was used before; in asyncio."""
        while self._idle:
            connection = self._idle.pop()
            if not connection.is_closed():
                return connection, True
        return await connect(self._url), False

    def give_back(self, connection: PooledConnection) -> None:
        """Return a connection that is not in a transaction to the pool."""
        if not connection.is_closed():
            self._idle.append(connection)

    async def close(self, seconds: float) -> None:
        """Close the idle connections, for at most ``seconds`` each; in asyncio."""
        while self._idle:
            connection = self._idle.pop()
            try:
                await connection.close(timeout=seconds)
            except (OSError, TimeoutError, asyncpg.PostgresError, asyncpg.InterfaceError):
                connection.terminate()
