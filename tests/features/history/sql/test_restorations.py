"""The records of restorations: how far each is, which go on, and when they are forgotten."""

from collections.abc import AsyncIterator

import pytest
from octavo_rules.identity import MutationId, Position, WorkspaceId

from octavo.features.history.sql import restorations
from octavo.features.history.sql.restorations import (
    RestorationAsked,
    RestorationKey,
    StoredRestoration,
)
from octavo.store import Store
from tests.fakes.stores import open_inline
from tests.fakes.usage_rig import ANN, BEN, HERE, THERE, usage_rig

ASKED = RestorationAsked(None, Position(3), "")


def key(number: int, workspace_id: WorkspaceId = HERE) -> RestorationKey:
    return RestorationKey(workspace_id, MutationId(f"01900000-0000-7000-8000-{number:012x}"))


KEY = key(1)


@pytest.fixture
async def store() -> AsyncIterator[Store]:
    """A store with two workspaces."""
    engine = open_inline()
    rig = usage_rig(engine)
    for account_id in (ANN, BEN):
        await rig.account(account_id)
    for workspace_id in (HERE, THERE):
        await rig.workspace(workspace_id)
    yield engine
    engine.close()


async def begin(store: Store, at: RestorationKey = KEY, now: int = 10) -> None:
    assert await store.write(restorations.begin(at, ANN, ASKED, Position(9), 5, now))


async def found(store: Store, at: RestorationKey = KEY) -> StoredRestoration:
    stored = await store.read(restorations.find(at))
    assert stored is not None
    return stored


async def test_step_of_a_process_that_is_behind_is_not_recorded(store: Store) -> None:
    await begin(store)
    await store.write(restorations.record_step(KEY, 2, Position(11), 4, 20))
    await store.write(restorations.record_step(KEY, 1, Position(10), 2, 30))
    stored = await found(store)
    assert (stored.steps, stored.last_position, stored.done, stored.updated_at) == (2, 11, 4, 20)


async def test_restoration_that_has_ended_does_not_fail_any_more(store: Store) -> None:
    await begin(store)
    await store.write(restorations.finish(KEY, 5, (), 20))
    await store.write(restorations.fail(KEY, "not_found", "It is gone.", 30))
    stored = await found(store)
    assert (stored.state, stored.failure, stored.updated_at) == ("done", None, 20)


async def test_restoration_that_was_finished_elsewhere_after_it_failed_is_done(
    store: Store,
) -> None:
    await begin(store)
    await store.write(restorations.fail(KEY, "forbidden", "No.", 20))
    assert (await found(store)).failure == ("forbidden", "No.")
    await store.write(restorations.finish(KEY, 5, (), 30))
    stored = await found(store)
    assert (stored.state, stored.failure) == ("done", None)


async def test_failed_restoration_alone_is_continued_for_another_account(store: Store) -> None:
    await begin(store)
    await store.write(restorations.resume(KEY, BEN, 20))
    assert (await found(store)).author == ANN
    await store.write(restorations.fail(KEY, "forbidden", "No.", 30))
    await store.write(restorations.resume(KEY, BEN, 40))
    stored = await found(store)
    assert (stored.state, stored.author, stored.updated_at) == ("running", BEN, 40)


async def test_unfinished_ones_are_those_that_run_and_made_no_step_lately(store: Store) -> None:
    for number, now in ((1, 30), (2, 20), (3, 31), (4, 10), (5, 10)):
        await begin(store, key(number, THERE if number == 2 else HERE), now)
    await store.write(restorations.finish(key(4), 5, (), 10))
    await store.write(restorations.fail(key(5), "forbidden", "No.", 10))
    unfinished = [key(2, THERE), key(1)]
    assert await store.read(restorations.unfinished(30, 10)) == unfinished
    assert await store.read(restorations.unfinished(30, 1)) == unfinished[:1]


async def test_pages_divide_restorations_that_began_at_one_time(store: Store) -> None:
    for number, now in ((1, 20), (2, 10), (3, 20), (4, 20)):
        await begin(store, key(number), now)
    await begin(store, key(5, THERE), 20)
    before, listed = (1 << 40, "ffffffff-ffff-ffff-ffff-ffffffffffff"), []
    while page := await store.read(restorations.newest(HERE, before, 1)):
        [last] = page
        listed.append(last.key)
        before = (last.started_at, last.key.restoration_id)
    assert listed == [key(4), key(3), key(1), key(2)]


async def test_restoration_is_forgotten_after_its_end(store: Store) -> None:
    for number in (1, 2, 3, 4):
        await begin(store, key(number))
    await store.write(restorations.finish(key(1), 5, (), 19))
    await store.write(restorations.fail(key(2), "forbidden", "No.", 19))
    await store.write(restorations.finish(key(3), 5, (), 20))
    assert not await store.write(restorations.expire(20))
    left = await store.read(restorations.newest(HERE, (1 << 40, key(9).restoration_id), 10))
    assert [each.key for each in left] == [key(4), key(3)]
