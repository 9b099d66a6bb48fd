"""Migrations on PostgreSQL."""

import logging
import re
from collections.abc import Sequence

from octavo.store.errors import StoreError
from octavo.store.migrations import APPLIED, MIGRATED, RECORD, RECORD_ONE, Migration, pending
from octavo.store.postgres.connection import ISOLATION, PooledConnection
from octavo.store.postgres.failures import FAILURES

# A number that no other application is likely to use: "octavo" in ASCII.
LOCK = int.from_bytes(b"octavo")

_log = logging.getLogger(__name__)
_TEXT = re.compile(r"--[^\n]*|'(?:[^']|'')*'|\bTEXT\b")


def collated(sql: str) -> str:
    """Return DDL whose columns of text sort by bytes, as those of SQLite do."""
    return _TEXT.sub(lambda found: 'TEXT COLLATE "C"' if found[0] == "TEXT" else found[0], sql)


async def migrate(connection: PooledConnection, known: Sequence[Migration]) -> int:
    """Migrate the database to the newest version, and return that; in asyncio.

    Each migration is a transaction. They run under a lock: of two processes that start at the same
    time, one waits for the other and finds nothing left to do. A database that is up to date is not
    locked.

    Raises:
        StoreUnusable: the database is newer than ``known``, or a migration was changed.

    What asyncpg raises propagates (`octavo.store.postgres.failures.FAILURES`).
    """
    if await _has_record(connection) and not pending(known, await _applied(connection)):
        return len(known)
    await connection.execute("SELECT pg_advisory_lock($1)", LOCK)
    try:
        if not await _has_record(connection):
            await connection.execute(collated(RECORD))
        applied = await _applied(connection)
        missing = pending(known, applied)
        for migration in missing:
            await _apply(connection, migration)
        if applied and missing:
            _log.info(MIGRATED, max(applied), len(known))
    finally:
        if not connection.is_closed():
            await connection.execute("SELECT pg_advisory_unlock($1)", LOCK)
    return len(known)


async def _has_record(connection: PooledConnection) -> bool:
    row = await connection.fetchrow("SELECT to_regclass('migrations') IS NOT NULL")
    return bool(row[0])


async def _applied(connection: PooledConnection) -> dict[int, str]:
    return dict([tuple(row) for row in await connection.fetch(APPLIED)])


async def _apply(connection: PooledConnection, migration: Migration) -> None:
    await connection.execute(f"BEGIN ISOLATION LEVEL {ISOLATION}")
    try:
        await connection.execute(collated(migration.sql))
        await connection.execute(RECORD_ONE, migration.version, migration.name, migration.digest)
        await connection.execute("COMMIT")
    except (*FAILURES, StoreError):
        if not connection.is_closed():
            await connection.execute("ROLLBACK")
        raise
