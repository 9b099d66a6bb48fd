"""Uploads, the images of files, and their blobs, on both engines."""

import random
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager

import pytest
from octavo_rules.changes import PurgeFile
from octavo_rules.identity import (
    START,
    AccountId,
    Digest,
    FileId,
    MutationId,
    Position,
    WorkspaceId,
)

from octavo.features.images import sql as uploads
from octavo.features.images.sql import CLEANED, add_thumbnail
from octavo.model.files.changeset import (
    AttachImage,
    ChangeOperation,
    Changeset,
    DeleteFile,
    fingerprint,
)
from octavo.model.files.image import ObjectId, UploadedImage
from octavo.model.files.plan import plan
from octavo.model.files.revision import Revision
from octavo.model.files.tree import Tree
from octavo.store import Store
from octavo.store.blobs import BlobKey, blob_key
from octavo.store.queries import blobs, feed, files, workspaces
from octavo.store.queries.blobs import UploadGone
from octavo.store.queries.changesets import commit_changesets
from octavo.store.queries.sweeping import sweep
from octavo.store.transaction import Script, Transaction
from tests.fakes.plain_documents import PlainDocuments
from tests.fakes.stores import open_inline, open_postgres
from tests.fakes.workspace_rig import ANN, VAULT, create_workspace

HOUR = 3_600_000
DAY = 24 * HOUR
OTHER = WorkspaceId("other")
Opened = Callable[[], AbstractAsyncContextManager[Store]]


def upload(name: str, digest: int = 7) -> uploads.Upload:
    image = UploadedImage(ObjectId(name), Digest(f"{digest:064x}"), 100, "image/png", 4, 3, 1)
    return uploads.Upload(VAULT, ANN, image, DAY)


def key_of(given: uploads.Upload, suffix: int = 0) -> BlobKey:
    return blob_key(given.image.digest, suffix.to_bytes(4, "big"))


def new_blob(given: uploads.Upload, suffix: int = 0) -> blobs.NewBlob:
    return blobs.NewBlob(key_of(given, suffix), given.image.digest, given.image.size, 9)


async def store_upload(store: Store, given: uploads.Upload, suffix: int = 0) -> BlobKey:
    """Reserve a blob and add an upload with it."""
    key = key_of(given, suffix)
    await store.write(blobs.reserve([new_blob(given, suffix)], HOUR))
    await store.write(uploads.add(given, key))
    return key


