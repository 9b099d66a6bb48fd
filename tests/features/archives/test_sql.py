"""Imports of archives in parts, on every engine."""

import random
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager, closing

import pytest
from octavo_rules.identity import AccountId, Digest

from octavo.features.archives import sql as imports
from octavo.features.archives.sql import free_slot, take_slot
from octavo.features.usage.sql import room_for_part
from octavo.store import Store
from octavo.store.blobs import BlobKey, blob_key
from octavo.store.blobs.blob_store import digest_of_key
from octavo.store.queries import blobs, workspaces
from octavo.store.transaction import Transaction
from tests.fakes.stores import open_inline, open_postgres
from tests.fakes.workspace_rig import ANN, VAULT, create_workspace

DAY = 24 * 3_600_000
FIRST = "01900000-0000-7000-8000-000000000001"
SECOND = "01900000-0000-7000-8000-000000000002"
Opened = Callable[[], AbstractAsyncContextManager[Store]]


async def stored_blob(store: Store, number: int) -> BlobKey:
    digest = Digest(f"{number:064x}")
    key = blob_key(digest, bytes(4))
    await store.write(blobs.reserve([blobs.NewBlob(key, digest, 10 + number, 0)], DAY))
    return key


async def collected(store: Store) -> list[BlobKey]:
    while await store.write(blobs.check_some(0)):
        pass
    return await store.read(blobs.to_delete())


async def started(store: Store, import_id: str = FIRST) -> None:
    assert await store.write(imports.start_import(import_id, VAULT, ANN, DAY, 3))


async def put(
    store: Store,
    number: int,
    key: BlobKey,
    now: int = 0,
    *,
    import_id: str = FIRST,
    expires_at: int = DAY,
) -> imports.PutPart:
    """Put a part that is stored in a blob of `stored_blob`."""
    part = imports.ImportPart(number, key, 10 + int(digest_of_key(key), 16))
    return await store.write(imports.put_part(import_id, part, now, expires_at))


async def found(store: Store, now: int = 0) -> imports.StoredImport | None:
    return await store.read(imports.find_import(FIRST, VAULT, ANN, now))


