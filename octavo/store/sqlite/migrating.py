"""Migrations on SQLite."""

import logging
import sqlite3
from collections.abc import Iterator, Sequence

from octavo.store import migrations
from octavo.store.errors import StoreError
from octavo.store.sqlite.connection import STATEMENT_ERRORS, failure
from octavo.store.sqlite.transaction import Statement

_log = logging.getLogger(__name__)


def statements(sql: str) -> Iterator[str]:
    """Split a text at the semicolons that terminate its statements."""
    *ended, rest = sql.split(";")
    begun = ""
    for part in ended:
        begun += part
        if sqlite3.complete_statement(begun + ";"):
            yield begun
            begun = ""
        else:
            begun += ";"
    if (begun + rest).strip():
        yield begun + rest


def migrate(connection: sqlite3.Connection, known: Sequence[migrations.Migration]) -> int:
    """Migrate the database to the newest version, and return that.

    Each migration is a transaction under SQLite's exclusive lock: of two processes that start at
    the same time, one waits for the other and finds nothing left to do. A database that is up to
    date is not locked.

    Raises:
        StoreUnusable: the database is newer than ``known``, or a migration was changed.
        StoreUnavailable: it can't be written to, or is locked for too long.
    """
    try:
        if not lacks_some(connection, known):
            return known[-1].version
        before = max(_applied(connection), default=0) if _has_record(connection) else 0
        while _apply_next(connection, known):
            pass
        if before:
            _log.info(migrations.MIGRATED, before, known[-1].version)
    except STATEMENT_ERRORS as error:
        raise failure(error) from error
    return known[-1].version


def lacks_some(connection: sqlite3.Connection, known: Sequence[migrations.Migration]) -> bool:
    """Return whether the database lacks some of ``known``; raise the same errors as `migrate`."""
    try:
        return not _has_record(connection) or bool(migrations.pending(known, _applied(connection)))
    except STATEMENT_ERRORS as error:
        raise failure(error, reading=True) from error


def _has_record(connection: sqlite3.Connection) -> bool:
    return (
        connection.execute("SELECT 1 FROM sqlite_master WHERE name = 'migrations'").fetchone()
        is not None
    )


def _applied(connection: sqlite3.Connection) -> dict[int, str]:
    return dict(connection.execute(migrations.APPLIED).fetchall())


def _apply_next(connection: sqlite3.Connection, known: Sequence[migrations.Migration]) -> bool:
    connection.execute("BEGIN EXCLUSIVE")
    try:
        connection.execute(migrations.rendered(migrations.RECORD, "sqlite"))
        missing = migrations.pending(known, _applied(connection))
        if missing:
            migration = missing[0]
            for statement in statements(migration.sql):
                connection.execute(statement)
            connection.execute(
                Statement(migrations.RECORD_ONE).sql,
                (migration.version, migration.name, migration.digest),
            )
        connection.execute("COMMIT")
    except (*STATEMENT_ERRORS, StoreError):
        if connection.in_transaction:
            connection.execute("ROLLBACK")
        raise
    return len(missing) > 1


def applied_version(connection: sqlite3.Connection) -> int:
    """Return the version of the schema in a database that has been migrated."""
    try:
        row = connection.execute(migrations.NEWEST).fetchone()
    except sqlite3.Error as error:
        raise failure(error, reading=True) from error
    version: int = row[0]
    return version
