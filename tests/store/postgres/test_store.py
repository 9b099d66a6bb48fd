"""The store on a real PostgreSQL server."""

import os
import random
from collections.abc import Callable, Iterator
from functools import partial

import pytest
import trio
from hypothesis import given
from hypothesis import strategies as st

from octavo.store import Script, StatementInvalid, StoreUnavailable, StoreUnusable, Transaction
from octavo.store.migrations import shipped
from octavo.store.postgres.listening import MAX_WAITING, Gap, Messages
from octavo.store.postgres.store import LONGEST_PAUSE, MAX_ATTEMPTS, PostgresStore, pause_before
from octavo.store.postgres.transaction import changed_rows
from octavo.store.transaction import single_statement
from tests.fakes.postgres_server import VARIABLE, PostgresServer, running_server
from tests.fakes.stores import open_postgres
from tests.store.conformance import (
    Refused,
    Reopen,
    StoreConformance,
    adding,
    executing,
    fetching,
    identities,
    incrementing,
    together,
)

opened = partial(open_postgres, random=random.Random(7).random)
# At the commit of a new workspace, the server delays.
SLOW_COMMIT = """
CREATE FUNCTION slow() RETURNS trigger LANGUAGE plpgsql AS
    'BEGIN PERFORM pg_notify(''committing'', ''''), pg_sleep(60); RETURN NULL; END';
CREATE CONSTRAINT TRIGGER slow AFTER INSERT ON workspaces DEFERRABLE INITIALLY DEFERRED
    FOR EACH ROW EXECUTE FUNCTION slow();
"""


@pytest.fixture
def own_server() -> Iterator[PostgresServer]:
    if VARIABLE in os.environ:
        pytest.skip(f"the server of {VARIABLE} is not stopped")
    with running_server() as server:
        yield server


class TestPostgres(StoreConformance):
    @pytest.fixture
    def reopen(self, postgres_url: str) -> Reopen:
        return lambda: opened(postgres_url)


# Rules


@given(st.integers(2, MAX_ATTEMPTS), st.floats(0, 1, exclude_max=True))
def test_pause_is_bounded(attempt: int, chance: float) -> None:
    pause = pause_before(attempt, chance)
    assert pause is not None
    assert 0 <= pause <= LONGEST_PAUSE


def test_attempts_end() -> None:
    assert pause_before(MAX_ATTEMPTS + 1, 0.5) is None


@pytest.mark.parametrize(
    ("tag", "rows"),
    [("INSERT 0 3", 3), ("UPDATE 0", 0), ("DELETE 12", 12), ("SELECT 5", 0), ("BEGIN", 0), ("", 0)],
)
def test_changed_rows_are_in_the_command_tag(tag: str, rows: int) -> None:
    assert changed_rows(tag) == rows


# Concurrency


async def test_concurrent_starts_create_the_schema_once(new_postgres_url: str) -> None:
    async def start() -> None:
        async with opened(new_postgres_url) as store:
            assert await store.applied_version() == shipped()[-1].version

    await together(*[start] * 4)


async def test_two_pools_count_together(postgres_url: str) -> None:
    async with opened(postgres_url) as one, opened(postgres_url) as two:
        await one.write(adding("a"))
        calls = [partial(store.write, incrementing("a")) for store in (one, two) for _ in range(6)]
        await together(*calls)
        found = fetching("SELECT position FROM workspaces")
        assert await one.read(found) == await two.read(found) == [(12,)]


async def test_more_calls_than_connections_take_turns(postgres_url: str) -> None:
    async with opened(postgres_url, connections=2) as store:
        await together(*[partial(store.write, adding(str(number))) for number in range(12)])
        assert len(await identities(store)) == 12
        sessions = fetching(
            "SELECT COUNT(*) FROM pg_stat_activity"
            " WHERE datname = current_database() AND application_name = 'octavo'"
        )
        [(count,)] = await store.read(sessions)
        assert count <= 2


