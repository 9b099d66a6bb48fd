"""The log reports a failing database once, and its recovery."""

import logging
from typing import cast

import pytest

from octavo.store import IndexDamaged, Script, StoreUnavailable, TextDamaged, Transaction
from octavo.store.outages import Outages, ReportingStore
from octavo.store.transaction import T

UNUSED = cast("Transaction", None)


class FailingStore:
    """A store that fails on demand; its scripts read nothing."""

    def __init__(self) -> None:
        self.readable = self.writable = True

    async def read(self, script: Script[T]) -> T:
        if not self.readable:
            raise StoreUnavailable("nobody answers")
        return await script(UNUSED)

    async def read_much(self, script: Script[T]) -> T:
        return await self.read(script)

    async def write(self, script: Script[T]) -> T:
        if not self.writable:
            raise StoreUnavailable("no room")
        return await script(UNUSED)


async def script(_: Transaction) -> int:
    return 7


async def refused(_: Transaction) -> int:
    raise LookupError


def logged(caplog: pytest.LogCaptureFixture) -> list[tuple[int, str]]:
    return [(record.levelno, record.getMessage()) for record in caplog.records]


async def test_working_store_is_not_logged(
    caplog: pytest.LogCaptureFixture,
) -> None:
    caplog.set_level(logging.INFO)
    store = ReportingStore(FailingStore(), Outages())
    for use in (store.read, store.read_much, store.write):
        assert await use(script) == 7
        with pytest.raises(LookupError):
            await use(refused)
    assert logged(caplog) == []


async def test_outage_and_recovery_are_logged_once_with_the_reason(
    caplog: pytest.LogCaptureFixture,
) -> None:
    caplog.set_level(logging.INFO)
    engine = FailingStore()
    store = ReportingStore(engine, Outages())
    engine.readable = False
    for use in (store.read, store.read_much, store.read):
        with pytest.raises(StoreUnavailable):
            await use(script)
    engine.readable = True
    await store.read(script)
    await store.read_much(script)
    assert logged(caplog) == [
        (logging.WARNING, "the database can't be read now: nobody answers"),
        (logging.INFO, "the database can be read again"),
    ]


async def test_damaged_text_is_logged_once_and_is_no_outage(
    caplog: pytest.LogCaptureFixture,
) -> None:
    async def damaged(_: Transaction) -> int:
        raise TextDamaged("f", "no frame")

    caplog.set_level(logging.INFO)
    store = ReportingStore(FailingStore(), Outages())
    for _ in range(3):
        with pytest.raises(TextDamaged):
            await store.read(damaged)
        await store.read(script)
    assert logged(caplog) == [
        (
            logging.ERROR,
            "the text of the file f is damaged: no frame; restore a backup, or delete the file",
        )
    ]


async def test_damaged_index_is_no_outage(caplog: pytest.LogCaptureFixture) -> None:
    async def damaged(_: Transaction) -> int:
        raise IndexDamaged("the search index is damaged")

    caplog.set_level(logging.INFO)
    store = ReportingStore(FailingStore(), Outages())
    for use in (store.read, store.read_much, store.write):
        with pytest.raises(IndexDamaged):
            await use(damaged)
        await store.read(script)
    assert logged(caplog) == []


async def test_outage_of_writes_lasts_while_reads_succeed(
    caplog: pytest.LogCaptureFixture,
) -> None:
    caplog.set_level(logging.INFO)
    engine = FailingStore()
    outages = Outages()
    store, other = ReportingStore(engine, outages), ReportingStore(engine, outages)
    engine.writable = False
    for each in (store, other, store):
        with pytest.raises(StoreUnavailable):
            await each.write(script)
        assert await each.read(script) == 7
    assert logged(caplog) == [(logging.WARNING, "the database can't be written to now: no room")]
