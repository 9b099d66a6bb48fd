"""The settings of connections, also behind a pooler that drops those of their start."""

import random
from collections.abc import AsyncIterator, Callable, Iterable
from functools import partial

import asyncpg  # type: ignore[import-untyped]
import pytest
from hypothesis import given
from hypothesis import strategies as st
from octavo_rules.identity import AccountId, WorkspaceId

from octavo.features.accounts.rules.decisions import DecisionsChange
from octavo.features.accounts.rules.refusal import LastAdministrator
from octavo.features.accounts.sql import accounts
from octavo.features.members.sql import members
from octavo.model.workspace import LastOwner
from octavo.store import Script, StoreUnavailable, StoreUnusable
from octavo.store.postgres import store
from octavo.store.postgres.bridge import open_bridge
from octavo.store.postgres.connection import PooledConnection, connect, limits, require_settings
from octavo.store.postgres.store import PostgresStore
from octavo.store.transaction import single_statement
from tests.fakes.pooler import Pooler, pooler_before
from tests.fakes.stores import open_postgres
from tests.store.conformance import adding, executing, fetching, together

opened = partial(open_postgres, random=random.Random(7).random)
ASKED = {"default_transaction_isolation": "serializable", **limits()}
ROUNDS = 5
OWNERS = ("a", "b")
ADD_PERSON = """
    INSERT INTO accounts (id, address, display_name, password, role, state, created_at, updated_at)
    VALUES ($1::uuid, $1::uuid::text, '', '', 'member', 'enabled', 0, 0)
"""
ADD_OWNER = """
    INSERT INTO members (workspace_id, account_id, role, joined_at)
    VALUES ($1::uuid, $2::uuid, 'owner', 0)
    ON CONFLICT (workspace_id, account_id) DO UPDATE SET role = 'owner'
"""


@pytest.fixture
async def pooler(new_postgres_url: str) -> AsyncIterator[Pooler]:
    async with pooler_before(new_postgres_url) as running:
        yield running


@pytest.mark.parametrize("mark", [single_statement, lambda script: script])
async def test_isolation_and_limits_do_not_depend_on_startup_parameters(
    pooler: Pooler, mark: Callable[[Script[object]], Script[object]]
) -> None:
    async with opened(pooler.url) as behind:
        assert await behind.read(mark(settings())) == [
            ("serializable", "serializable", "25s", "1min")
        ]
    # A pooler that drops nothing refuses what it does not know.
    assert pooler.dropped == set()


async def test_transaction_asks_for_isolation_and_limits_itself(new_postgres_url: str) -> None:
    reset = "SELECT set_config(name, reset_val, false) FROM pg_settings WHERE name IN ($1, $2, $3)"
    async with opened(new_postgres_url, connections=1) as alone:
        # As a pooler does between two clients.
        await alone.read(single_statement(fetching(reset, *ASKED)))
        assert await alone.read(single_statement(settings())) == [
            ("read committed",) * 2 + ("0",) * 2
        ]
        assert await alone.read(settings()) == [("serializable", "read committed", "25s", "1min")]


async def test_statement_that_takes_too_long_is_ended_behind_a_pooler(pooler: Pooler) -> None:
    async def sleep() -> None:
        connection = await connect(pooler.url, statement_seconds=0.05)
        try:
            await connection.execute("SELECT pg_sleep(60)")
        finally:
            connection.terminate()

    async with open_bridge() as bridge:
        with pytest.raises(asyncpg.QueryCanceledError, match="statement timeout"):
            await bridge.run(sleep())


@pytest.mark.parametrize("act", ["step down", "leave"])
async def test_of_two_owners_one_stays_when_both_go_at_once(pooler: Pooler, act: str) -> None:
    async with opened(pooler.url) as behind:
        for each in OWNERS:
            await behind.write(executing(ADD_PERSON, each))
        await behind.write(adding("w"))
        for _ in range(ROUNDS):
            for each in OWNERS:
                await behind.write(executing(ADD_OWNER, "w", each))
            refused = await refusals(behind, [going(act, each) for each in OWNERS], LastOwner)
            owners = await behind.read(fetching("SELECT 1 FROM members WHERE role = 'owner'"))
            assert (len(refused), len(owners)) == (1, 1)