# Cancellation


async def test_cancelled_write_that_began_is_finished(postgres_url: str) -> None:
    async with opened(postgres_url) as store:
        began = trio.Event()

        async def script(transaction: Transaction) -> None:
            await transaction.execute(
                "INSERT INTO workspaces (id, name, position, created_at)"
                " VALUES ($1::uuid, '', 0, 0)",
                "a",
            )
            began.set()
            await transaction.fetch_one("SELECT pg_sleep(0.05)")

        with trio.CancelScope() as scope:
            async with trio.open_nursery() as nursery:
                nursery.start_soon(store.write, script)
                await began.wait()
                scope.cancel()
        assert await identities(store) == ["a"]


@pytest.mark.parametrize("mark", [single_statement, lambda script: script])
async def test_cancelled_read_is_stopped_on_the_server(
    postgres_url: str, mark: Callable[[Script[object]], Script[object]]
) -> None:
    sleeping = fetching(
        "SELECT COUNT(*) FROM pg_stat_activity WHERE state = 'active' AND query LIKE 'SELECT pg_s%'"
        " AND datname = current_database()"
    )
    async with opened(postgres_url) as store:
        with trio.fail_after(20):
            async with trio.open_nursery() as nursery:
                nursery.start_soon(store.read, mark(fetching("SELECT pg_sleep(60)::text")))
                while await store.read(sleeping) == [(0,)]:
                    await trio.lowlevel.checkpoint()
                nursery.cancel_scope.cancel()
            while await store.read(sleeping) != [(0,)]:
                await trio.lowlevel.checkpoint()


async def test_single_statement_has_no_transaction_around_it(postgres_url: str) -> None:
    setting = fetching("SELECT current_setting('transaction_read_only')")
    async with opened(postgres_url) as store:
        assert await store.read(setting) == [("on",)]
        # Else BEGIN has said so.
        assert await store.read(single_statement(setting)) == [("off",)]


async def _read_twice(transaction: Transaction) -> None:
    for _ in range(2):
        await transaction.fetch_one("SELECT 1")


@pytest.mark.parametrize(
    "script",
    [
        _read_twice,
        executing("DELETE FROM workspaces"),
        fetching("DELETE FROM workspaces RETURNING id"),
        fetching("WITH gone AS (DELETE FROM workspaces RETURNING id) SELECT * FROM gone"),
    ],
    ids=["two", "delete", "delete returning", "delete with"],
)
async def test_script_that_is_marked_wrongly_changes_nothing(
    postgres_url: str, script: Script[object]
) -> None:
    async with opened(postgres_url) as store:
        await store.write(adding("a"))
        with pytest.raises(StatementInvalid, match="single_statement"):
            await store.read(single_statement(script))
        assert await identities(store) == ["a"]


# Without a server


async def test_missing_server_is_unavailable(tmp_path: object) -> None:
    with pytest.raises(StoreUnavailable, match="can't be reached"):
        async with opened(f"postgresql://postgres@/postgres?host={tmp_path}"):
            pass


async def test_missing_database_is_unusable(postgres_server: str) -> None:
    with pytest.raises(StoreUnusable, match="has no database"):
        async with opened(postgres_server.replace("/postgres?", "/nobody?")):
            pass


async def test_lost_server_is_unavailable_and_everything_works_when_it_is_back(
    own_server: PostgresServer,
) -> None:
    async with opened(own_server.url()) as store:
        await store.write(adding("a"))
        await trio.to_thread.run_sync(own_server.stop)
        try:
            with pytest.raises(StoreUnavailable) as caught:
                await store.write(adding("b"))
            assert not caught.value.outcome_unknown
            with pytest.raises(StoreUnavailable):
                await identities(store)
        finally:
            await trio.to_thread.run_sync(own_server.start)
        assert await identities(store) == ["a"]
        await store.write(adding("c"))
        assert await identities(store) == ["a", "c"]


