"""The guarantees of every store, on any engine.

Derive from `StoreConformance` and provide the fixture ``reopen``, which opens a store; every store
that it opens in one test is on the same database.
"""

import gc
import weakref
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import AbstractAsyncContextManager, suppress
from functools import partial
from typing import Any

import pytest
import trio

from octavo.store import (
    ConstraintViolated,
    Script,
    StatementInvalid,
    Store,
    StoreError,
    Transaction,
    Value,
)
from octavo.store.migrations import NEWEST, shipped

Reopen = Callable[[], AbstractAsyncContextManager[Store]]
ADD_WORKSPACE = (
    "INSERT INTO workspaces (id, name, position, created_at) VALUES ($1::uuid, $2, $3, $4)"
)
ADD_ACCOUNT = """
    INSERT INTO accounts
        (id, address, display_name, password, role, state, created_at, updated_at)
    VALUES ($1::uuid, 'a@example.org', '', '', 'member', 'enabled', 0, 0)
"""
ADD_KEY = """
    INSERT INTO api_keys (id, account_id, name, digest, created_at)
    VALUES ($1::uuid, $1::uuid, 'key', $2, 0)
"""
ADD_CONTENT = "INSERT INTO contents (pk, compressed) VALUES ($1, $2)"
OVERWRITE = "ON CONFLICT (id) DO UPDATE SET position = 9"
SLOW = """
    WITH RECURSIVE counted (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM counted WHERE n < 1000000)
    SELECT MAX(n) FROM counted
"""
NAMES = ["Zoë", "a", "A", "ä", "z", "é", "~", "1", "🦉", "\ue000", "ﬀ", ""]


class Rows(list[int]):
    """A list that can be referred to weakly."""


class Refused(Exception):
    """Raised by the scripts of these tests."""


def executing(sql: str, *arguments: Value) -> Script[int]:
    async def script(transaction: Transaction) -> int:
        return await transaction.execute(sql, *arguments)

    return script


def fetching(sql: str, *arguments: Value) -> Script[list[tuple[Any, ...]]]:
    async def script(transaction: Transaction) -> list[tuple[Any, ...]]:
        return [tuple(row) for row in await transaction.fetch_all(sql, *arguments)]

    return script


def adding(identity: str, position: int = 0, name: str = "notes") -> Script[int]:
    return executing(ADD_WORKSPACE, identity, name, position, 0)


def incrementing(identity: str) -> Script[int]:
    async def script(transaction: Transaction) -> int:
        row = await transaction.fetch_one(
            "SELECT position FROM workspaces WHERE id = $1::uuid", identity
        )
        assert row is not None
        position = int(row[0]) + 1
        await transaction.execute(
            "UPDATE workspaces SET position = $2 WHERE id = $1::uuid", identity, position
        )
        return position

    return script


async def identities(store: Store) -> list[str]:
    found = await store.read(fetching("SELECT id FROM workspaces ORDER BY id"))
    return [row[0] for row in found]


async def together(*calls: Callable[[], Awaitable[object]]) -> None:
    async with trio.open_nursery() as nursery:
        for call in calls:
            nursery.start_soon(call)


