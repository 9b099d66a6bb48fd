"""Authorization: roles are cached for a moment, and never beyond their end."""

from collections.abc import Iterator

import pytest
import trio
from octavo_rules.identity import AccountId, WorkspaceId
from octavo_rules.problems import AccountLocked, Forbidden, NotFound, NotSignedIn
from trio.testing import MockClock, wait_all_tasks_blocked

from octavo.access.caller import Caller
from octavo.access.workspaces import Access
from octavo.store import Transaction
from octavo.store.queries import workspaces
from octavo.store.sqlite import InlineStore
from tests.fakes.faulty_store import FaultyStore
from tests.fakes.stores import open_inline

VAULT, OTHER = WorkspaceId("vault"), WorkspaceId("other")
ANN, BOB = AccountId("ann"), AccountId("bob")


@pytest.fixture
def engine() -> Iterator[InlineStore]:
    store = open_inline()
    yield store
    store.close()


@pytest.fixture
async def store(engine: InlineStore) -> FaultyStore:
    async def accounts(transaction: Transaction) -> None:
        await transaction.execute_many(
            "INSERT INTO accounts"
            " (id, address, display_name, password, role, state, created_at, updated_at)"
            " VALUES ($1::uuid, $2, '', '', 'member', 'enabled', 0, 0)",
            [(ANN, "ann"), (BOB, "bob")],
        )

    await engine.write(accounts)
    for each in (VAULT, OTHER):
        await engine.write(workspaces.create(each, "Notes", ANN, 0))
    return FaultyStore(engine)


async def remove(store: FaultyStore, workspace_id: WorkspaceId) -> None:
    async def script(transaction: Transaction) -> int:
        return await transaction.execute(
            "DELETE FROM members WHERE workspace_id = $1::uuid", workspace_id
        )

    await store.write(script)


async def add_bob(store: FaultyStore) -> None:
    async def script(transaction: Transaction) -> int:
        return await transaction.execute(
            "INSERT INTO members (workspace_id, account_id, role, joined_at)"
            " VALUES ($1::uuid, $2::uuid, 'reader', 0)",
            VAULT,
            BOB,
        )

    await store.write(script)


async def test_member_is_looked_up_once_per_interval(
    store: FaultyStore, autojump_clock: MockClock
) -> None:
    access = Access(store, fresh=5)
    for _ in range(3):
        assert await access.role(VAULT, ANN) == "owner"
    assert store.reads == 1
    await remove(store, VAULT)
    await trio.sleep(5)
    assert await access.role(VAULT, ANN) is None


async def test_invalidated_member_loses_access_immediately(store: FaultyStore) -> None:
    access = Access(store, fresh=5)
    for each in (VAULT, OTHER):
        assert await access.role(each, ANN) == "owner"
    await remove(store, VAULT)
    access.forget(VAULT)
    assert await access.role(VAULT, ANN) is None
    assert await access.role(OTHER, ANN) == "owner"
    assert store.reads == 3


async def test_lookup_begun_before_the_invalidation_is_not_cached(store: FaultyStore) -> None:
    access = Access(store, fresh=5)
    store.release_reads = trio.Event()
    async with trio.open_nursery() as nursery:
        nursery.start_soon(access.role, VAULT, ANN)
        await wait_all_tasks_blocked()
        await remove(store, VAULT)
        access.forget(VAULT)
        store.release_reads.set()
    assert await access.role(VAULT, ANN) is None


async def test_stranger_is_looked_up_each_time_and_admitted_immediately(store: FaultyStore) -> None:
    access = Access(store, fresh=5)
    assert await access.role(VAULT, BOB) is None
    await add_bob(store)
    assert await access.role(VAULT, BOB) == "reader"


async def test_without_a_cache_each_request_looks_up(store: FaultyStore) -> None:
    access = Access(store)
    for _ in range(3):
        assert await access.role(VAULT, ANN) == "owner"
    assert store.reads == 3


async def test_number_of_cached_workspaces_is_bounded(store: FaultyStore) -> None:
    access = Access(store, fresh=5, maximum=1)
    for each in (VAULT, OTHER, OTHER, VAULT):
        assert await access.role(each, ANN) == "owner"
    assert store.reads == 3


@pytest.mark.parametrize(
    ("change", "refusal"),
    [
        ("UPDATE accounts SET state = 'disabled'", NotSignedIn),
        ("DELETE FROM accounts", NotSignedIn),
        ("UPDATE accounts SET state = 'locked'", AccountLocked),
        ("DELETE FROM members", NotFound),
        ("UPDATE members SET role = 'reader'", Forbidden),
    ],
)
async def test_work_that_goes_on_ends_with_what_permitted_it(
    store: FaultyStore, change: str, refusal: type[Exception]
) -> None:
    async def script(transaction: Transaction) -> None:
        await transaction.execute(change)

    access = Access(store)
    caller = Caller(ANN, "member", locked=False)
    await access.check_later(VAULT, caller, "write")
    await store.write(script)
    with pytest.raises(refusal):
        await access.check_later(VAULT, caller, "write")


async def test_another_member_of_a_cached_workspace_takes_the_place_of_none(
    store: FaultyStore,
) -> None:
    await add_bob(store)
    access = Access(store, fresh=5, maximum=2)
    members = [(VAULT, ANN), (OTHER, ANN), (VAULT, BOB)]
    for workspace_id, account_id in members * 2:
        assert await access.role(workspace_id, account_id)
    assert store.reads == 3
