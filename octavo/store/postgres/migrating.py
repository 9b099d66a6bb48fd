"""Migrations on PostgreSQL."""

import logging
from collections.abc import Sequence

from octavo.store.errors import StoreError
from octavo.store.migrations import (
    APPLIED,
    MIGRATED,
    RECORD,
    RECORD_ONE,
    Migration,
    pending,
    rendered,
)
from octavo.store.postgres.connection import ISOLATION, PooledConnection
from octavo.store.postgres.failures import FAILURES

# A number that no other application is likely to use: "octavo" in ASCII.
LOCK = int.from_bytes(b"octavo")

_log = logging.getLogger(__name__)


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
        return known[-1].version
    await connection.execute("SELECT pg_advisory_lock($1)", LOCK)
    try:
        if not await _has_record(connection):
            await connection.execute(rendered(RECORD, "postgres"))
        applied = await _applied(connection)
        missing = pending(known, applied)
        for migration in missing:
            await _apply(connection, migration)
        if applied and missing:
            _log.info(MIGRATED, max(applied), known[-1].version)
    finally:
        if not connection.is_closed():
            await connection.execute("SELECT pg_advisory_unlock($1)", LOCK)
    return known[-1].version


async def _has_record(connection: PooledConnection) -> bool:
    row = await connection.fetchrow("SELECT to_regclass('migrations') IS NOT NULL")
    return bool(row[0])


async def _applied(connection: PooledConnection) -> dict[int, str]:
    return dict([tuple(row) for row in await connection.fetch(APPLIED)])


async def _apply(connection: PooledConnection, migration: Migration) -> None:
    await connection.execute(f"BEGIN ISOLATION LEVEL {ISOLATION}")
    try:
        await connection.execute(migration.sql)
        await connection.execute(RECORD_ONE, migration.version, migration.name, migration.digest)
        await connection.execute("COMMIT")
    except (*FAILURES, StoreError):
        if not connection.is_closed():
            await connection.execute("ROLLBACK")
        raise
