"""The audit in the database: recorded, read in pages, expired and erased in portions."""

import random
from collections.abc import AsyncIterator
from dataclasses import replace

import pytest
from octavo_rules.identity import AccountId

from octavo.model.access.audit import Actor, AuditEntry, AuditId, AuditKind
from octavo.store import Store
from octavo.store.queries import audit
from octavo.store.transaction import Transaction
from tests.fakes.stores import open_postgres
from tests.store.queries.test_changesets import Opened, on_sqlite

ANN, BEA = (AccountId(f"01900000-0000-7000-8000-{number:012x}") for number in (1, 2))


def entry(
    number: int,
    kind: AuditKind = "sign_in",
    actor: Actor | None = ANN,
    subject: str | None = None,
    client: str | None = "192.0.2.7",
) -> AuditEntry:
    entry_id = AuditId(f"01900000-0000-7000-9000-{number:012x}")
    return AuditEntry(entry_id, number, kind, actor, subject, client)


async def record(store: Store, *entries: AuditEntry) -> None:
    async def record_entries(transaction: Transaction) -> None:
        for each in entries:
            await audit.record(transaction, each)

    await store.write(record_entries)


async def everything(store: Store) -> list[AuditEntry]:
    return await store.read(audit.page(None, 10_000))


async def finish(store: Store, before: int) -> int:
    """Expire entries; return the number of steps."""
    steps = 1
    while await store.write(audit.expire(before)):
        steps += 1
    return steps


class Trail:
    """The tests for each engine."""

    @pytest.fixture
    async def store(self, opened: Opened) -> AsyncIterator[Store]:
        async with opened() as engine:
            yield engine

    async def test_an_entry_is_read_as_it_was_recorded(self, store: Store) -> None:
        full = AuditEntry(
            AuditId(ANN), 7, "command", "system", BEA, None, "refused", {"code": "a", "count": 2}
        )
        bare = entry(1, client=None)
        await record(store, full, bare)
        assert await everything(store) == [bare, full]

    async def test_pages_are_newest_first_and_continue_where_the_last_one_ended(
        self, store: Store
    ) -> None:
        entries = [entry(number) for number in range(5)]
        await record(store, *entries)
        first = await store.read(audit.page(None, 2))
        rest = await store.read(audit.page(first[-1].entry_id, 10))
        assert first + rest == entries[::-1]

    @pytest.mark.parametrize("kind", [None, "sign_in"])
    async def test_filters_select_entries_of_a_kind_and_of_an_account(
        self, store: Store, kind: AuditKind | None
    ) -> None:
        entries = [
            entry(0, actor=ANN),
            entry(1, actor=BEA),
            entry(2, actor=BEA, subject=ANN),
            entry(3, actor=ANN, subject=ANN),
            entry(4, "sign_out", actor=ANN),
            entry(5, actor="operator", subject=ANN),
            entry(6, actor=None),
        ]
        await record(store, *entries)
        found = await store.read(audit.page(None, 10, kind=kind, account_id=ANN))
        wanted = [0, 2, 3, 5] if kind else [0, 2, 3, 4, 5]
        assert found == [entries[number] for number in reversed(wanted)]
        page = await store.read(audit.page(found[0].entry_id, 2, kind=kind, account_id=ANN))
        assert page == found[1:3]
        of_kind = await store.read(audit.page(None, 10, kind=kind))
        assert of_kind == [each for each in entries[::-1] if kind in (None, each.kind)]

    async def test_expired_entries_are_deleted_in_portions(self, store: Store) -> None:
        await record(store, *(entry(number) for number in range(audit.MAX_ROWS + 2)))
        assert await finish(store, audit.MAX_ROWS + 1) == 2
        assert await everything(store) == [entry(audit.MAX_ROWS + 1)]

    async def test_the_oldest_refusals_in_excess_are_deleted(self, store: Store) -> None:
        refused = [entry(number, "attempt_refused", None) for number in range(5)]
        await record(store, *refused, entry(9))
        assert not await store.write(audit.expire_refusals(2))
        assert await everything(store) == [entry(9), refused[4], refused[3]]
        assert not await store.write(audit.expire_refusals(2))

    async def test_clients_of_a_removed_account_are_erased_in_portions(self, store: Store) -> None:
        own = [entry(number) for number in range(audit.MAX_ROWS + 2)]
        tried = entry(1000, "attempt_refused", None, ANN)
        others = [entry(1001, actor=BEA, subject=ANN), entry(1002, actor="system", subject=ANN)]
        await record(store, *own, tried, *others)

        async def forget(transaction: Transaction) -> None:
            await audit.forget_clients(transaction, ANN)

        await store.write(forget)
        steps = 0
        while await store.write(audit.erase_clients()):
            steps += 1
        assert steps == 2
        assert await everything(store) == [
            *others[::-1],
            *(replace(each, client=None) for each in (tried, *own[::-1])),
        ]


class TestSqlite(Trail):
    @pytest.fixture
    def opened(self) -> Opened:
        return on_sqlite


class TestPostgres(Trail):
    @pytest.fixture
    def opened(self, postgres_url: str) -> Opened:
        return lambda: open_postgres(postgres_url, random=random.Random(3).random)
