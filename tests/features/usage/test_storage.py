"""Limits of storage: whose, how much, and when they are read again."""

import pytest
import trio
import trio.testing
from trio.testing import MockClock

from octavo.features.usage.storage import FRESH_SECONDS, StorageQuota
from octavo.model.usage import StorageLimitReached
from tests.fakes.usage_rig import ANN, BEN, HERE, THERE, UsageRig


async def test_workspace_of_unlimited_owners_has_no_limit(rig: UsageRig) -> None:
    await rig.workspace(size=1000)
    storage = StorageQuota(rig.store)
    assert await storage.remaining(HERE) is None
    await storage.require(HERE, 1 << 60)
    reads = rig.store.reads
    storage.grew(HERE, 1000)
    assert await storage.remaining(HERE) is None
    assert rig.store.reads == reads


async def test_workspaces_of_an_owner_share_its_limit(rig: UsageRig) -> None:
    await rig.account(storage=100)
    await rig.workspace(HERE, size=30)
    await rig.workspace(THERE, size=20)
    storage = StorageQuota(rig.store)
    assert [await storage.remaining(each) for each in (HERE, THERE)] == [50, 50]
    storage.grew(HERE, 40)
    assert [await storage.remaining(each) for each in (HERE, THERE)] == [10, 10]
    await storage.require(THERE, 10)
    with pytest.raises(StorageLimitReached):
        await storage.require(THERE, 11)
    storage.grew(THERE, -20)
    assert await storage.remaining(HERE) == 30


async def test_every_owner_needs_room(rig: UsageRig) -> None:
    await rig.account(storage=100)
    await rig.account(BEN, storage=60)
    await rig.workspace(HERE, size=30)
    await rig.workspace(THERE, BEN, size=20)
    await rig.execute(
        "INSERT INTO members (workspace_id, account_id, role, joined_at)"
        " VALUES ($1::uuid, $2::uuid, 'owner', 0)",
        HERE,
        BEN,
    )
    storage = StorageQuota(rig.store)
    assert [await storage.remaining(each) for each in (HERE, THERE)] == [10, 10]


async def test_other_members_need_no_room(rig: UsageRig) -> None:
    await rig.account(BEN, storage=20)
    await rig.workspace(HERE, size=30)
    await rig.workspace(THERE, BEN, size=5)
    await rig.execute(
        "INSERT INTO members (workspace_id, account_id, role, joined_at)"
        " VALUES ($1::uuid, $2::uuid, 'administrator', 0)",
        HERE,
        BEN,
    )
    storage = StorageQuota(rig.store)
    assert [await storage.remaining(each) for each in (HERE, THERE)] == [None, 15]


async def test_stricter_of_both_limits_counts(rig: UsageRig) -> None:
    await rig.account(storage=100)
    await rig.execute("UPDATE accounts SET controls_storage_limit = 40")
    await rig.workspace(size=30)
    assert await StorageQuota(rig.store).remaining(HERE) == 10
    await rig.execute("UPDATE accounts SET storage_limit = NULL")
    assert await StorageQuota(rig.store).remaining(HERE) == 10


async def test_files_beyond_the_limit_may_not_grow_but_stay(rig: UsageRig) -> None:
    await rig.account(storage=10)
    await rig.workspace(size=30)
    storage = StorageQuota(rig.store)
    assert await storage.remaining(HERE) == -20
    await storage.require(HERE, 0)
    await storage.require(HERE, -5)
    with pytest.raises(StorageLimitReached):
        await storage.require(HERE, 1)


async def test_figures_are_read_again_after_some_seconds(
    rig: UsageRig, autojump_clock: MockClock
) -> None:
    await rig.account(storage=100)
    await rig.workspace(size=30)
    storage = StorageQuota(rig.store)
    assert await storage.remaining(HERE) == 70
    await rig.execute("UPDATE workspaces SET size = 50")
    assert await storage.remaining(HERE) == 70
    await trio.sleep(FRESH_SECONDS)
    assert await storage.remaining(HERE) == 50


