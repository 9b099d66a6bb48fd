"""What is stored of several files at once, and how it counts."""

from collections.abc import AsyncIterator
from hashlib import sha256
from zlib import crc32

import pytest
from octavo_rules.identity import Digest

from octavo.features.images.image_work import WrittenFile
from octavo.features.usage.meter import UsageMeter
from octavo.features.usage.storage import StorageQuota
from octavo.model.usage import InstallationLimits, WriteLimitReached
from octavo.store.blobs import BlobsUnavailable
from tests.fakes.identity_fixture import PredictableSources
from tests.fakes.images_rig import ImagesRig, images_rig
from tests.fakes.stores import open_inline


@pytest.fixture
async def limited() -> AsyncIterator[ImagesRig]:
    """Three blobs may be written in a month."""
    store, sources = open_inline(), PredictableSources()
    limits = InstallationLimits(writes=3)
    async with images_rig(
        store,
        now=sources.now,
        new_id=sources.new_id,
        new_entropy=sources.new_entropy,
        meter=UsageMeter(store, now=sources.now, writer_id=sources.new_id(), limits=limits),
        storage=StorageQuota(store),
    ) as rig:
        yield rig
    store.close()


def written(rig: ImagesRig, *texts: bytes) -> list[WrittenFile]:
    files = []
    for text in texts:
        path = rig.folder / text.decode()
        path.write_bytes(text)
        files.append(WrittenFile(path, Digest(sha256(text).hexdigest()), len(text), crc32(text)))
    return files


async def test_each_file_of_several_counts_as_written(limited: ImagesRig) -> None:
    await limited.writer.put_many(written(limited, b"a", b"b"))
    with pytest.raises(WriteLimitReached):
        await limited.writer.put_many(written(limited, b"c", b"d"))
    assert sorted(limited.blobs.blobs.values()) == [b"a", b"b"]
    await limited.writer.put_many(written(limited, b"e"))
    with pytest.raises(WriteLimitReached):
        await limited.writer.require_writes()
    assert sorted(limited.blobs.blobs.values()) == [b"a", b"b", b"e"]


async def test_files_that_could_not_be_stored_count_as_written(limited: ImagesRig) -> None:
    limited.blobs.away = True
    with pytest.raises(BlobsUnavailable):
        await limited.writer.put_many(written(limited, b"a", b"b", b"c"))
    limited.blobs.away = False
    with pytest.raises(WriteLimitReached):
        await limited.writer.put_many(written(limited, b"d"))


async def test_keys_are_in_the_order_of_the_files(limited: ImagesRig) -> None:
    keys = await limited.writer.put_many(written(limited, b"a", b"b", b"c"))
    assert [limited.blobs.blobs[key] for key in keys] == [b"a", b"b", b"c"]
