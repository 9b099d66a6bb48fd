"""Connections to a PostgreSQL server, and their settings."""

from collections.abc import Awaitable, Callable, Sequence
from typing import Any, Protocol, cast

import asyncpg  # type: ignore[import-untyped]

from octavo.store import identifiers

CONNECT_SECONDS = 5.0
# Enforced by the server. A timer of the client for each statement would cost more than many
# statements do, so the client has one for each transaction.
STATEMENT_SECONDS = 25.0
# A server that has lost its client must release its locks.
IDLE_SECONDS = 60.0

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


async def connect(url: str, *, statement_seconds: float = STATEMENT_SECONDS) -> PooledConnection:
    """Open a connection; in asyncio. Raise the exceptions of asyncpg.

    ``statement_seconds`` is the maximum time of a statement, 0 for no limit.
    """
    connection = await asyncpg.connect(
        url,
        timeout=CONNECT_SECONDS,
        server_settings={
            "application_name": "octavo",
            "default_transaction_isolation": "serializable",
            "statement_timeout": str(int(statement_seconds * 1000)),
            "idle_in_transaction_session_timeout": str(int(IDLE_SECONDS * 1000)),
            "timezone": "UTC",
        },
    )
    await connection.set_type_codec(
        "uuid",
        schema="pg_catalog",
        encoder=identifiers.to_bytes,
        decoder=identifiers.to_text,
        format="binary",
    )
    return cast(PooledConnection, connection)


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
