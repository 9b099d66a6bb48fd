"""Connections to a PostgreSQL server, their settings, and the beginning of transactions.

A pooler such as PgBouncer may drop the parameters with which a connection starts. So isolation and
limits are set by statements: for the session, where a statement is a transaction of its own, and
again by the statement that begins a transaction. Each connection is checked once.
"""

from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from typing import Any, Protocol, cast

import asyncpg  # type: ignore[import-untyped]

from octavo.store import identifiers
from octavo.store.errors import StoreUnavailable
from octavo.store.postgres.bridge import time_limit

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
        given = {"application_name": "octavo", "timezone": "UTC"}
        # Without timers of statements, which would keep requests as those of `time_limit` did.
        connection = await asyncpg.connect(
            url, server_settings=given, max_cached_statement_lifetime=0
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


def require_settings(asked: Mapping[str, str], found: Iterable[tuple[str, str]]) -> None:
    """Raise `StoreUnavailable` unless what was ``asked`` for is among the settings found."""
    settings = dict(found)
    for name, value in asked.items():
        if settings.get(name) != value:
            raise StoreUnavailable(f"{name} is {settings.get(name)} instead of {value}: {POOLER}")


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
