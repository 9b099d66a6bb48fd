"""The SQLite store of a server: on a file, with its threads, and group commit in front of it."""

import signal
import sqlite3
import stat
import subprocess
import sys
import threading
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
import trio
from greenroom import Supervisor

from octavo.actors.group_commit import GroupCommit, storage_spec
from octavo.store import (
    ConstraintViolated,
    Store,
    StoreError,
    StoreFull,
    StoreOutdated,
    StoreUnavailable,
    StoreUnusable,
    Transaction,
)
from octavo.store.migrations import shipped
from octavo.store.sqlite import open_sqlite
from octavo.store.sqlite.connection import connect, require_sqlite
from octavo.store.sqlite.writer import Writer
from tests.store.conformance import Reopen, StoreConformance, adding, fetching, identities

# A process that writes without end, and prints what was acknowledged.
WRITE = """
import os, pathlib, sys, trio, uuid
from octavo.store.sqlite import open_sqlite

ADD = "INSERT INTO workspaces (id, name, position, created_at) VALUES ($1::uuid, '', 0, 0)"

async def main():
    async with open_sqlite(pathlib.Path(sys.argv[1])) as store, trio.open_nursery() as nursery:
        for _ in range(4):
            nursery.start_soon(write, store)

async def write(store):
    while True:
        name = str(uuid.uuid4())
        await store.write(lambda transaction: transaction.execute(ADD, name))
        os.write(1, f"{name}\\n".encode())

trio.run(main)
"""


class TestSqlite(StoreConformance):
    @pytest.fixture
    def reopen(self, tmp_path: Path) -> Reopen:
        return lambda: open_sqlite(tmp_path / "data")


class TestGroupCommit(StoreConformance):
    @pytest.fixture
    def reopen(self, tmp_path: Path) -> Reopen:
        @asynccontextmanager
        async def reopen() -> AsyncIterator[Store]:
            async with open_sqlite(tmp_path / "data") as engine:
                root = Supervisor("test")
                actor = root.add(storage_spec(engine))
                async with root.running():
                    yield GroupCommit(actor, engine)

        return reopen


# Data on the disk


async def test_folder_and_files_are_private_to_the_user(tmp_path: Path) -> None:
    folder = tmp_path / "new" / "data"
    async with open_sqlite(folder) as store:
        await store.write(adding("a"))
        modes = {path.name: stat.S_IMODE(path.stat().st_mode) for path in folder.iterdir()}
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700
    assert set(modes) >= {"octavo.sqlite3", "octavo.sqlite3-wal"}
    assert set(modes.values()) == {0o600}


async def test_commit_waits_until_it_is_on_the_disk(tmp_path: Path) -> None:
    full = 2  # https://www.sqlite.org/pragma.html#pragma_synchronous
    async with open_sqlite(tmp_path) as store:
        assert await store.write(fetching("PRAGMA journal_mode")) == [("wal",)]
        assert await store.write(fetching("PRAGMA synchronous")) == [(full,)]


