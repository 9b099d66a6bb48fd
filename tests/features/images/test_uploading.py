"""What is stored of an uploaded image: its bytes, or with the setting, less of them."""

from collections.abc import AsyncIterator

import pytest

from octavo.features.images.sql import Upload
from octavo.features.images.uploading import ImageUploads
from octavo.features.usage.meter import UsageMeter
from octavo.features.usage.storage import StorageQuota
from octavo.store.sqlite import InlineStore
from tests.fakes.identity_fixture import PredictableSources
from tests.fakes.image_files import encoded, opened, personal_exif, picture
from tests.fakes.images_rig import ImagesRig, images_rig
from tests.fakes.stores import open_inline
from tests.fakes.workspace_rig import ANN, VAULT, create_workspace

PERSONAL = encoded(picture((40, 30)), "JPEG", exif=personal_exif())
PLAIN = encoded(picture((40, 30)), "PNG")


@pytest.fixture
async def engine() -> AsyncIterator[InlineStore]:
    store = open_inline()
    await create_workspace(store)
    yield store
    store.close()


async def rig(engine: InlineStore, *, removes_metadata: bool) -> AsyncIterator[ImagesRig]:
    sources = PredictableSources()
    async with images_rig(
        engine,
        now=sources.now,
        new_id=sources.new_id,
        new_entropy=sources.new_entropy,
        meter=UsageMeter(engine, now=sources.now, writer_id=sources.new_id()),
        storage=StorageQuota(engine),
        removes_metadata=removes_metadata,
    ) as made:
        yield made


@pytest.fixture
async def removing(engine: InlineStore) -> AsyncIterator[ImagesRig]:
    async for each in rig(engine, removes_metadata=True):
        yield each


@pytest.fixture
async def keeping(engine: InlineStore) -> AsyncIterator[ImagesRig]:
    async for each in rig(engine, removes_metadata=False):
        yield each


async def upload(uploads: ImageUploads, data: bytes, name: str) -> Upload:
    async with uploads.receiving(name, None) as incoming:
        for at in range(0, len(data), 7):
            await incoming.write(data[at : at + 7])
        return await incoming.finish(VAULT, ANN)


async def test_bytes_are_kept_exactly(keeping: ImagesRig) -> None:
    await upload(keeping.uploads, PERSONAL, "a.jpg")
    assert [*keeping.blobs.blobs.values()] == [PERSONAL]


async def test_personal_metadata_is_removed_with_the_setting(removing: ImagesRig) -> None:
    found = await upload(removing.uploads, PERSONAL, "a.jpg")
    [stored] = removing.blobs.blobs.values()
    assert len(stored) == found.image.size < len(PERSONAL)
    exif = opened(stored).getexif()
    # The orientation stays, and the position goes.
    assert exif[0x0112] == 6
    assert not exif.get_ifd(0x8825)
    assert b"Ada" not in stored
    assert [*removing.folder.iterdir()] == []


async def test_image_without_metadata_is_kept_exactly_with_the_setting(removing: ImagesRig) -> None:
    await upload(removing.uploads, PLAIN, "a.png")
    assert [*removing.blobs.blobs.values()] == [PLAIN]
