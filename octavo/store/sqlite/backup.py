"""Consistent copies of a database file, and the check of such a copy.

`DatabaseSnapshot` runs ``VACUUM INTO`` on a connection of its own. In WAL mode that is one read
transaction: it sees one commit, never restarts, and does not block writers. The log of the
database can't be truncated while it runs, so it grows by what is written meanwhile
(https://www.sqlite.org/lang_vacuum.html).
"""

import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path

from octavo.store.errors import StoreUnavailable, StoreUnusable
from octavo.store.migrations import APPLIED, pending, shipped
from octavo.store.sqlite.connection import connect_file, failure, primary_code
from octavo.store.sqlite.search import RENEW

LOGS = ("-journal", "-wal")
"""The suffixes of the names of SQLite's logs.

A database that was not closed is complete only with its logs. The rollback journal, which SQLite
uses while the WAL mode is off, has former pages that the next connection puts back; the
write-ahead log has newer pages (https://www.sqlite.org/fileformat2.html). Neither names its
database: SQLite applies it to any file that has the name.
"""
COMPANIONS = (*LOGS, "-shm")
"""The suffixes of the other files of a database: its logs, and an index."""

_UNREADABLE = frozenset({sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB})


@dataclass(frozen=True, slots=True)
class Contents:
    """The contents of a database file.

    Attributes:
        schema: the version of its schema.
        index_damaged: whether its full text index was damaged, and is empty now: the service makes
            it anew.
    """

    schema: int
    accounts: int
    workspaces: int
    files: int
    index_damaged: bool = False


class _DatabaseFile:
    """A connection of its own to a database file, for work in a thread."""

    def __init__(self, path: Path) -> None:
        self._connection = connect_file(path)

    def interrupt(self) -> None:
        """End the statement that runs now; from any thread."""
        self._connection.interrupt()

    def close(self) -> None:
        """Close the connection."""
        self._connection.close()


class DatabaseSnapshot(_DatabaseFile):
    """A copy of one commit of a database that others may use at the same time.

    Args:
        source: the database file.

    Attributes:
        size: estimated size of the copy in bytes.
    """

    def __init__(self, source: Path) -> None:
        super().__init__(source)
        try:
            [page_size] = self._connection.execute("PRAGMA page_size").fetchone()
            [pages] = self._connection.execute("PRAGMA page_count").fetchone()
            [free] = self._connection.execute("PRAGMA freelist_count").fetchone()
        except sqlite3.Error as error:
            self._connection.close()
            raise failure(error) from error
        self.size: int = (pages - free) * page_size

    def write(self, target: Path) -> None:
        """Write the copy to ``target``, which is empty or missing; nothing is fsynced.

        Blocks; `interrupt` ends it from another thread. Raises `StoreFull` when the disk of
        ``target`` is full, and `StoreUnavailable` for any other failure; ``target`` is incomplete
        then.
        """
        try:
            self._connection.execute("VACUUM INTO ?", (str(target),))
        except sqlite3.Error as error:
            raise failure(error) from error


class Verification(_DatabaseFile):
    """The check of a database file that nobody else uses.

    Args:
        path: the file. Logs next to it are folded into it; none is there afterwards.
    """

    def __init__(self, path: Path) -> None:
        super().__init__(path)
        self._path = path

    def run(self) -> Contents:
        """Read the whole file and return what it holds.

        Blocks; `interrupt` ends it from another thread. Raises `StoreUnusable` when the file is
        damaged, empty or not a database of Octavo, and `StoreUnavailable` when it can't be read.
        """
        try:
            with self._readable():
                self._connection.execute("PRAGMA journal_mode = DELETE").fetchone()
                [verdict] = self._connection.execute("PRAGMA integrity_check(1)").fetchone()
                if verdict != "ok":
                    raise StoreUnusable(f"it is damaged: {' '.join(verdict.split())}")
                if self._path.stat().st_size == 0:
                    raise StoreUnusable("it is empty")
                tables = self._connection.execute("SELECT name FROM sqlite_master").fetchall()
                if ("migrations",) not in tables:
                    raise StoreUnusable("it is a database of another program")
                return Contents(
                    schema=max(self._applied(), default=0),
                    accounts=self._count("accounts"),
                    workspaces=self._count("workspaces"),
                    files=self._count("files"),
                    index_damaged=self._empties_damaged_index({row[0] for row in tables}),
                )
        except sqlite3.Error as error:
            raise failure(error) from error

    def require_known_schema(self) -> None:
        """Raise `StoreUnusable` unless this version of Octavo can serve the database."""
        pending(shipped(), self._applied())

    def expect_readers(self) -> None:
        """Record that devices may have read any document since the backup was made.

        Their edits merge then; otherwise those of documents that were first read afterwards would
        not. Raises `StoreUnavailable`.
        """
        try:
            # The column had another name in version 8 of the schema.
            columns = self._connection.execute(
                "SELECT name FROM pragma_table_info('workspaces') WHERE name LIKE 'documents_%read'"
            )
            for (column,) in columns.fetchall():
                self._connection.execute(f"UPDATE workspaces SET {column} = 1")
            self._connection.commit()
        except sqlite3.Error as error:
            raise failure(error) from error

    def _empties_damaged_index(self, tables: set[str]) -> bool:
        """Empty the full text index if it is damaged; return whether it was."""
        try:
            # PRAGMA integrity_check looks into it since SQLite 3.44 only.
            self._connection.execute("INSERT INTO search (search) VALUES ('integrity-check')")
        except sqlite3.DatabaseError as error:
            if error.sqlite_errorcode != sqlite3.SQLITE_CORRUPT_VTAB:
                raise
        else:
            return False
        finally:
            self._connection.rollback()
        for sql in RENEW:
            # A backup of an earlier version may lack a table.
            if sql.split()[2] in tables:
                self._connection.execute(sql)
        self._connection.commit()
        return True

    def _applied(self) -> dict[int, str]:
        return dict(self._connection.execute(APPLIED).fetchall())

    def _count(self, table: str) -> int:
        [count] = self._connection.execute(f"SELECT count(*) FROM {table}").fetchone()
        return int(count)

    @contextmanager
    def _readable(self) -> Iterator[None]:
        try:
            yield
        except sqlite3.DatabaseError as error:
            if primary_code(error) in _UNREADABLE:
                raise StoreUnusable(f"it is damaged, or not a database: {error}") from error
            raise


def fold_logs(path: Path) -> bool:
    """Apply the logs of the database at ``path`` to its file, and remove them.

    Return False when the file is damaged, or not a database; SQLite may have removed its logs then.
    Raises `StoreUnavailable`, with the logs in their place, when they can't be applied: another
    process has the database open, or its disk is full or fails.
    """
    try:
        with closing(connect_file(path)) as connection:
            [mode] = connection.execute("PRAGMA journal_mode = DELETE").fetchone()
    except sqlite3.Error as error:
        code = primary_code(error)
        if code in _UNREADABLE:
            return False
        if code == sqlite3.SQLITE_BUSY:
            raise StoreUnavailable(f"another program uses the database {path}") from error
        raise StoreUnavailable(
            f"the log of the database {path} can't be applied to it ({error}):"
            " mend its disk, or move the database and its logs away, then restore"
        ) from error
    return bool(mode == "delete")