@pytest.mark.parametrize("shared", [True, False])
async def test_lack_of_a_limit_is_read_again_when_others_may_set_one(
    rig: UsageRig, autojump_clock: MockClock, shared: bool
) -> None:
    await rig.workspace(size=30)
    storage = StorageQuota(rig.store, shared=shared)
    assert await storage.remaining(HERE) is None
    await rig.account(storage=40)
    await trio.sleep(FRESH_SECONDS)
    assert await storage.remaining(HERE) == (10 if shared else None)


async def test_changed_limit_applies_to_the_next_change(rig: UsageRig) -> None:
    await rig.workspace(size=30)
    storage = StorageQuota(rig.store)
    assert await storage.remaining(HERE) is None
    await rig.account(storage=40)
    storage.forget_account(ANN)
    assert await storage.remaining(HERE) == 10


async def test_limit_changed_while_it_is_read_applies_to_the_next_change(rig: UsageRig) -> None:
    await rig.workspace(size=30)
    storage = StorageQuota(rig.store)
    rig.store.release_reads = trio.Event()
    async with trio.open_nursery() as nursery:
        nursery.start_soon(storage.remaining, HERE)
        await trio.testing.wait_all_tasks_blocked()
        await rig.account(storage=40)
        storage.forget_account(ANN)
        rig.store.release_reads.set()
    assert await storage.remaining(HERE) == 10


async def test_outdated_read_replaces_no_newer_figures(rig: UsageRig) -> None:
    await rig.account(storage=40)
    await rig.workspace(HERE, size=30)
    await rig.workspace(THERE, size=5)
    storage = StorageQuota(rig.store)
    rig.store.release_reads = release = trio.Event()
    async with trio.open_nursery() as nursery:
        nursery.start_soon(storage.remaining, HERE)
        await trio.testing.wait_all_tasks_blocked()
        rig.store.release_reads = None
        await rig.account(storage=100)
        storage.forget_account(ANN)
        assert await storage.remaining(THERE) == 65
        release.set()
    assert await storage.remaining(THERE) == 65


async def test_new_owner_counts_from_the_next_change(rig: UsageRig) -> None:
    await rig.account(BEN, storage=40)
    await rig.workspace(HERE, size=30)
    await rig.workspace(THERE, BEN, size=5)
    storage = StorageQuota(rig.store)
    assert [await storage.remaining(each) for each in (HERE, THERE)] == [None, 35]
    await rig.execute("UPDATE members SET account_id = $1::uuid", BEN)
    storage.forget_workspace(HERE)
    storage.forget_account(BEN)
    assert [await storage.remaining(each) for each in (HERE, THERE)] == [5, 5]


async def test_deleted_workspace_frees_the_storage_of_its_owner(rig: UsageRig) -> None:
    await rig.account(storage=40)
    await rig.workspace(HERE, size=30)
    await rig.workspace(THERE, size=5)
    storage = StorageQuota(rig.store)
    assert [await storage.remaining(each) for each in (HERE, THERE)] == [5, 5]
    await rig.execute("DELETE FROM workspaces WHERE id = $1::uuid", HERE)
    storage.forget_workspace(HERE)
    assert await storage.remaining(THERE) == 35


async def test_workspace_deleted_while_another_is_read_frees_the_storage_of_its_owner(
    rig: UsageRig,
) -> None:
    await rig.account(storage=40)
    await rig.workspace(HERE, size=30)
    await rig.workspace(THERE, size=5)
    storage = StorageQuota(rig.store)
    rig.store.release_reads = trio.Event()
    async with trio.open_nursery() as nursery:
        nursery.start_soon(storage.remaining, THERE)
        await trio.testing.wait_all_tasks_blocked()
        await rig.execute("DELETE FROM workspaces WHERE id = $1::uuid", HERE)
        storage.forget_workspace(HERE)
        rig.store.release_reads.set()
    assert await storage.remaining(THERE) == 35


async def test_cache_is_bounded(rig: UsageRig) -> None:
    await rig.account(storage=40)
    await rig.workspace(HERE, size=30)
    await rig.workspace(THERE, size=5)
    storage = StorageQuota(rig.store, maximum=1)
    for _ in range(3):
        assert [await storage.remaining(each) for each in (HERE, THERE)] == [5, 5]