async def test_of_two_administrators_one_stays_when_both_step_down_at_once(pooler: Pooler) -> None:
    def step_down(each: str) -> Script[object]:
        change = DecisionsChange(role="member")
        return accounts.decide(AccountId(each), change, 0, actor=AccountId(each))

    async with opened(pooler.url) as behind:
        for each in OWNERS:
            await behind.write(executing(ADD_PERSON, each))
        for _ in range(ROUNDS):
            await behind.write(executing("UPDATE accounts SET role = 'administrator'"))
            refused = await refusals(behind, map(step_down, OWNERS), LastAdministrator)
            left = await behind.read(
                fetching("SELECT 1 FROM accounts WHERE role = 'administrator'")
            )
            assert (len(refused), len(left)) == (1, 1)


@pytest.mark.parametrize("name", ASKED)
async def test_session_without_what_was_asked_for_is_refused(pooler: Pooler, name: str) -> None:
    # It sets something else, of the same length.
    other = "application_name" if len(name) > len("application_name") else "lock_timeout"
    pooler.replaced = (f"{name} =".encode(), f"{other:{len(name)}} =".encode())
    with pytest.raises(StoreUnavailable) as caught:
        async with opened(pooler.url):
            pass
    assert name in str(caught.value)
    assert "set pool_mode = session" in str(caught.value)


async def test_session_that_loses_its_settings_later_is_refused_then(pooler: Pooler) -> None:
    async with opened(pooler.url) as behind:
        await behind.read(settings())
        pooler.replaced = (b"statement_timeout", b"lock_timeout     ")
        # The first has the connection that was checked for the read before.
        reads = [partial(behind.read, fetching("SELECT pg_sleep(0.05)::text"))] * 2
        with pytest.RaisesGroup(pytest.RaisesExc(StoreUnavailable, match="set pool_mode")):
            await together(*reads)


async def test_two_connections_with_one_session_are_refused(
    postgres_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    made: list[PooledConnection] = []

    async def connect_to_one(url: str, **given: float) -> PooledConnection:
        # A pooler gives the session to one transaction of its clients after another.
        made.append(made[0] if made else await connect(url, **given))
        return made[-1]

    monkeypatch.setattr(store, "connect", connect_to_one)
    with pytest.raises(StoreUnusable, match=r"share one session.*set pool_mode = session"):
        async with opened(postgres_url):
            pass


@given(
    st.dictionaries(st.text(), st.text(), max_size=3),
    st.dictionaries(st.text(), st.text(), max_size=3),
    st.booleans(),
)
def test_settings_are_refused_unless_all_are_as_asked(
    asked: dict[str, str], found: dict[str, str], kept: bool
) -> None:
    given = {**found, **asked} if kept else found
    if asked.items() <= given.items():
        require_settings(asked, given.items())
    else:
        with pytest.raises(StoreUnavailable):
            require_settings(asked, given.items())


def settings() -> Script[object]:
    names = ("transaction_isolation", *ASKED)
    return fetching("SELECT " + ", ".join(f"current_setting('{each}')" for each in names))


def going(act: str, who: str) -> Script[object]:
    workspace_id, member = WorkspaceId("w"), AccountId(who)
    if act == "leave":
        return members.remove(workspace_id, member, member, 0)
    return members.change(workspace_id, member, member, "editor", 0)


async def refusals(
    behind: PostgresStore, scripts: Iterable[Script[object]], kind: type[Exception]
) -> list[Exception]:
    """Run scripts at once, and return what those of them raise that are refused."""
    found: list[Exception] = []

    async def run(script: Script[object]) -> None:
        try:
            await behind.write(script)
        except kind as refusal:
            found.append(refusal)

    await together(*[partial(run, each) for each in scripts])
    return found