async def test_server_restarted_between_two_calls_is_not_noticed(
    own_server: PostgresServer,
) -> None:
    async with opened(own_server.url()) as store:
        await store.write(adding("a"))
        own_server.stop()
        own_server.start()
        await store.write(adding("b"))
        assert await identities(store) == ["a", "b"]
        own_server.stop()
        own_server.start()
        ids = single_statement(fetching("SELECT id FROM workspaces ORDER BY id"))
        assert await store.read(ids) == [("a",), ("b",)]


@pytest.mark.parametrize("committing", [False, True])
async def test_server_lost_during_a_write_leaves_its_outcome_unknown_only_at_the_commit(
    own_server: PostgresServer, committing: bool
) -> None:
    caught: list[StoreUnavailable] = []
    inside = trio.Event()

    async def script(transaction: Transaction) -> None:
        await adding("a")(transaction)
        inside.set()
        if not committing:
            await transaction.fetch_one("SELECT pg_sleep(60)::text")

    async def write() -> None:
        with pytest.raises(StoreUnavailable) as raised:
            await store.write(script)
        caught.append(raised.value)

    async def wait_for_commit() -> None:
        waiting = fetching(
            "SELECT COUNT(*) FROM pg_stat_activity WHERE state = 'active' AND query LIKE $1",
            "COMMIT%" if committing else "SELECT pg_s%",
        )
        while await store.read(waiting) == [(0,)]:
            await trio.lowlevel.checkpoint()

    async with opened(own_server.url()) as store:
        if committing:
            for statement in SLOW_COMMIT.strip().split(";\n"):
                await store.write(executing(statement))
        with trio.fail_after(20):
            async with trio.open_nursery() as nursery:
                nursery.start_soon(write)
                await inside.wait()
                await wait_for_commit()
                await trio.to_thread.run_sync(own_server.stop)
        own_server.start()
        assert [error.outcome_unknown for error in caught] == [committing]


# Notices


async def next_of(messages: Messages) -> str | Gap:
    with trio.fail_after(20):
        return await anext(messages)


async def notify(store: PostgresStore, payload: str) -> None:
    await store.write(executing("SELECT pg_notify($1, $2)", "news", payload))


async def test_listener_receives_commits_in_order(postgres_url: str) -> None:
    async def refused(transaction: Transaction) -> None:
        await transaction.execute("SELECT pg_notify($1, $2)", "news", "never")
        raise Refused

    async with (
        opened(postgres_url) as store,
        opened(postgres_url) as other,
        store.listen("news") as messages,
    ):
        await notify(other, "one")
        with pytest.raises(Refused):
            await store.write(refused)
        await notify(store, "two 🦉")
        assert [await next_of(messages), await next_of(messages)] == ["one", "two 🦉"]


async def test_listener_receives_a_gap_after_a_lost_connection(postgres_url: str) -> None:
    async with opened(postgres_url) as store, store.listen("news") as messages:
        await notify(store, "before")
        assert await next_of(messages) == "before"
        await store.write(
            fetching(
                "SELECT pg_terminate_backend(pid) FROM pg_stat_activity"
                " WHERE query LIKE 'LISTEN%' AND datname = current_database()"
            )
        )
        assert await next_of(messages) is Gap.GAP
        await notify(store, "after")
        assert await next_of(messages) == "after"


async def test_slow_listener_receives_a_gap_instead() -> None:
    messages = Messages()
    for number in range(MAX_WAITING + 1):
        messages.put(str(number))
    messages.put("after")
    assert [await next_of(messages), await next_of(messages)] == [Gap.GAP, "after"]


async def test_listener_that_cannot_begin_raises(own_server: PostgresServer) -> None:
    async with opened(own_server.url()) as store:
        await trio.to_thread.run_sync(own_server.stop)
        try:
            with pytest.raises(StoreUnavailable):
                async with store.listen("news"):
                    pass
        finally:
            await trio.to_thread.run_sync(own_server.start)
