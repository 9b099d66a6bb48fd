"""What readiness checks, and what it reports on failure."""

import errno
import os
import re
import threading
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any, cast

import pytest
import trio
import trio.testing

from octavo.service import readiness as service
from octavo.service.readiness import (
    FRESH_SECONDS,
    LOOK_SECONDS,
    STORE_FRESH_SECONDS,
    ReadinessProbe,
    write_probe,
)
from octavo.store import Script, StoreFull, StoreUnavailable, StoreUnusable, Transaction
from octavo.store.blobs import BlobStore, BlobsUnavailable, LocalBlobs
from octavo.store.engine import StoreEngine
from octavo.store.migrations import shipped
from octavo.store.sqlite import SqliteStore, open_sqlite
from octavo.store.transaction import T


class Failing:
    """A database that can be read, and fails to write; it counts the attempts."""

    def __init__(self) -> None:
        self.writes = 0
        self.broken = True

    async def write(self, script: Script[T]) -> T:
        self.writes += 1
        await trio.lowlevel.checkpoint()
        if self.broken:
            raise StoreUnavailable("read-only")
        return cast(T, None)

    async def applied_version(self) -> int:
        return shipped()[-1].version


class Away:
    """A database that fails, or never responds."""

    def __init__(self, *, hangs: bool = False) -> None:
        self._hangs = hangs

    async def applied_version(self) -> int:
        if self._hangs:
            await trio.sleep_forever()
        raise StoreUnavailable("secret of the database")


async def written(folder: Path) -> None:
    """Write immediately: the clocks of tests don't wait for threads."""
    await trio.lowlevel.checkpoint()
    write_probe(folder)


def probe(
    store: object,
    folder: Path,
    write: Callable[[Path], Awaitable[None]] | None = written,
    blobs: BlobStore | None = None,
) -> ReadinessProbe:
    engine = StoreEngine(sqlite=cast(SqliteStore, store))
    return ReadinessProbe(engine, folder, trio.Event(), write, blobs)


async def test_ready_when_all_requirements_are_met(tmp_path: Path) -> None:
    async with open_sqlite(tmp_path) as store:
        found = await probe(store, tmp_path).look()
    assert found.ready
    assert [each.name for each in found.requirements] == [
        "configuration",
        "database",
        "migrations",
        "blobs",
    ]


@pytest.mark.parametrize("hangs", [False, True])
async def test_unavailable_database_is_reported_in_time_and_without_secrets(
    hangs: bool, tmp_path: Path, autojump_clock: trio.testing.MockClock
) -> None:
    found = await probe(Away(hangs=hangs), tmp_path).look()
    assert not found.ready
    assert trio.current_time() <= LOOK_SECONDS
    unmet = {each.name: each.detail for each in found.requirements if not each.met}
    assert set(unmet) == {"database", "migrations"}
    assert "secret" not in str(unmet)


async def test_missing_data_folder_is_reported(tmp_path: Path) -> None:
    async with open_sqlite(tmp_path / "data") as store:
        found = await probe(store, tmp_path / "gone").look()
    assert [each.name for each in found.requirements if not each.met] == ["blobs"]


async def test_unwritable_database_is_reported_and_recovers(
    tmp_path: Path, autojump_clock: trio.testing.MockClock
) -> None:
    store = Failing()
    readiness = probe(store, tmp_path)
    unmet = {
        each.name: each.detail for each in (await readiness.look()).requirements if not each.met
    }
    assert unmet == {
        "database": "The database can't be written to now: the log of the service says why."
    }
    store.broken = False
    assert not (await readiness.look()).ready
    await trio.sleep(FRESH_SECONDS)
    assert (await readiness.look()).ready


async def test_write_checks_run_once_for_concurrent_callers(
    tmp_path: Path, autojump_clock: trio.testing.MockClock
) -> None:
    store = Failing()
    readiness = probe(store, tmp_path)
    async with trio.open_nursery() as nursery:
        for _ in range(10):
            nursery.start_soon(readiness.look)
    assert store.writes == 1


