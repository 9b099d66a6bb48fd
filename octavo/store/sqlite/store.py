"""The SQLite store of a server: one thread that writes, and connections that read."""

import os
import sqlite3
from collections.abc import AsyncIterator, Coroutine, Iterator, Sequence
from contextlib import asynccontextmanager, closing, contextmanager
from functools import partial
from pathlib import Path
from typing import Any

import trio

from octavo.store.errors import StoreOutdated, StoreUnavailable, StoreUnusable
from octavo.store.migrations import shipped
from octavo.store.sqlite.connection import connect, failure, prepare_file, require_sqlite
from octavo.store.sqlite.migrating import applied_version, lacks_some, migrate
from octavo.store.sqlite.readers import Reader, ReaderPool
from octavo.store.sqlite.writer import Outcomes, Writer
from octavo.store.transaction import NO_LISTENERS, Listeners, Script, T

MAX_EAGER_READS = 8
"""Reads on the thread of the event loop of which at least one lets other tasks run."""
READ_THREADS = min(4, max(2, os.cpu_count() or 1))
"""Threads that read much. More of them than processors serve nobody sooner: each has its result in
memory, and the event loop waits for the interpreter's lock behind all of them.
"""
CLOSE_SECONDS = 60.0
# A short read blocks the event loop, so it does not wait long for a lock.
SHORT_READ_BUSY_SECONDS = 0.05


class SqliteStore:
    """A `Store` on one file; see `open_sqlite`.

    Callers should batch concurrent writes (`write_batch`).
    """

    def __init__(self, path: Path, listeners: Listeners = NO_LISTENERS) -> None:
        self._path = path
        self._writer = Writer(partial(connect, path), listeners)
        self._reader: Reader | None = None
        self._readers = ReaderPool(partial(connect, path, reading=True), READ_THREADS)
        self._closed = False
        # Reads since the last one that was a checkpoint.
        self._eager = 0

    async def read(self, script: Script[T]) -> T:
        """See `Store`. Runs on the thread of the event loop; some reads are checkpoints."""
        # A pass through the scheduler takes as long as a read; others run after a few of them.
        self._eager += 1
        if self._eager >= MAX_EAGER_READS:
            self._eager = 0
            await trio.lowlevel.checkpoint()
        if self._closed:
            self._require_open()
        reader = self._reader
        if reader is None:
            reader = self._reader = Reader(
                partial(connect, self._path, reading=True, busy_seconds=SHORT_READ_BUSY_SECONDS)
            )
        try:
            return reader.run(script)
        finally:
            if reader.failed:
                self._reader = None
                reader.close()

    async def read_much(self, script: Script[T]) -> T:
        """See `Store`. Runs in a worker thread; when cancelled, it ends within about 10 ms."""
        self._require_open()
        return await self._readers.run(script)

    async def write(self, script: Script[T]) -> T:
        """See `Store`."""
        # Kept in no variable: an error refers to this frame.
        result: T = (await self.write_batch([script])).pop().unwrap()
        return result

    # Not an async function: that saves every write one coroutine.
    def write_batch(self, scripts: Sequence[Script[Any]]) -> Coroutine[Any, Any, Outcomes]:
        """Run scripts in one transaction; return the result or exception of each, in order.

        When this returns, those that succeeded are durable. A script that raises has no effect.
        When the database fails, each of them fails with a `StoreUnavailable`. Cancellation waits
        for the end of the batch.
        """
        return self._writer.write_batch(scripts)

    async def applied_version(self) -> int:
        """Return the version of the schema in the database; raise `StoreUnavailable`."""
        return await trio.to_thread.run_sync(_version_at, self._path)

    def _require_open(self) -> None:
        if self._closed:
            raise StoreUnavailable("the database was closed")

    async def close(self) -> None:
        """Finish running calls and close every connection; cancellation waits for that."""
        self._closed = True
        try:
            await self._writer.close()
        finally:
            if self._reader is not None:
                self._reader.close()
            self._readers.close()


@asynccontextmanager
async def open_sqlite(
    folder: Path,
    listeners: Listeners = NO_LISTENERS,
    *,
    check: bool = True,
    migrating: bool = True,
) -> AsyncIterator[SqliteStore]:
    """Open the database in ``folder``, with the newest schema, for the block.

    The caller ensures that only one server uses it; commands may use it at the same time.

    Args:
        folder: created if it does not exist, with access for this user only.
        listeners: what features do in each transaction.
        check: check the integrity of the database first.
        migrating: migrate the schema to the newest version; no other process may use the folder.

    Raises:
        StoreOutdated: the schema is older, and ``migrating`` is False.
        StoreUnusable: the folder can't be used, the database is damaged or newer than this
            version of Octavo, or SQLite is too old.
        StoreUnavailable: it is locked, or out of space.

    Cancelling while it opens waits for the check. The end of the block finishes running calls.
    """
    path = await trio.to_thread.run_sync(prepare_file, folder)
    await trio.to_thread.run_sync(_make_ready, path, check, migrating)
    store = SqliteStore(path, listeners)
    try:
        yield store
    finally:
        with trio.move_on_after(CLOSE_SECONDS, shield=True):
            await store.close()


def _make_ready(path: Path, check: bool, migrating: bool) -> None:
    require_sqlite()
    with _opened(path) as connection:
        if check:
            result = connection.execute("PRAGMA quick_check(1)").fetchone()[0]
            if result != "ok":
                raise _damaged(path, " ".join(result.split()))
        if migrating:
            migrate(connection, shipped())
        elif lacks_some(connection, shipped()):
            raise StoreOutdated(f"the database {path} was made by an older version of Octavo")


@contextmanager
def _opened(path: Path) -> Iterator[sqlite3.Connection]:
    try:
        with closing(connect(path)) as connection:
            yield connection
    except sqlite3.DatabaseError as error:
        if getattr(error, "sqlite_errorcode", 0) & 0xFF in (
            sqlite3.SQLITE_CORRUPT,
            sqlite3.SQLITE_NOTADB,
        ):
            raise _damaged(path, error) from error
        raise failure(error) from error


def _damaged(path: Path, detail: object) -> StoreUnusable:
    return StoreUnusable(
        f"the database {path} is damaged ({detail}): restore a backup with `octavo restore`, or"
        " save what can be saved with `sqlite3` and its command .recover"
    )


def _version_at(path: Path) -> int:
    with _opened(path) as connection:
        return applied_version(connection)