class StoreConformance:
    """The suite."""

    @pytest.fixture
    def without_collector(self) -> Iterator[None]:
        gc.disable()
        yield
        gc.enable()

    @pytest.fixture
    async def store(self, reopen: Reopen) -> AsyncIterator[Store]:
        async with reopen() as store:
            yield store

    # Results

    async def test_write_returns_the_result_of_its_script(self, store: Store) -> None:
        assert await store.write(adding("a")) == 1

    @pytest.mark.parametrize("much", [False, True])
    async def test_read_after_a_write_sees_it(self, store: Store, much: bool) -> None:
        await store.write(adding("a"))
        read = store.read_much if much else store.read
        assert await read(fetching("SELECT id, name, position FROM workspaces")) == [
            ("a", "notes", 0)
        ]

    async def test_statement_sees_the_previous_ones(self, store: Store) -> None:
        async def script(transaction: Transaction) -> object:
            await transaction.execute(ADD_WORKSPACE, "a", "notes", 7, 0)
            row = await transaction.fetch_one(
                "SELECT position FROM workspaces WHERE id = $1::uuid", "a"
            )
            return None if row is None else row[0]

        assert await store.write(script) == 7

    async def test_durable_after_reopening(self, reopen: Reopen) -> None:
        async with reopen() as store:
            await store.write(adding("a"))
        async with reopen() as store:
            assert await identities(store) == ["a"]

    async def test_missing_row_is_none(self, store: Store) -> None:
        async def script(transaction: Transaction) -> object:
            return await transaction.fetch_one("SELECT id FROM workspaces WHERE id = $1::uuid", "a")

        assert await store.read(script) is None

    async def test_first_of_many_rows_is_returned_and_the_write_is_committed(
        self, store: Store
    ) -> None:
        async def script(transaction: Transaction) -> object:
            for identity in "cab":
                await transaction.execute(ADD_WORKSPACE, identity, "notes", 0, 0)
            row = await transaction.fetch_one("SELECT id FROM workspaces ORDER BY id")
            return None if row is None else row[0]

        assert await store.write(script) == "a"
        assert await identities(store) == ["a", "b", "c"]

    async def test_placeholder_used_twice_takes_one_argument(self, store: Store) -> None:
        assert await store.read(
            fetching("SELECT CAST($1 AS TEXT), CAST($2 AS TEXT), CAST($1 AS TEXT)", "a", "b")
        ) == [("a", "b", "a")]

    async def test_placeholder_in_a_string_is_text(self, store: Store) -> None:
        assert await store.read(
            fetching("SELECT '$1 isn''t one', CAST($1 AS TEXT) -- nor $2", "a")
        ) == [("$1 isn't one", "a")]

    # Types

    @pytest.mark.parametrize("number", [0, -1, 2**31, 2**53, 2**63 - 1, -(2**63)])
    async def test_integer_round_trips(self, store: Store, number: int) -> None:
        await store.write(adding("a", number))
        assert await store.read(fetching("SELECT position FROM workspaces")) == [(number,)]

    @pytest.mark.parametrize(
        "text",
        ["", "a\nb\tc", "'; DROP TABLE workspaces; --", "🦉 é e\u0301 \ue000", "x" * 300_000],
    )
    async def test_text_round_trips(self, store: Store, text: str) -> None:
        await store.write(adding("a", name=text))
        assert await store.read(fetching("SELECT name FROM workspaces")) == [(text,)]

    @pytest.mark.parametrize("data", [b"", bytes(range(256)), b"\0" * 32])
    async def test_bytes_round_trip(self, store: Store, data: bytes) -> None:
        sql = (
            "INSERT INTO invitations (id, digest, address, role, created_at, expires_at)"
            " VALUES ($1::uuid, $2, $3, $4, $5, $6)"
        )
        await store.write(executing(sql, "a", data, None, "member", 0, 0))
        assert await store.read(
            fetching("SELECT digest, address FROM invitations WHERE digest = $1", data)
        ) == [(data, None)]

    async def test_null_equals_nothing(self, store: Store) -> None:
        sql = (
            "INSERT INTO invitations (id, digest, address, role, created_at, expires_at)"
            " VALUES ($1::uuid, $2, $3, $4, $5, $6)"
        )
        await store.write(executing(sql, "a", b"1", None, "member", 0, 0))
        found = fetching("SELECT id FROM invitations WHERE address = $1", None)
        assert await store.read(found) == []

    async def test_text_sorts_by_its_bytes(self, store: Store) -> None:
        for number, name in enumerate(NAMES):
            await store.write(adding(f"w{number}", name=name))
        found = await store.read(fetching("SELECT name FROM workspaces ORDER BY name"))
        assert [row[0] for row in found] == sorted(NAMES, key=str.encode)

    async def test_text_comparison_is_case_sensitive(self, store: Store) -> None:
        await together(
            partial(store.write, adding("1", name="a")), partial(store.write, adding("2", name="A"))
        )
        found = fetching("SELECT name FROM workspaces WHERE name = $1", "A")
        assert await store.read(found) == [("A",)]

    # Counts

    @pytest.mark.parametrize(
        ("sql", "arguments", "count"),
        [
            ("UPDATE workspaces SET position = 5", (), 3),
            ("UPDATE workspaces SET position = 5 WHERE id = $1::uuid", ("a",), 1),
            ("UPDATE workspaces SET position = 5 WHERE id = $1::uuid", ("z",), 0),
            ("DELETE FROM workspaces WHERE id > $1::uuid", ("a",), 2),
            ("DELETE FROM workspaces WHERE id > $1::uuid RETURNING id", ("a",), 2),
            (
                "INSERT INTO deleted_workspaces (id, pk) SELECT id, pk FROM workspaces",
                (),
                3,
            ),
            (f"{ADD_WORKSPACE} ON CONFLICT DO NOTHING", ("a", "", 0, 0), 0),
            (f"{ADD_WORKSPACE} {OVERWRITE}", ("a", "", 0, 0), 1),
            ("SELECT id FROM workspaces", (), 0),
        ],
    )
    async def test_execute_returns_the_number_of_changed_rows(
        self, store: Store, sql: str, arguments: tuple[Value, ...], count: int
    ) -> None:
        for identity in "abc":
            await store.write(adding(identity))
        assert await store.write(executing(sql, *arguments)) == count

    async def test_execute_many_executes_for_each_row(self, store: Store) -> None:
        async def script(transaction: Transaction) -> None:
            rows = [(f"{number:03}", "notes", number, 0) for number in range(300)]
            await transaction.execute_many(ADD_WORKSPACE, iter(rows))
            await transaction.execute_many(ADD_WORKSPACE, [])

        await store.write(script)
        assert await store.read(fetching("SELECT COUNT(*), SUM(position) FROM workspaces")) == [
            (300, sum(range(300)))
        ]

    # Atomicity

    async def test_failing_script_has_no_effect_and_its_exception_is_raised(
        self, store: Store
    ) -> None:
        async def script(transaction: Transaction) -> None:
            await transaction.execute(ADD_WORKSPACE, "a", "notes", 0, 0)
            await transaction.execute(ADD_WORKSPACE, "b", "notes", 0, 0)
            raise Refused

        with pytest.raises(Refused):
            await store.write(script)
        assert await identities(store) == []

    async def test_scripts_next_to_a_failing_one_are_committed(self, store: Store) -> None:
        async def refused(transaction: Transaction) -> None:
            await transaction.execute(ADD_WORKSPACE, "refused", "notes", 0, 0)
            raise Refused

        async def refuse() -> None:
            with pytest.raises(Refused):
                await store.write(refused)

        names = [f"{number:02}" for number in range(20)]
        calls = [partial(store.write, adding(name)) for name in names]
        await together(*calls[:10], refuse, *calls[10:], refuse)
        assert await identities(store) == names

    @pytest.mark.parametrize(
        ("sql", "arguments"),
        [
            (ADD_WORKSPACE, ("a", "again", 0, 0)),
            (ADD_WORKSPACE, ("b", None, 0, 0)),
            (ADD_KEY, ("nobody", b"\0")),
        ],
        ids=["unique", "not null", "reference"],
    )
    async def test_constraint_of_the_schema_is_enforced(
        self, store: Store, sql: str, arguments: tuple[Value, ...]
    ) -> None:
        await store.write(adding("a"))
        with pytest.raises(ConstraintViolated) as caught:
            await store.write(executing(sql, *arguments))
        assert not caught.value.outcome_unknown
        assert await identities(store) == ["a"]

    async def test_deletion_cascades_to_references(self, store: Store) -> None:
        await store.write(executing(ADD_ACCOUNT, "a"))
        await store.write(executing(ADD_KEY, "a", b"\0"))
        await store.write(executing("DELETE FROM accounts"))
        assert await store.read(fetching("SELECT COUNT(*) FROM api_keys")) == [(0,)]

    async def test_violation_can_be_translated(self, store: Store) -> None:
        async def script(transaction: Transaction) -> None:
            try:
                await transaction.execute(ADD_WORKSPACE, "a", "again", 0, 0)
            except ConstraintViolated as error:
                raise Refused from error

        await store.write(adding("a"))
        with pytest.raises(Refused):
            await store.write(script)

    async def test_transaction_is_over_after_a_violation(self, store: Store) -> None:
        async def script(transaction: Transaction) -> None:
            await transaction.execute(ADD_WORKSPACE, "b", "before", 0, 0)
            with pytest.raises(ConstraintViolated):
                await transaction.execute(ADD_WORKSPACE, "a", "again", 0, 0)
            await transaction.execute(ADD_WORKSPACE, "c", "after", 0, 0)

        await store.write(adding("a"))
        with pytest.raises(ConstraintViolated):
            await store.write(script)
        assert await identities(store) == ["a"]

    async def test_suppressed_violation_is_raised_all_the_same(self, store: Store) -> None:
        async def script(transaction: Transaction) -> str:
            await transaction.execute(ADD_WORKSPACE, "b", "before", 0, 0)
            with pytest.raises(ConstraintViolated):
                await transaction.execute(ADD_WORKSPACE, "a", "again", 0, 0)
            return "all is well"

        await store.write(adding("a"))
        with pytest.raises(ConstraintViolated):
            await store.write(script)
        assert await identities(store) == ["a"]

    @pytest.mark.parametrize(
        ("sql", "arguments"),
        [
            ("SELECT FROM WHERE", ()),
            ("SELECT nothing FROM workspaces", ()),
            ("UPDATE nobody SET a = 1", ()),
            ("SELECT id FROM workspaces WHERE id = $1::uuid", ()),
            ("SELECT id FROM workspaces WHERE id = $1::uuid", ("a", "b")),
            ("SELECT id FROM workspaces WHERE position = $1", (2**63,)),
            ("SELECT id FROM workspaces WHERE id = $1::uuid", ("\ud800",)),
        ],
        ids=["syntax", "column", "table", "too few", "too many", "too large", "no Unicode"],
    )
    async def test_invalid_statement_is_reported_and_the_store_continues(
        self, store: Store, sql: str, arguments: tuple[Value, ...]
    ) -> None:
        async def mistaken(transaction: Transaction) -> None:
            await transaction.execute(ADD_WORKSPACE, "mistaken", "notes", 0, 0)
            await transaction.fetch_all(sql, *arguments)

        with pytest.raises(StatementInvalid):
            await store.write(mistaken)
        with pytest.raises(StatementInvalid):
            await store.read(fetching(sql, *arguments))
        await store.write(adding("a"))
        assert await identities(store) == ["a"]

    @pytest.mark.parametrize("much", [False, True])
    async def test_write_in_a_read_is_invalid(self, store: Store, much: bool) -> None:
        read = store.read_much if much else store.read
        with pytest.raises(StatementInvalid):
            await read(adding("a"))
        with pytest.raises(StatementInvalid):
            await read(executing("DELETE FROM workspaces"))
        assert await identities(store) == []

    async def test_transaction_used_after_its_end_is_over(self, store: Store) -> None:
        kept: list[Transaction] = []

        async def script(transaction: Transaction) -> None:
            kept.append(transaction)

        await store.write(script)
        with pytest.raises(StoreError):
            await kept[0].execute(ADD_WORKSPACE, "a", "late", 0, 0)

    # Isolation

    async def test_counter_under_concurrent_writes_loses_none(self, store: Store) -> None:
        await store.write(adding("a"))
        responses: list[int] = []

        async def count() -> None:
            responses.append(await store.write(incrementing("a")))

        for _ in range(5):
            await together(*[count] * 6)
        assert sorted(responses) == list(range(1, 31))
        assert await store.read(fetching("SELECT position FROM workspaces")) == [(30,)]

    async def test_write_skew_does_not_happen(self, store: Store) -> None:
        """Each may leave if another one stays; also concurrently."""

        def leaving(identity: str) -> Script[bool]:
            async def script(transaction: Transaction) -> bool:
                row = await transaction.fetch_one(
                    "SELECT COUNT(*) FROM workspaces WHERE position = 1"
                )
                assert row is not None
                if row[0] < 2:
                    return False
                await transaction.execute(
                    "UPDATE workspaces SET position = 0 WHERE id = $1::uuid", identity
                )
                return True

            return script

        names = ["a", "b", "c", "d"]
        for name in names:
            await store.write(adding(name, 1))
        await together(*[partial(store.write, leaving(name)) for name in names])
        staying = fetching("SELECT COUNT(*) FROM workspaces WHERE position = 1")
        assert await store.read(staying) == [(1,)]

    async def test_read_sees_one_snapshot(self, store: Store) -> None:
        """Two rows are always moved together: no read finds them apart."""
        await store.write(adding("a"))
        await store.write(adding("b"))

        async def move() -> None:
            for _ in range(10):
                await store.write(executing("UPDATE workspaces SET position = position + 1"))

        async def look(read: Callable[[Script[bool]], Awaitable[bool]]) -> None:
            async def script(transaction: Transaction) -> bool:
                sql = "SELECT position FROM workspaces WHERE id = $1::uuid"
                return await transaction.fetch_one(sql, "a") == await transaction.fetch_one(
                    sql, "b"
                )

            for _ in range(10):
                assert await read(script)

        await together(move, partial(look, store.read), partial(look, store.read_much))

    # Memory

    @pytest.mark.parametrize("way", ["read", "read_much", "write", "suppressed", "twice"])
    async def test_what_a_failed_script_read_is_freed_at_once(
        self, store: Store, way: str, without_collector: None
    ) -> None:
        read: list[weakref.ref[Rows]] = []

        async def script(transaction: Transaction) -> None:
            rows = Rows()
            read.append(weakref.ref(rows))
            for _ in range(2 if way == "twice" else 1):
                with suppress(*[StoreError] if way in ("suppressed", "twice") else ()):
                    await transaction.fetch_all("SELECT nothing FROM workspaces")

        call = store.write if way == "write" else store.read_much if way != "read" else store.read
        with suppress(StatementInvalid):
            await call(script)
        # Until the thread has another job, trio's worker keeps the last one.
        await call(fetching("SELECT id FROM workspaces"))
        assert [each() for each in read] == [None]

    async def test_what_a_cancelled_script_read_is_freed_at_once(
        self, store: Store, without_collector: None
    ) -> None:
        read: list[weakref.ref[Rows]] = []

        async def script(transaction: Transaction) -> None:
            rows = Rows()
            read.append(weakref.ref(rows))
            await transaction.fetch_all(SLOW)

        with trio.move_on_after(0.1):
            await store.read_much(script)
        await store.read_much(fetching("SELECT id FROM workspaces"))
        assert [each() for each in read] == [None]

    # Cancellation

    async def test_write_cancelled_before_it_began_does_nothing(self, store: Store) -> None:
        with trio.CancelScope() as scope:
            scope.cancel()
            await store.write(adding("a"))
        assert scope.cancelled_caught
        assert await identities(store) == []

    @pytest.mark.parametrize("steps", range(12))
    async def test_write_cancelled_at_any_point_is_atomic_and_the_store_continues(
        self, store: Store, steps: int
    ) -> None:
        async def script(transaction: Transaction) -> None:
            await transaction.execute(ADD_WORKSPACE, "a", "notes", 3, 0)
            await transaction.execute(ADD_CONTENT, 3, b"text")

        with trio.CancelScope() as scope:
            async with trio.open_nursery() as nursery:
                nursery.start_soon(store.write, script)
                for _ in range(steps):
                    await trio.lowlevel.cancel_shielded_checkpoint()
                scope.cancel()
        # After the cancelled one, should it still be under way.
        await store.write(adding("b"))
        found = await store.read(
            fetching(
                "SELECT id, compressed FROM workspaces LEFT JOIN contents"
                " ON contents.pk = workspaces.position"
            )
        )
        assert sorted(found) in ([("b", None)], [("a", b"text"), ("b", None)])

    @pytest.mark.parametrize("much", [False, True])
    @pytest.mark.parametrize("steps", [0, 1, 3, 6])
    async def test_cancelled_reads_leave_the_store_intact(
        self, store: Store, steps: int, much: bool
    ) -> None:
        read = store.read_much if much else store.read
        await store.write(adding("a"))
        # More than any store has connections.
        with trio.CancelScope() as scope:
            async with trio.open_nursery() as nursery:
                for _ in range(25):
                    nursery.start_soon(read, fetching("SELECT id FROM workspaces"))
                for _ in range(steps):
                    await trio.lowlevel.cancel_shielded_checkpoint()
                scope.cancel()
        with trio.fail_after(20):
            for _ in range(12):
                assert await read(fetching("SELECT id FROM workspaces")) == [("a",)]

    # The schema

    async def test_schema_is_the_newest(self, store: Store) -> None:
        assert await store.read(fetching(NEWEST)) == [(shipped()[-1].version,)]

    async def test_schema_of_a_database_is_kept_when_it_is_reopened(self, reopen: Reopen) -> None:
        applied = fetching("SELECT version, digest FROM migrations ORDER BY version")
        async with reopen() as store:
            before = await store.read(applied)
        async with reopen() as store:
            assert await store.read(applied) == before