async def test_probe_writes_different_data_each_time_and_leaves_no_file(tmp_path: Path) -> None:
    async with open_sqlite(tmp_path) as store:
        before = await store.read(user_version)
        await store.write(StoreEngine(sqlite=store).probe)
        assert await store.read(user_version) != before
        write_probe(tmp_path)
        assert not (tmp_path / ".ready").exists()


async def user_version(transaction: Transaction) -> int:
    row = await transaction.fetch_one("PRAGMA user_version")
    assert row is not None
    return int(row[0])


@pytest.mark.parametrize(
    ("number", "expected"),
    [
        (errno.ENOSPC, "its disk is full: make room there."),
        (errno.EDQUOT, "its disk is full: make room there."),
        (errno.EROFS, "its file system is read-only: look at its disk."),
        (errno.EACCES, "the service may not: look at its owner and its mode."),
        (errno.EIO, "the log of the service says why."),
    ],
)
async def test_unwritable_folder_has_a_reason(number: int, expected: str, tmp_path: Path) -> None:
    async def refuse(folder: Path) -> None:
        raise OSError(number, os.strerror(number))

    found = await probe(Failing(), tmp_path, refuse).look()
    assert [each.detail for each in found.requirements if each.name == "blobs"] == [
        f"The data folder can't be written to: {expected}"
    ]