class Imports:
    """The guarantees on every engine; derived classes provide the fixture ``opened``."""

    @pytest.fixture
    async def store(self, opened: Opened) -> AsyncIterator[Store]:
        async with opened() as engine:
            await create_workspace(engine)
            yield engine

    async def test_import_is_found_by_its_account_alone(self, store: Store) -> None:
        await started(store)
        assert await found(store) == (FIRST, VAULT, ANN, 0, 0, 0, None, None, DAY, False, ())
        stranger = imports.find_import(FIRST, VAULT, AccountId("bob"), 0)
        assert await store.read(stranger) is None

    async def test_account_has_a_few_imports(self, store: Store) -> None:
        for number in range(3):
            await started(store, f"{FIRST[:-1]}{number}")
        assert not await store.write(imports.start_import(SECOND[:-1] + "9", VAULT, ANN, DAY, 3))
        await store.write(imports.finish_import(f"{FIRST[:-1]}0", "{}", DAY))
        assert await store.write(imports.start_import(SECOND[:-1] + "9", VAULT, ANN, DAY, 3))

    async def test_parts_are_replaced_and_come_in_any_order(self, store: Store) -> None:
        await started(store)
        keys = [await stored_blob(store, number) for number in range(3)]
        for number, key in ((2, keys[0]), (1, keys[1]), (2, keys[2])):
            assert await put(store, number, key, expires_at=2 * DAY) in ("added", "replaced")
        there = await found(store)
        assert there is not None
        assert there.parts == ((1, keys[1], 11), (2, keys[2], 12))
        assert there.expires_at == 2 * DAY
        assert await collected(store) == [keys[0]]

    async def test_no_part_is_added_while_its_job_runs(self, store: Store) -> None:
        await started(store)
        key = await stored_blob(store, 1)
        assert await store.write(take_slot(ANN, FIRST, 0, 100, 2)) == "taken"
        running = await found(store, 100)
        assert running is not None
        assert running.running
        assert await put(store, 1, key, 100) == "not_open"
        assert await collected(store) == [key]
        key = await stored_blob(store, 2)
        # The process died.
        dead = await found(store, 101)
        assert dead is not None
        assert not dead.running
        assert await put(store, 1, key, 101) == "added"
        await store.write(free_slot(FIRST))

    async def test_progress_and_result_are_kept(self, store: Store) -> None:
        await started(store)
        key = await stored_blob(store, 1)
        assert await put(store, 1, key) == "added"
        await store.write(imports.record_progress(FIRST, 5, 10, 2))
        there = await found(store)
        assert there is not None
        assert (there.bytes_read, there.total, there.files) == (5, 10, 2)
        await store.write(imports.finish_import(FIRST, '{"notes":3}', 3 * DAY))
        there = await found(store)
        assert there is not None
        assert (there.bytes_read, there.result, there.parts) == (10, '{"notes":3}', ())
        assert await put(store, 1, key) == "begun"
        assert await collected(store) == [key]

    async def test_failure_is_kept_until_a_part_is_sent(self, store: Store) -> None:
        await started(store)
        await store.write(imports.record_failure(FIRST, "{}"))
        there = await found(store)
        assert there is not None
        assert there.failure == "{}"
        key = await stored_blob(store, 1)
        assert await put(store, 1, key) == "added"
        there = await found(store)
        assert there is not None
        assert there.failure is None

    async def test_aborted_import_leaves_nothing(self, store: Store) -> None:
        await started(store)
        key = await stored_blob(store, 1)
        assert await put(store, 1, key) == "added"
        assert not await store.write(imports.abort_import(FIRST, VAULT, AccountId("bob")))
        assert await store.write(imports.abort_import(FIRST, VAULT, ANN))
        assert not await store.write(imports.abort_import(FIRST, VAULT, ANN))
        assert await found(store) is None
        assert await collected(store) == [key]

    async def test_expired_imports_are_removed(self, store: Store) -> None:
        await started(store)
        key = await stored_blob(store, 1)
        assert await put(store, 1, key) == "added"
        assert not await store.write(imports.expire_imports(DAY))
        assert await found(store) is not None
        await store.write(imports.expire_imports(DAY + 1))
        assert await found(store) is None
        assert await collected(store) == [key]

    async def test_imports_end_with_their_workspace(self, store: Store) -> None:
        await started(store)
        key = await stored_blob(store, 1)
        assert await put(store, 1, key) == "added"
        assert await store.write(workspaces.delete(VAULT))
        await store.write(imports.expire_imports(1))
        assert await found(store) is None
        assert await collected(store) == [key]

    async def test_part_that_has_the_bytes_already_renews_the_import(self, store: Store) -> None:
        await started(store)
        key = await stored_blob(store, 1)
        assert await put(store, 1, key) == "added"
        await store.write(imports.record_failure(FIRST, "{}"))
        same, other = Digest(f"{1:064x}"), Digest(f"{2:064x}")
        assert not await store.write(imports.repeat_part(FIRST, 1, other, 0, 2 * DAY))
        assert not await store.write(imports.repeat_part(FIRST, 2, same, 0, 2 * DAY))
        assert await store.write(imports.repeat_part(FIRST, 1, same, 0, 2 * DAY))
        there = await found(store)
        assert there is not None
        assert (there.expires_at, there.failure) == (2 * DAY, None)

    async def test_part_that_is_refused_leaves_its_blob_to_the_collection(
        self, store: Store
    ) -> None:
        key = await stored_blob(store, 1)
        assert await put(store, 1, key) == "not_open"
        assert await collected(store) == [key]

    async def test_parts_of_an_import_that_has_begun_stay_as_they_are(self, store: Store) -> None:
        await started(store)
        keys = [await stored_blob(store, number) for number in range(3)]
        assert await put(store, 1, keys[0]) == "added"
        await store.write(imports.record_progress(FIRST, 5, 10, 1))
        assert await put(store, 1, keys[1]) == "begun"
        assert await put(store, 2, keys[2]) == "begun"
        assert set(await collected(store)) == {keys[1], keys[2]}
        there = await found(store)
        assert there is not None
        assert (there.parts, there.bytes_read, there.total) == (((1, keys[0], 10),), 5, 10)

    async def test_new_part_of_an_import_without_files_makes_its_size_unknown(
        self, store: Store
    ) -> None:
        await started(store)
        await store.write(imports.record_progress(FIRST, 0, 10, 0))
        assert await put(store, 1, await stored_blob(store, 1)) == "added"
        there = await found(store)
        assert there is not None
        assert there.total == 0

    async def test_parts_of_all_imports_share_the_room_of_the_owner(self, store: Store) -> None:
        await started(store)
        await started(store, SECOND)

        async def limit(transaction: Transaction) -> None:
            await transaction.execute("UPDATE accounts SET storage_limit = 25")

        await store.write(limit)
        first, second, third = [await stored_blob(store, number) for number in (5, 4, 9)]
        assert await put(store, 1, first) == "added"
        room = room_for_part(VAULT, SECOND, 1)
        assert await store.read(room) == 10
        assert await store.read(room_for_part(VAULT, FIRST, 1)) == 25
        assert await put(store, 1, second, import_id=SECOND) == "full"
        assert await put(store, 1, third) == "replaced"
        assert await store.read(room) == 6
        assert set(await collected(store)) == {first, second}


class TestSqlite(Imports):
    @pytest.fixture
    def opened(self) -> Opened:
        @asynccontextmanager
        async def open_store() -> AsyncIterator[Store]:
            with closing(open_inline()) as store:
                yield store

        return open_store


class TestPostgres(Imports):
    @pytest.fixture
    def opened(self, postgres_url: str) -> Opened:
        return lambda: open_postgres(postgres_url, random=random.Random(3).random)
