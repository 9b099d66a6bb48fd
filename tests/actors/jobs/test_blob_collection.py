"""Blobs are deleted from the blob store after nothing refers to them."""

from collections.abc import AsyncGenerator, Iterator
from pathlib import Path

import pytest
import trio
from octavo_rules.identity import Digest
from trio.testing import MockClock, wait_all_tasks_blocked

from octavo.actors.jobs.housekeeping import POLL_SECONDS
from octavo.features.archives import sql as imports
from octavo.features.images import sql as uploads
from octavo.features.images.feature import ATTACHING_SECONDS
from octavo.model.files.image import ObjectId, UploadedImage
from octavo.service.features import blob_collection
from octavo.store.blobs import BlobKey, BlobsUnavailable, blob_key
from octavo.store.queries import blobs
from octavo.store.sqlite import InlineStore
from tests.fakes.stores import open_inline
from tests.fakes.workspace_rig import ANN, VAULT, create_workspace

DIGEST = Digest("ab" * 32)
KEY = blob_key(DIGEST, b"0000")


class Blobs:
    """A blob store that records deletions."""

    def __init__(self) -> None:
        self.deleted: list[BlobKey] = []
        self.failing = False

    async def delete(self, key: BlobKey) -> None:
        await trio.lowlevel.checkpoint()
        if self.failing:
            raise BlobsUnavailable("it is away")
        self.deleted.append(key)

    async def put(self, key: BlobKey, source: Path) -> None:
        raise AssertionError

    async def fetch(self, key: BlobKey, target: Path) -> None:
        raise AssertionError

    async def check(self) -> None:
        raise AssertionError

    async def is_intact(self, key: BlobKey) -> bool:
        raise AssertionError

    def read(
        self, key: BlobKey, start: int = 0, stop: int | None = None
    ) -> AsyncGenerator[bytes, None]:
        raise AssertionError


@pytest.fixture
def engine() -> Iterator[InlineStore]:
    store = open_inline()
    yield store
    store.close()


async def test_blob_without_use_is_deleted_once(
    engine: InlineStore, autojump_clock: MockClock, nursery: trio.Nursery
) -> None:
    kept = Blobs()
    await engine.write(blobs.reserve([blobs.NewBlob(KEY, DIGEST, 1, 0)], give_up_at=0))
    nursery.start_soon(blob_collection(engine, kept, trio.current_time).run)
    await trio.sleep(3 * POLL_SECONDS)
    assert kept.deleted == [KEY]
    assert await engine.read(blobs.to_delete()) == []


async def test_blob_of_an_expired_upload_is_deleted_an_hour_later(
    engine: InlineStore, autojump_clock: MockClock, nursery: trio.Nursery
) -> None:
    await create_workspace(engine)
    kept = Blobs()
    image = UploadedImage(ObjectId("o"), DIGEST, 1, "image/png", 1, 1, 1)
    expires_at = int((trio.current_time() + 60) * 1000)
    await engine.write(blobs.reserve([blobs.NewBlob(KEY, DIGEST, 1, 0)], give_up_at=0))
    await engine.write(uploads.add(uploads.Upload(VAULT, ANN, image, expires_at), KEY))
    nursery.start_soon(blob_collection(engine, kept, trio.current_time).run)
    # A change that attaches it may be under way.
    await trio.sleep(ATTACHING_SECONDS)
    assert kept.deleted == []
    await trio.sleep(60 + 2 * POLL_SECONDS)
    assert kept.deleted == [KEY]


async def test_failure_of_the_blob_store_is_tried_again(
    engine: InlineStore, autojump_clock: MockClock, nursery: trio.Nursery
) -> None:
    kept = Blobs()
    kept.failing = True
    await engine.write(blobs.reserve([blobs.NewBlob(KEY, DIGEST, 1, 0)], give_up_at=0))
    nursery.start_soon(blob_collection(engine, kept, trio.current_time).run)
    await trio.sleep(POLL_SECONDS)
    assert kept.deleted == []
    assert await engine.read(blobs.to_delete()) == [KEY]
    kept.failing = False
    await trio.sleep(2 * POLL_SECONDS)
    assert kept.deleted == [KEY]


async def test_search_starts_when_woken(
    engine: InlineStore, autojump_clock: MockClock, nursery: trio.Nursery
) -> None:
    kept = Blobs()
    job = blob_collection(engine, kept, trio.current_time)
    nursery.start_soon(job.run)
    await trio.sleep(1)
    await engine.write(blobs.reserve([blobs.NewBlob(KEY, DIGEST, 1, 0)], give_up_at=0))
    job.wake()
    await trio.sleep(1)
    assert kept.deleted == [KEY]


async def test_import_that_expired_is_removed_with_its_parts(
    engine: InlineStore, autojump_clock: MockClock, nursery: trio.Nursery
) -> None:
    await create_workspace(engine)
    recorded = Blobs()
    import_id = "01900000-0000-7000-8000-000000000001"
    await engine.write(imports.start_import(import_id, VAULT, ANN, 1000, 1))
    await engine.write(blobs.reserve([blobs.NewBlob(KEY, DIGEST, 1, 0)], give_up_at=10**9))
    await engine.write(imports.put_part(import_id, imports.ImportPart(1, KEY, 1), 0, 2000))
    job = blob_collection(engine, recorded, trio.current_time)
    nursery.start_soon(job.run)
    await trio.sleep(1.5)
    assert recorded.deleted == []
    await trio.sleep(1)
    job.wake()
    await wait_all_tasks_blocked()
    await trio.sleep(1)
    assert recorded.deleted == [KEY]
