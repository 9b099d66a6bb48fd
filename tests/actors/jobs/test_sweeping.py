"""The sweeper: at the start, when woken, periodically, and after a failure of the store."""

from collections.abc import Callable, Iterator

import pytest
import trio
from trio.testing import MockClock, wait_all_tasks_blocked

from octavo.actors.jobs.housekeeping import FIRST_PAUSE, POLL_SECONDS, StepLoop
from octavo.service.features import sweeping_job
from octavo.store import Store
from octavo.store.queries import workspaces
from octavo.store.sqlite import InlineStore
from octavo.store.transaction import Transaction
from tests.fakes.faulty_store import FaultyStore
from tests.fakes.stores import open_inline
from tests.fakes.workspace_rig import VAULT, create_workspace


@pytest.fixture
def engine() -> Iterator[InlineStore]:
    store = open_inline()
    yield store
    store.close()


def sweeping(store: Store, swept: Callable[[], None] = lambda: None) -> StepLoop:
    return sweeping_job(store, swept)


async def left(store: Store) -> int:
    """The number of deleted workspaces that are not swept yet."""

    async def script(transaction: Transaction) -> int:
        row = await transaction.fetch_one("SELECT COUNT(*) FROM deleted_workspaces")
        assert row is not None
        count: int = row[0]
        return count

    return await store.read(script)


async def delete_workspace(store: Store) -> None:
    await create_workspace(store)
    assert await store.write(workspaces.delete(VAULT))


async def test_leftovers_are_swept_at_the_start(
    engine: InlineStore, autojump_clock: MockClock, nursery: trio.Nursery
) -> None:
    await delete_workspace(engine)
    nursery.start_soon(sweeping(engine).run)
    await trio.sleep(1)
    assert await left(engine) == 0


async def test_deletions_are_swept_when_woken_or_at_the_next_check(
    engine: InlineStore, autojump_clock: MockClock, nursery: trio.Nursery
) -> None:
    sweeper = sweeping(engine)
    nursery.start_soon(sweeper.run)
    await wait_all_tasks_blocked()
    await delete_workspace(engine)
    await trio.sleep(1)
    assert await left(engine) == 1
    sweeper.wake()
    await trio.sleep(1)
    assert await left(engine) == 0
    await delete_workspace(engine)
    await trio.sleep(POLL_SECONDS + 1)
    assert await left(engine) == 0


async def test_end_of_a_sweep_is_reported_when_nothing_is_left(
    engine: InlineStore, autojump_clock: MockClock, nursery: trio.Nursery
) -> None:
    found: list[bool] = []
    await delete_workspace(engine)
    sweeper = sweeping(engine, lambda: found.append(True))
    nursery.start_soon(sweeper.run)
    await trio.sleep(1)
    assert (await left(engine), found) == (0, [True])
    await delete_workspace(engine)
    sweeper.wake()
    await trio.sleep(1)
    assert (await left(engine), found) == (0, [True, True])


async def test_failure_of_the_store_puts_it_off(
    engine: InlineStore, autojump_clock: MockClock, nursery: trio.Nursery
) -> None:
    await delete_workspace(engine)
    store = FaultyStore(engine)
    store.failures = 1
    nursery.start_soon(sweeping(store).run)
    await trio.sleep(FIRST_PAUSE / 2)
    assert await left(engine) == 1
    await trio.sleep(FIRST_PAUSE)
    assert await left(engine) == 0


async def test_failures_in_a_row_put_it_off_for_longer_each_time(
    engine: InlineStore, autojump_clock: MockClock, nursery: trio.Nursery
) -> None:
    await delete_workspace(engine)
    store = FaultyStore(engine)
    # Of three writes each.
    store.failures = 3 * 12
    nursery.start_soon(sweeping(store).run)
    # 1, 2, 4, ... 512 seconds, then the maximum.
    await trio.sleep(1023 + 2 * POLL_SECONDS - 1)
    assert await left(engine) == 1
    await trio.sleep(2)
    assert await left(engine) == 0
