"""Who may do what: roles are remembered for a moment, and never beyond their end."""

from collections.abc import Iterator

import pytest
import trio
from trio.testing import MockClock, wait_all_tasks_blocked

from octavo.http.api.access import Access
from octavo.model.identity import AccountId, WorkspaceId
from octavo.store import Script, Transaction
from octavo.store.scripts import workspaces
from octavo.store.sqlite import InlineStore, open_inline
from octavo.store.transaction import T

VAULT, OTHER = WorkspaceId("vault"), WorkspaceId("other")
ANN, BOB = AccountId("ann"), AccountId("bob")


class Slow:
    """Counts its reads; each waits for what is set, once it has read."""

    def __init__(self, store: InlineStore) -> None:
        self._store = store
        self.reads = 0
        self.before_answer: trio.Event | None = None

    async def read(self, script: Script[T]) -> T:
        self.reads += 1
        found = await self._store.read(script)
        if self.before_answer is not None:
            await self.before_answer.wait()
        return found

    async def read_much(self, script: Script[T]) -> T:
        return await self.read(script)

    async def write(self, script: Script[T]) -> T:
        return await self._store.write(script)


@pytest.fixture
def engine() -> Iterator[InlineStore]:
    store = open_inline()
    yield store
    store.close()


@pytest.fixture
async def store(engine: InlineStore) -> Slow:
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
    return Slow(engine)


async def remove(store: Slow, workspace_id: WorkspaceId) -> None:
    async def script(transaction: Transaction) -> int:
        return await transaction.execute(
            "DELETE FROM members WHERE workspace_id = $1::uuid", workspace_id
        )

    await store.write(script)


async def test_member_is_looked_up_once_in_so_many_seconds(
    store: Slow, autojump_clock: MockClock
) -> None:
    access = Access(store, fresh=5)
    for _ in range(3):
        assert await access.role(VAULT, ANN) == "owner"
    assert store.reads == 1
    await remove(store, VAULT)
    await trio.sleep(5)
    assert await access.role(VAULT, ANN) is None


async def test_member_who_is_forgotten_is_out_at_once(store: Slow) -> None:
    access = Access(store, fresh=5)
    for each in (VAULT, OTHER):
        assert await access.role(each, ANN) == "owner"
    await remove(store, VAULT)
    access.forget(VAULT)
    assert await access.role(VAULT, ANN) is None
    assert await access.role(OTHER, ANN) == "owner"
    assert store.reads == 3


async def test_look_that_began_before_the_end_is_not_remembered(store: Slow) -> None:
    access = Access(store, fresh=5)
    store.before_answer = trio.Event()
    async with trio.open_nursery() as nursery:
        nursery.start_soon(access.role, VAULT, ANN)
        await wait_all_tasks_blocked()
        await remove(store, VAULT)
        access.forget(VAULT)
        store.before_answer.set()
    assert await access.role(VAULT, ANN) is None


async def test_stranger_is_looked_up_each_time_and_let_in_at_once(store: Slow) -> None:
    access = Access(store, fresh=5)
    assert await access.role(VAULT, BOB) is None

    async def script(transaction: Transaction) -> int:
        return await transaction.execute(
            "INSERT INTO members (workspace_id, account_id, role)"
            " VALUES ($1::uuid, $2::uuid, 'reader')",
            VAULT,
            BOB,
        )

    await store.write(script)
    assert await access.role(VAULT, BOB) == "reader"


async def test_without_remembering_each_request_looks(store: Slow) -> None:
    access = Access(store)
    for _ in range(3):
        assert await access.role(VAULT, ANN) == "owner"
    assert store.reads == 3


async def test_so_many_workspaces_are_remembered(store: Slow) -> None:
    access = Access(store, fresh=5, most=1)
    for each in (VAULT, OTHER, OTHER, VAULT):
        assert await access.role(each, ANN) == "owner"
    assert store.reads == 3