async def test_hanging_folder_is_reported_in_time(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    released = threading.Event()
    monkeypatch.setattr(service, "LOOK_SECONDS", 0.1)
    monkeypatch.setattr(service, "write_probe", lambda folder: released.wait(30))
    try:
        with trio.fail_after(10):
            found = await probe(Failing(), tmp_path, None).look()
    finally:
        released.set()
    assert [each.met for each in found.requirements if each.name == "blobs"] == [False]


async def test_lost_database_is_not_ready_though_it_was_written_to_just_now(
    tmp_path: Path,
) -> None:
    class Leaving(Failing):
        away = False

        async def applied_version(self) -> int:
            if self.away:
                raise StoreUnavailable("away")
            return shipped()[-1].version

    store = Leaving()
    store.broken = False
    readiness = probe(store, tmp_path)
    assert (await readiness.look()).ready
    store.away = True
    found = await readiness.look()
    assert [each.name for each in found.requirements if not each.met] == ["database", "migrations"]


class CheckedBlobs(LocalBlobs):
    """A blob store that fails, or never responds; it counts the checks."""

    def __init__(self) -> None:
        super().__init__(Path())
        self.fails = self.hangs = False
        self.checks = 0

    async def check(self) -> None:
        self.checks += 1
        if self.hangs:
            await trio.sleep_forever()
        await trio.lowlevel.checkpoint()
        if self.fails:
            raise BlobsUnavailable("secret of the store")


async def test_object_store_is_reported_and_not_needed(
    tmp_path: Path, autojump_clock: trio.testing.MockClock
) -> None:
    blobs, store = CheckedBlobs(), Failing()
    store.broken = False
    readiness = probe(store, tmp_path, blobs=blobs)
    reports = []
    for fails, hangs in ((False, False), (True, False), (False, True), (False, False)):
        blobs.fails, blobs.hangs = fails, hangs
        started = trio.current_time()
        found = await readiness.look()
        assert trio.current_time() - started <= LOOK_SECONDS
        assert found.ready
        reports.append(found.requirements[-1])
        await trio.sleep(STORE_FRESH_SECONDS)
    assert {(each.name, each.optional) for each in reports} == {("object_store", True)}
    assert [(each.met, each.detail) for each in reports] == [
        (True, "The object store can be written to."),
        (False, "The object store can't be used now: the log of the service says why."),
        (False, "The object store did not respond within 2 seconds."),
        (True, "The object store can be written to."),
    ]


async def test_object_store_is_not_checked_for_each_request(
    tmp_path: Path, autojump_clock: trio.testing.MockClock
) -> None:
    blobs = CheckedBlobs()
    readiness = probe(Failing(), tmp_path, blobs=blobs)
    for _ in range(10):
        await readiness.look()
        await trio.sleep(FRESH_SECONDS)
    assert blobs.checks == 1


HOSTILE = "/srv/octavo: ann@db.example, 10.0.0.1:5432 [::1], PostgreSQL 15.3"
PLAIN = re.compile(r"[A-Za-z',:;. -]+( 2 seconds)?[A-Za-z',:;. -]*")
_ERRORS = (errno.ENOSPC, errno.EROFS, errno.EACCES, errno.ENOENT, errno.EIO)


async def refuse_with(error: Exception | None) -> None:
    await trio.lowlevel.checkpoint()
    if error is not None:
        raise error
    await trio.sleep_forever()


class HostileStore(Failing):
    """A database whose failures name what a stranger must not read; None never responds."""

    def __init__(self, use: str, error: Exception | None = None, version: int = 0) -> None:
        super().__init__()
        self.broken = False
        self._use, self._error, self._version = use, error, version

    async def write(self, script: Script[T]) -> T:
        if self._use == "write":
            await refuse_with(self._error)
        return await super().write(script)

    async def applied_version(self) -> int:
        if self._use == "read":
            await refuse_with(self._error)
        return self._version or await super().applied_version()


class HostileBlobs(LocalBlobs):
    def __init__(self, error: Exception | None) -> None:
        super().__init__(Path())
        self._error = error

    async def check(self) -> None:
        await refuse_with(self._error)


def failing_folder(error: Exception | None) -> Callable[[Path], Awaitable[None]]:
    return lambda folder: refuse_with(error)


def fixed(database: object = None, **given: object) -> dict[str, object]:
    return {
        "store": database or HostileStore(""),
        "write": written,
        "blobs": CheckedBlobs(),
        **given,
    }


@pytest.mark.parametrize(
    ("given", "unmet"),
    [
        (fixed(), set()),
        (fixed(HostileStore("read", StoreUnavailable(HOSTILE))), {"database", "migrations"}),
        (fixed(HostileStore("read", StoreUnusable(HOSTILE))), {"database", "migrations"}),
        (fixed(HostileStore("read")), {"database", "migrations"}),
        (fixed(HostileStore("", version=99)), {"migrations"}),
        (fixed(HostileStore("write", StoreFull(HOSTILE))), {"database"}),
        (fixed(HostileStore("write")), {"database"}),
        *(
            (fixed(write=failing_folder(OSError(number, HOSTILE, HOSTILE))), {"blobs"})
            for number in _ERRORS
        ),
        (fixed(write=failing_folder(OSError(HOSTILE))), {"blobs"}),
        (fixed(write=failing_folder(None)), {"blobs"}),
        (fixed(blobs=HostileBlobs(BlobsUnavailable(HOSTILE))), {"object_store"}),
        (fixed(blobs=HostileBlobs(None)), {"object_store"}),
    ],
)
async def test_no_detail_holds_a_version_a_path_an_address_or_the_text_of_an_error(
    given: dict[str, Any], unmet: set[str], tmp_path: Path, autojump_clock: trio.testing.MockClock
) -> None:
    found = await probe(folder=tmp_path, **given).look()
    assert {each.name for each in found.requirements if not each.met} == unmet
    assert {each.name for each in found.requirements} == {
        "configuration",
        "database",
        "migrations",
        "blobs",
        "object_store",
    }
    for each in found.requirements:
        assert PLAIN.fullmatch(each.detail), each.detail
        assert not any(word in each.detail for word in re.findall(r"\w{3,}", HOSTILE))


async def test_schema_of_another_version_is_logged_once_with_both(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    readiness = probe(HostileStore("", version=99), tmp_path)
    await readiness.look()
    await readiness.look()
    [record] = caplog.records
    assert (
        f"it has version 99, and this program expects {shipped()[-1].version}"
        in record.getMessage()
    )
