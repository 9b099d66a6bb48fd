"""Check and migrate a PostgreSQL database, and explain why it can't be used."""

import asyncio
import logging
from collections.abc import Sequence
from urllib.parse import unquote, urlsplit

from octavo.store import migrations
from octavo.store.errors import StoreError, StoreUnavailable, StoreUnusable
from octavo.store.postgres.connection import (
    FAILURES,
    ISOLATION,
    POOLER,
    PooledConnection,
    failure,
    message_of,
)

# A number that no other application is likely to use: "octavo" in ASCII.
LOCK = int.from_bytes(b"octavo")

_log = logging.getLogger(__name__)


async def migrate(connection: PooledConnection, known: Sequence[migrations.Migration]) -> int:
    """Migrate the database to the newest version, and return that; in asyncio.

    Each migration is a transaction. They run under a lock: of two processes that start at the same
    time, one waits for the other and finds nothing left to do. A database that is up to date is not
    locked.

    Raises:
        StoreUnusable: the database is newer than ``known``, or a migration was changed.

    What asyncpg raises propagates (`octavo.store.postgres.connection.FAILURES`).
    """
    if await _has_record(connection) and not migrations.pending(known, await _applied(connection)):
        return known[-1].version
    await connection.execute("SELECT pg_advisory_lock($1)", LOCK)
    try:
        if not await _has_record(connection):
            await connection.execute(migrations.rendered(migrations.RECORD, "postgres"))
        applied = await _applied(connection)
        missing = migrations.pending(known, applied)
        for migration in missing:
            await _apply(connection, migration)
        if applied and missing:
            _log.info(migrations.MIGRATED, max(applied), known[-1].version)
    finally:
        if not connection.is_closed():
            await connection.execute("SELECT pg_advisory_unlock($1)", LOCK)
    return known[-1].version


async def _has_record(connection: PooledConnection) -> bool:
    row = await connection.fetchrow("SELECT to_regclass('migrations') IS NOT NULL")
    return bool(row[0])


async def _applied(connection: PooledConnection) -> dict[int, str]:
    return dict([tuple(row) for row in await connection.fetch(migrations.APPLIED)])


async def _apply(connection: PooledConnection, migration: migrations.Migration) -> None:
    await connection.execute(f"BEGIN ISOLATION LEVEL {ISOLATION}")
    try:
        await connection.execute(migration.sql)
        await connection.execute(
            migrations.RECORD_ONE, migration.version, migration.name, migration.digest
        )
        await connection.execute("COMMIT")
    except (*FAILURES, StoreError):
        if not connection.is_closed():
            await connection.execute("ROLLBACK")
        raise


OLDEST = 12
"""The search uses ``WITH … AS MATERIALIZED``, which came with this version."""
ENCODING = "UTF8"

_PASSWORD = frozenset({"28P01", "28000"})
_NO_DATABASE = "3D000"
# No right to create in a schema; no schema to create in.
_NOT_ALLOWED = frozenset({"42501", "3F000"})
# A prepared statement does not exist, or exists already.
_OTHER_SESSION = frozenset({"26000", "42P05"})


async def check_database(connection: PooledConnection) -> None:
    """Raise `StoreUnusable` unless the database is new enough and stores Unicode; in asyncio."""
    row = await connection.fetchrow(
        "SELECT current_setting('server_version_num')::int, current_setting('server_version'),"
        " current_setting('server_encoding'), current_database()"
    )
    require_usable(*row)


async def check_sessions(one: PooledConnection, other: PooledConnection) -> None:
    """Raise `StoreUnusable` when two open connections share a session; in asyncio.

    A pooler that gives a session to one transaction after another loses notifications and locks.
    """
    pid = "SELECT pg_backend_pid()"
    if tuple(await one.fetchrow(pid)) == tuple(await other.fetchrow(pid)):
        raise StoreUnusable(f"two connections share one session: {POOLER}")


def require_usable(number: int, version: str, encoding: str, database: str) -> None:
    """Raise `StoreUnusable` when the server is too old or the database stores no Unicode.

    ``number`` is the version as ``server_version_num`` has it, ``version`` as people read it.
    """
    if number < OLDEST * 10_000:
        raise StoreUnusable(
            f"PostgreSQL {version} is too old: Octavo needs {OLDEST} or newer; upgrade the server"
        )
    if encoding != ENCODING:
        raise StoreUnusable(
            f'the database "{database}" has the encoding {encoding}, and Octavo needs {ENCODING}:'
            " create another, with createdb --encoding=UTF8 --template=template0, and name that"
        )


def opening_failure(error: BaseException, url: str) -> StoreError:
    """Return what an error at the opening of the database at ``url`` means; it is the cause."""
    result = _opening_failure(error, url)
    result.__cause__ = error
    return result


def _opening_failure(error: BaseException, url: str) -> StoreError:
    code = getattr(error, "sqlstate", None)
    user, server, database = _named(url)
    if code is None:
        if isinstance(error, ValueError):
            return StoreUnusable(f"the address of the database can't be used: {error}")
        if isinstance(error, OSError | TimeoutError | asyncio.IncompleteReadError):
            return StoreUnavailable(
                f"the database server at {server} can't be reached ({_reason(error)}): start it, or"
                " correct host and port in the setting database"
            )
    elif code in _PASSWORD:
        return StoreUnusable(
            f"the database server refuses the user {user} ({error}): correct user and password in"
            " the setting database"
        )
    elif code == _NO_DATABASE:
        return StoreUnusable(
            f"the database server has no database {database}: create it with"
            " createdb --encoding=UTF8, or correct its name in the setting database"
        )
    elif code in _NOT_ALLOWED:
        return StoreUnusable(
            f"the user {user} may not create tables in the database {database} ({error}): let its"
            " owner run GRANT CREATE, USAGE ON SCHEMA public TO the user, or name another user"
        )
    elif code in _OTHER_SESSION:
        return StoreUnusable(POOLER)
    return failure(error)


def _named(url: str) -> tuple[str, str, str]:
    """Return user, server and database of ``url`` for people, without the password."""
    parts = urlsplit(url)
    user = f'"{unquote(parts.username)}"' if parts.username else "that it names"
    # Without a host in the address, parameters or the environment name it.
    host = parts.netloc.rpartition("@")[2] or "its socket"
    name = unquote(parts.path.removeprefix("/"))
    return user, host, f'"{name}"' if name else "that it names"


def _reason(error: BaseException) -> str:
    if isinstance(error, TimeoutError):
        return "it did not respond in time"
    if isinstance(error, ConnectionRefusedError):
        return "connection refused"
    if isinstance(error, FileNotFoundError):
        return "there is no socket"
    return getattr(error, "strerror", None) or message_of(error)
