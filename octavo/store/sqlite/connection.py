"""Connections to a SQLite file, and what each is told first."""

import sqlite3
from pathlib import Path

from octavo.store.errors import StoreUnusable

# STRICT tables came with 3.37 (https://www.sqlite.org/stricttables.html).
OLDEST = (3, 37, 0)
CACHED_STATEMENTS = 512
BUSY_SECONDS = 5.0
# In KiB. The whole of a small installation stands in it; pages are read past it otherwise.
CACHE_KIB = 32 * 1024
MAPPED_BYTES = 256 * 1024 * 1024
# The log is copied into the file at so many pages. Each copying costs two fsyncs, and a page that
# was changed often meanwhile is copied once.
CHECKPOINT_PAGES = 4000
# A log that a long read made grow is cut back to so many bytes.
LOG_BYTES = 64 * 1024 * 1024


def require_sqlite(version: tuple[int, ...] = sqlite3.sqlite_version_info) -> None:
    """Raise `StoreUnusable` when the SQLite library is too old."""
    if version < OLDEST:
        raise StoreUnusable(
            f"SQLite {'.'.join(map(str, version))} is too old: Octavo needs"
            f" {'.'.join(map(str, OLDEST))} or newer; use a Python that brings it"
        )


def connect(
    path: Path | None, *, reading: bool = False, busy_seconds: float = BUSY_SECONDS
) -> sqlite3.Connection:
    """Open a connection to the database at ``path``, or to one in memory.

    Transactions are begun and ended by statements alone. An answered commit has been fsynced
    (``synchronous=FULL``). With ``reading`` no statement can change anything. A statement waits
    ``busy_seconds`` for another process's lock. Raises what ``sqlite3`` raises.
    """
    connection = sqlite3.connect(
        ":memory:" if path is None else path,
        timeout=busy_seconds,
        isolation_level=None,
        # Each is used by one thread at a time, which needn't be the one that opened it.
        check_same_thread=False,
        cached_statements=CACHED_STATEMENTS,
    )
    try:
        connection.execute("PRAGMA foreign_keys = ON")
        # What was purged is overwritten, however the library was built.
        connection.execute("PRAGMA secure_delete = ON")
        connection.execute("PRAGMA trusted_schema = OFF")
        if path is not None:
            connection.execute("PRAGMA journal_mode = WAL")
            connection.execute("PRAGMA synchronous = FULL")
            connection.execute(f"PRAGMA cache_size = -{CACHE_KIB}")
            connection.execute(f"PRAGMA mmap_size = {MAPPED_BYTES}")
            connection.execute(f"PRAGMA wal_autocheckpoint = {CHECKPOINT_PAGES}")
            connection.execute(f"PRAGMA journal_size_limit = {LOG_BYTES}")
            # What a savepoint remembers otherwise spills into a file of its own, for each.
            connection.execute("PRAGMA temp_store = MEMORY")
        if reading:
            connection.execute("PRAGMA query_only = ON")
    except sqlite3.Error:
        connection.close()
        raise
    return connection