async def test_folder_that_cannot_be_created_is_unusable(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(StoreUnusable, match="can't be used"):
        async with open_sqlite(tmp_path / "file" / "data"):
            pass


async def test_command_next_to_a_server_reads_and_writes(tmp_path: Path) -> None:
    async with open_sqlite(tmp_path) as server:
        async with open_sqlite(tmp_path, migrating=False) as command:
            await server.write(adding("a"))
            assert await identities(command) == ["a"]
            await command.write(adding("b"))
        assert await identities(server) == ["a", "b"]


async def test_schema_is_unchanged_unless_migration_is_allowed(tmp_path: Path) -> None:
    with pytest.raises(StoreOutdated, match="older version"):
        async with open_sqlite(tmp_path, migrating=False):
            pass
    with sqlite3.connect(tmp_path / "octavo.sqlite3") as connection:
        assert connection.execute("SELECT * FROM sqlite_master").fetchall() == []
    connection.close()


async def test_folder_is_free_again_after_its_server_ended(tmp_path: Path) -> None:
    for _ in range(2):
        async with open_sqlite(tmp_path) as store:
            assert await store.applied_version() == shipped()[-1].version


@pytest.mark.parametrize("spoiled", [0, 4096 * 3], ids=["head", "page"])
async def test_damaged_database_is_refused_with_a_remedy(tmp_path: Path, spoiled: int) -> None:
    async with open_sqlite(tmp_path) as store:
        await store.write(adding("a"))
    path = tmp_path / "octavo.sqlite3"
    data, noise = path.read_bytes(), b"no database" * 300
    path.write_bytes(data[:spoiled] + noise + data[spoiled + len(noise) :])
    with pytest.raises(StoreUnusable, match=r"is damaged .* backup"):
        async with open_sqlite(tmp_path):
            pass


def test_old_sqlite_is_refused() -> None:
    with pytest.raises(StoreUnusable, match=r"SQLite 3\.34\.1 is too old"):
        require_sqlite((3, 34, 1))


# When the database fails


@asynccontextmanager
async def writing(connect: Callable[[], sqlite3.Connection]) -> AsyncIterator[Writer]:
    """A writer whose thread ends with the block, so that a test that fails ends, too."""
    writer = Writer(connect)
    try:
        yield writer
    finally:
        await writer.close()


async def test_full_disk_fails_the_batch_without_effect_and_space_recovers_it(
    tmp_path: Path,
) -> None:
    connections: list[sqlite3.Connection] = []
    pages = 0

    def connect_bounded() -> sqlite3.Connection:
        connection = connect(tmp_path / "octavo.sqlite3")
        [(used,)] = connection.execute("PRAGMA page_count").fetchall()
        connection.execute(f"PRAGMA max_page_count = {pages or used + 20}")
        connections.append(connection)
        return connection

    async with open_sqlite(tmp_path) as store, writing(connect_bounded) as writer:
        text = "x" * 200_000
        scripts = [adding("a"), adding("b", name=text), adding("c")]
        for outcome in await writer.write_batch(scripts):
            with pytest.raises(StoreFull) as caught:
                outcome.unwrap()
            assert not caught.value.outcome_unknown
        assert await identities(store) == []
        pages = 1_000_000
        assert [outcome.unwrap() for outcome in await writer.write_batch(scripts)] == [1, 1, 1]
        assert await identities(store) == ["a", "b", "c"]
    assert len(connections) == 2


@pytest.mark.parametrize(
    ("code", "kind", "unknown"),
    [
        (sqlite3.SQLITE_FULL, StoreFull, False),
        (sqlite3.SQLITE_IOERR_FSYNC, StoreUnavailable, True),
        (sqlite3.SQLITE_BUSY, StoreUnavailable, False),
        (sqlite3.SQLITE_CONSTRAINT_FOREIGNKEY, ConstraintViolated, False),
    ],
)
async def test_failed_commit_reports_whether_the_outcome_is_known_and_the_next_succeeds(
    tmp_path: Path, code: int, kind: type[StoreError], unknown: bool
) -> None:
    """The commit fails with an injected error in place of SQLite's."""
    failures = [code]

    class Failing(sqlite3.Connection):
        def execute(self, sql: str, parameters: Any = (), /) -> sqlite3.Cursor:  # noqa: ANN401
            if sql == "COMMIT" and failures:
                error = sqlite3.OperationalError("the disk said no")
                error.sqlite_errorcode = failures.pop()
                raise error
            return super().execute(sql, parameters)

    def connect_failing() -> sqlite3.Connection:
        path = tmp_path / "octavo.sqlite3"
        return sqlite3.connect(path, isolation_level=None, factory=Failing)

    async with open_sqlite(tmp_path) as store, writing(connect_failing) as writer:
        [lost] = await writer.write_batch([adding("lost")])
        with pytest.raises(kind) as caught:
            lost.unwrap()
        assert caught.value.outcome_unknown is unknown
        [kept] = await writer.write_batch([adding("kept")])
        assert kept.unwrap() == 1
        assert await identities(store) == ["kept"]


async def test_database_locked_by_another_is_unavailable_and_nothing_was_committed(
    tmp_path: Path,
) -> None:
    def connect_impatient() -> sqlite3.Connection:
        return connect(tmp_path / "octavo.sqlite3", busy_seconds=0.01)

    async with open_sqlite(tmp_path) as store, writing(connect_impatient) as writer:
        other = connect(tmp_path / "octavo.sqlite3")
        other.execute("BEGIN IMMEDIATE")
        [outcome] = await writer.write_batch([adding("a")])
        with pytest.raises(StoreUnavailable, match="locked") as caught:
            outcome.unwrap()
        assert not caught.value.outcome_unknown
        other.execute("ROLLBACK")
        other.close()
        await writer.write_batch([adding("b")])
        assert await identities(store) == ["b"]


async def test_acknowledged_writes_outlive_a_killed_process(tmp_path: Path) -> None:
    for _ in range(3):
        process = await trio.lowlevel.open_process(
            [sys.executable, "-c", WRITE, tmp_path], stdout=subprocess.PIPE
        )
        assert process.stdout is not None
        output = b""
        while output.count(b"\n") < 40:
            output += await process.stdout.receive_some()
        process.kill()
        async with process.stdout:
            async for more in process.stdout:
                output += more
        assert await process.wait() == -signal.SIGKILL
        acknowledged = output.decode().split("\n")[:-1]
        async with open_sqlite(tmp_path) as store:
            assert set(acknowledged) <= set(await identities(store))


# Threads


async def test_cancelled_long_read_ends_soon_and_the_store_continues(tmp_path: Path) -> None:
    endless = "WITH RECURSIVE n(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM n) SELECT MAX(x) FROM n"
    async with open_sqlite(tmp_path) as store:
        await store.write(adding("a"))
        for _ in range(3):
            with trio.fail_after(20), trio.move_on_after(0.05) as scope:
                async with trio.open_nursery() as nursery:
                    for _ in range(6):
                        nursery.start_soon(store.read_much, fetching(endless))
            assert scope.cancelled_caught
        assert await store.read_much(fetching("SELECT id FROM workspaces")) == [("a",)]


async def test_long_read_blocks_nobody(tmp_path: Path) -> None:
    started, release = threading.Event(), threading.Event()

    async def slow(transaction: Transaction) -> int:
        started.set()
        release.wait(20)
        return len(await transaction.fetch_all("SELECT id FROM workspaces"))

    async with open_sqlite(tmp_path) as store, trio.open_nursery() as nursery:
        nursery.start_soon(store.read_much, slow)
        await trio.to_thread.run_sync(started.wait, 20)
        await store.write(adding("a"))
        assert await identities(store) == ["a"]
        release.set()


async def test_closed_store_raises(tmp_path: Path) -> None:
    async with open_sqlite(tmp_path) as store:
        pass
    for call in (store.write, store.read, store.read_much):
        with pytest.raises(StoreUnavailable, match="closed"):
            await call(adding("a"))
    assert "octavo-writer" not in {thread.name for thread in threading.enumerate()}


async def test_cancelled_block_finishes_the_write_in_progress(tmp_path: Path) -> None:
    taken, release = threading.Event(), threading.Event()

    async def slow(transaction: Transaction) -> int:
        taken.set()
        release.wait(20)
        return await adding("a")(transaction)

    with trio.CancelScope() as scope:
        async with open_sqlite(tmp_path) as store, trio.open_nursery() as nursery:
            nursery.start_soon(store.write, slow)
            await trio.to_thread.run_sync(taken.wait, 20)
            scope.cancel()
            release.set()
    async with open_sqlite(tmp_path) as store:
        assert await identities(store) == ["a"]