class Attached:
    """A workspace whose images are committed by changesets."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._tree = Tree()
        self._cursor = START

    async def push(self, *operations: ChangeOperation) -> Revision:
        """Commit operations; return the head of the first."""
        number = self._cursor.position + 1
        changeset = Changeset(MutationId(f"m{number}"), fingerprint(operations), ANN, operations)
        revisions = iter(range(100))
        made = plan(
            self._tree,
            self._cursor,
            changeset,
            0,
            lambda: f"r{number}.{next(revisions)}",
            PlainDocuments(),
        )
        await self._store.write(commit_changesets(VAULT, self._cursor, [made], 0))
        for change in made.changed:
            self._tree.put(change.head)
        self._cursor = made.cursor
        return made.changes[0].head


def attach(given: uploads.Upload, file: str = "i", head: Revision | None = None) -> AttachImage:
    tag = None if head is None else frozenset({head.revision_id})
    return AttachImage(FileId(file), f"attachments/{file}.png", given.image, tag)


def counting(table: str) -> Script[int]:
    async def count(transaction: Transaction) -> int:
        row = await transaction.fetch_one(f"SELECT COUNT(*) FROM {table}")
        assert row is not None
        found: int = row[0]
        return found

    return count


async def collected(store: Store, now: int) -> list[BlobKey]:
    """Check all blobs that are due, and return those to delete."""
    while await store.write(blobs.check_some(now)):
        pass
    return await store.read(blobs.to_delete())


class Uploads:
    """The guarantees on every engine; derived classes provide the fixture ``opened``."""

    @pytest.fixture
    async def store(self, opened: Opened) -> AsyncIterator[Store]:
        """A store with a workspace in it."""
        async with opened() as engine:
            await create_workspace(engine)
            yield engine

    async def test_upload_is_found_until_it_expires(self, store: Store) -> None:
        given = upload("o1")
        await store_upload(store, given)
        names = [ObjectId("o1"), ObjectId("o2")]
        assert await store.read(uploads.find(VAULT, names, DAY - 1)) == {"o1": given.image}
        assert await store.read(uploads.find(VAULT, names, DAY)) == {}

    async def test_same_bytes_are_stored_once(self, store: Store) -> None:
        assert not await store.write(uploads.add_stored(upload("o1")))
        await store_upload(store, upload("o1"))
        assert await store.write(uploads.add_stored(upload("o2")))
        assert not await store.write(uploads.add_stored(upload("o3", digest=8)))
        assert await store.read(counting("blobs")) == 1
        assert await store.read(counting("uploads")) == 2

    async def test_blob_that_is_only_reserved_is_not_shared(self, store: Store) -> None:
        given = upload("o1")
        await store.write(blobs.reserve([new_blob(given)], HOUR))
        assert not await store.write(uploads.add_stored(given))

    async def test_reserved_blob_is_given_up_after_its_time(self, store: Store) -> None:
        given = upload("o1")
        await store.write(blobs.reserve([new_blob(given)], HOUR))
        assert await collected(store, HOUR - 1) == []
        assert await collected(store, HOUR) == [key_of(given)]
        with pytest.raises(blobs.BlobCollected):
            await store.write(uploads.add(given, key_of(given)))
        assert await store.read(counting("uploads")) == 0
        # The same bytes get another key, so the deletion that is to come can't take them.
        await store_upload(store, given, suffix=1)
        await store.write(blobs.forget([key_of(given)]))
        assert await collected(store, HOUR) == []
        assert await store.read(counting("uploads")) == 1

    async def test_expired_upload_frees_its_blob(self, store: Store) -> None:
        first = await store_upload(store, upload("o1"))
        await store.write(uploads.add_stored(upload("o2")))
        assert await collected(store, HOUR) == []
        assert not await store.write(uploads.expire(DAY))
        assert await store.read(counting("uploads")) == 2
        assert not await store.write(uploads.expire(DAY + 1))
        assert await collected(store, DAY) == [first]

    async def test_attached_image_keeps_its_blob(self, store: Store) -> None:
        given = upload("o1")
        await store_upload(store, given)
        head = await Attached(store).push(attach(given))
        await store.write(uploads.expire(DAY + 1))
        assert await collected(store, 2 * DAY) == []
        stored = await store.read(files.file(VAULT, FileId("i")))
        assert stored is not None
        assert (stored.revision, stored.text) == (head, None)

    async def test_images_take_no_room_of_the_text_that_is_read(self, store: Store) -> None:
        first, second, third = upload("o1"), upload("o2", digest=8), upload("o3", digest=9)
        for each in (first, second, third):
            await store_upload(store, each)
        workspace = Attached(store)
        head = await workspace.push(attach(first), attach(second, "j"))
        replaced = await workspace.push(attach(third, head=head))
        for position, expected in ((Position(1), head), (Position(2), replaced)):
            script = feed.live_at(VAULT, position, FileId(""), limit=10, max_bytes=50)
            found, after = await store.read_much(script)
            assert found[0].revision == expected
            assert (len(found), after) == (2, None)

    async def test_upload_can_be_attached_once(self, store: Store) -> None:
        given = upload("o1")
        await store_upload(store, given)
        workspace = Attached(store)
        await workspace.push(attach(given))
        assert await store.read(uploads.find(VAULT, [ObjectId("o1")], 0)) == {}
        with pytest.raises(UploadGone) as gone:
            await workspace.push(attach(given, "j"))
        assert gone.value.object_ids == {"o1"}
        assert await store.read(counting("images")) == 1

    async def test_upload_of_somebody_who_left_is_refused(self, store: Store) -> None:
        given = upload("o1")
        await store_upload(store, given)
        stranger = given._replace(
            account_id=AccountId("bob"), image=given.image._replace(object_id=ObjectId("o2"))
        )
        with pytest.raises(uploads.UploaderGone):
            await store.write(uploads.add_stored(stranger))
        assert await store.read(counting("uploads")) == 1

    async def test_upload_that_is_gone_is_not_attached(self, store: Store) -> None:
        with pytest.raises(UploadGone):
            await Attached(store).push(attach(upload("o1")))
        assert await store.read(files.file(VAULT, FileId("i"))) is None

    async def test_purge_destroys_every_image_of_a_file(self, store: Store) -> None:
        first, second = upload("o1"), upload("o2", digest=8)
        keys = [await store_upload(store, each) for each in (first, second)]
        workspace = Attached(store)
        head = await workspace.push(attach(first))
        head = await workspace.push(attach(second, head=head))
        await store.write(uploads.expire(DAY + 1))
        head = await workspace.push(DeleteFile(FileId("i"), frozenset({head.revision_id})))
        while await store.write(sweep()):
            pass
        assert await collected(store, 2 * DAY) == []
        await workspace.push(PurgeFile(FileId("i")))
        while await store.write(sweep()):
            pass
        assert await collected(store, 2 * DAY) == sorted(keys)
        assert await store.read(counting("images")) == 0

    async def test_image_that_another_file_has_stays_when_one_is_purged(self, store: Store) -> None:
        given = upload("o1")
        await store_upload(store, given)
        workspace = Attached(store)
        await store.write(uploads.add_stored(upload("o2")))
        head = await workspace.push(attach(given), attach(upload("o2"), "j"))
        await store.write(uploads.expire(DAY + 1))
        await workspace.push(DeleteFile(FileId("i"), frozenset({head.revision_id})))
        await workspace.push(PurgeFile(FileId("i")))
        while await store.write(sweep()):
            pass
        assert await collected(store, 2 * DAY) == []

    async def test_copy_is_collected_with_its_image_also_if_it_is_the_image(
        self, store: Store
    ) -> None:
        plain = await store_upload(store, upload("o1"))
        personal = await store_upload(store, upload("o2", digest=8))
        copy = new_blob(upload("o3", digest=9))
        await store.write(blobs.reserve([copy], 0))
        assert await store.write(add_thumbnail(plain, CLEANED, plain)) == (plain, 100)
        assert await store.write(add_thumbnail(personal, CLEANED, copy.key)) == (copy.key, 100)
        assert await collected(store, 0) == []
        await store.write(uploads.expire(DAY + 1))
        # The copies are due when their images are gone.
        await collected(store, DAY)
        assert await collected(store, DAY) == sorted([plain, personal, copy.key])
        assert await store.read(counting("thumbnails")) == 0
        assert await store.write(add_thumbnail(plain, CLEANED, plain)) is None

    async def test_deleted_workspace_frees_its_images(self, store: Store) -> None:
        given = upload("o1")
        key = await store_upload(store, given)
        await Attached(store).push(attach(given))
        await store.write(uploads.expire(DAY + 1))
        assert await store.write(workspaces.delete(VAULT))
        while await store.write(sweep()):
            pass
        assert await collected(store, 2 * DAY) == [key]

    async def test_uploads_to_a_deleted_workspace_expire_immediately(self, store: Store) -> None:
        await store.write(workspaces.create(OTHER, "Other", ANN, 0))
        key = await store_upload(store, upload("o1"))
        stays = upload("o2", digest=8)._replace(workspace_id=OTHER)
        await store_upload(store, stays)
        assert await store.write(workspaces.delete(VAULT))
        assert not await store.write(uploads.expire(1))
        assert await collected(store, 2 * DAY) == [key]
        assert await store.read(counting("uploads")) == 1

    async def test_deleted_blobs_are_forgotten(self, store: Store) -> None:
        given = upload("o1")
        await store.write(blobs.reserve([new_blob(given)], 0))
        found = await collected(store, 0)
        await store.write(blobs.forget(found))
        assert await store.read(blobs.to_delete()) == []

    async def test_many_blobs_are_checked_in_steps(self, store: Store) -> None:
        for number in range(blobs.MAX_ROWS + 1):
            given = upload(f"o{number}", digest=number)
            await store.write(blobs.reserve([new_blob(given)], 0))
        assert await store.write(blobs.check_some(0))
        assert not await store.write(blobs.check_some(0))
        assert await store.read(counting("deleted_blobs")) == blobs.MAX_ROWS + 1


class TestSqlite(Uploads):
    @pytest.fixture
    def opened(self) -> Opened:
        @asynccontextmanager
        async def open_store() -> AsyncIterator[Store]:
            store = open_inline()
            try:
                yield store
            finally:
                store.close()

        return open_store


class TestPostgres(Uploads):
    @pytest.fixture
    def opened(self, postgres_url: str) -> Opened:
        return lambda: open_postgres(postgres_url, random=random.Random(3).random)
