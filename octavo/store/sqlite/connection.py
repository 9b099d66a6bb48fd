"""The database file of SQLite, connections to it, and their errors as errors of the store."""

import os
import sqlite3
from pathlib import Path
from urllib.parse import quote

from octavo.store import errors

# The exceptions of statements. Besides errors of the database: OverflowError for an integer of more
# than 64 bits, ValueError for text that is not Unicode and for an identifier that is not a UUID.
STATEMENT_ERRORS = (sqlite3.Error, OverflowError, ValueError)

_MISTAKES = frozenset(
    {
        sqlite3.SQLITE_ERROR,
        sqlite3.SQLITE_MISMATCH,
        sqlite3.SQLITE_MISUSE,
        sqlite3.SQLITE_RANGE,
        sqlite3.SQLITE_TOOBIG,
    }
)


def primary_code(error: BaseException) -> int | None:
    """Return the primary result code of an error; None if SQLite did not raise it."""
    code: int | None = getattr(error, "sqlite_errorcode", None)
    return None if code is None else code & 0xFF


def failure(error: BaseException, *, reading: bool = False) -> errors.StoreError:
    """Return the store's error for an error of a statement, with this as the cause.

    ``reading`` says that the connection is read-only, so that an attempt to write is a bug of the
    script.
    """
    code = primary_code(error)
    result: errors.StoreError
    if getattr(error, "sqlite_errorcode", None) == sqlite3.SQLITE_CORRUPT_VTAB:
        # The full text index is the only virtual table.
        result = errors.IndexDamaged(f"the search index is damaged: {error}")
    elif code == sqlite3.SQLITE_CONSTRAINT:
        result = errors.ConstraintViolated(str(error))
    elif code == sqlite3.SQLITE_FULL:
        result = errors.StoreFull(f"the database has no room: {error}")
    elif code is None or code in _MISTAKES or (reading and code == sqlite3.SQLITE_READONLY):
        result = errors.StatementInvalid(str(error))
    else:
        result = errors.StoreUnavailable(f"the database failed: {error}")
    result.__cause__ = error
    return result


def commit_failure(error: BaseException) -> errors.StoreError:
    """Return the store's error for an error of COMMIT, with this as the cause.

    In WAL mode a transaction is committed by the last frame that it appends to the log. That frame
    was not written when there was no space, when a deferred constraint failed, and when the
    database was locked. After any other error, for example of the fsync that follows, it may have
    been: if the machine stops now, the recovery of the log finds it.
    (https://www.sqlite.org/walformat.html, "Recovery")
    """
    result = failure(error)
    certain = isinstance(result, errors.StoreFull | errors.ConstraintViolated)
    result.outcome_unknown = not certain and primary_code(error) != sqlite3.SQLITE_BUSY
    return result


def connect_file(path: Path) -> sqlite3.Connection:
    """Open an existing database file, for any thread. Raises `octavo.store.StoreError`."""
    # A path that is not there must not become an empty database.
    address = f"file:{quote(str(path))}?mode=rw"
    try:
        connection = sqlite3.connect(
            address, uri=True, timeout=BUSY_SECONDS, isolation_level=None, check_same_thread=False
        )
    except sqlite3.Error as error:
        raise failure(error) from error
    connection.execute("PRAGMA trusted_schema = OFF")
    return connection


# STRICT tables came with 3.37 (https://www.sqlite.org/stricttables.html).
OLDEST = (3, 37, 0)
DATABASE = "octavo.sqlite3"
"""The name of the database file in the data folder."""
CACHED_STATEMENTS = 512
BUSY_SECONDS = 5.0
# In KiB, for each connection: the pages that are written between two checkpoints. All others are
# read from the mapped file.
CACHE_KIB = 16 * 1024
MAPPED_BYTES = 256 * 1024 * 1024
# A checkpoint is made at so many pages of the log. It costs two fsyncs, and copies a page once,
# however often it has changed.
CHECKPOINT_PAGES = 4000
# After a long read made the log grow, it is truncated to so many bytes.
LOG_BYTES = 64 * 1024 * 1024


def require_sqlite(version: tuple[int, ...] = sqlite3.sqlite_version_info) -> None:
    """Raise `StoreUnusable` when the SQLite library is too old."""
    if version < OLDEST:
        raise errors.StoreUnusable(
            f"SQLite {'.'.join(map(str, version))} is too old: Octavo needs"
            f" {'.'.join(map(str, OLDEST))} or newer; use a Python that includes it"
        )


def prepare_file(folder: Path) -> Path:
    """Create the folder and the database file if they don't exist; return the file.

    Only the user of this process has access to them. SQLite creates its other files with the mode
    of the database. Raises `StoreUnusable`.
    """
    database = folder / DATABASE
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        os.close(os.open(database, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600))
    except OSError as error:
        raise errors.StoreUnusable(
            f"the data folder {folder} can't be used ({error.strerror}: {error.filename}): give the"
            " user that runs Octavo the right to write to it, or name another folder"
        ) from error
    return database


def connect(
    path: Path | None, *, reading: bool = False, busy_seconds: float = BUSY_SECONDS
) -> sqlite3.Connection:
    """Open a connection to the database at ``path``, or to a new one in memory.

    Transactions begin and end with explicit statements. A commit that returns has been fsynced
    (``synchronous=FULL``). With ``reading``, statements can't change anything. A statement waits
    ``busy_seconds`` for a lock of another process. Raises the exceptions of ``sqlite3``.
    """
    connection = sqlite3.connect(
        ":memory:" if path is None else path,
        timeout=busy_seconds,
        isolation_level=None,
        # One thread at a time uses it, not necessarily the one that opened it.
        check_same_thread=False,
        cached_statements=CACHED_STATEMENTS,
    )
    try:
        connection.execute("PRAGMA foreign_keys = ON")
        # Deleted data is overwritten, whatever the default of the library.
        connection.execute("PRAGMA secure_delete = ON")
        connection.execute("PRAGMA trusted_schema = OFF")
        if path is not None:
            connection.execute("PRAGMA journal_mode = WAL")
            connection.execute("PRAGMA synchronous = FULL")
            connection.execute(f"PRAGMA cache_size = -{CACHE_KIB}")
            connection.execute(f"PRAGMA mmap_size = {MAPPED_BYTES}")
            connection.execute(f"PRAGMA wal_autocheckpoint = {CHECKPOINT_PAGES}")
            connection.execute(f"PRAGMA journal_size_limit = {LOG_BYTES}")
            # Otherwise each savepoint writes to a temporary file.
            connection.execute("PRAGMA temp_store = MEMORY")
        if reading:
            connection.execute("PRAGMA query_only = ON")
    except sqlite3.Error:
        connection.close()
        raise
    return connection
