"""Blobs in an object store, against a real S3 server."""

import os
import stat
from collections.abc import AsyncIterator, Callable
from pathlib import Path

import pytest
from obstore.store import S3Store

from octavo.store.blobs import BlobMissing, BlobStore, BlobsUnavailable
from octavo.store.blobs.object_store import PART_BYTES, READ_BYTES, open_object_store
from tests.fakes.s3_server import BUCKET, ENVIRONMENT, set_environment
from tests.store.blobs.conformance import BlobStoreConformance, content, key

NAMED = "OCTAVO_TEST_OBJECT_STORE"
"""Names the address of a further object store to test, which the environment gives access to."""

Write = Callable[[bytes], Path]


@pytest.fixture
def bucket(s3: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """An address that no other test uses."""
    set_environment(monkeypatch, AWS_ENDPOINT_URL=s3, **ENVIRONMENT)
    return f"s3://{BUCKET}/{tmp_path.name}"


class ObjectStoreConformance(BlobStoreConformance):
    @pytest.mark.parametrize(
        "size",
        [
            READ_BYTES,
            READ_BYTES + 1,
            PART_BYTES,
            PART_BYTES + 1,
            2 * PART_BYTES,
            3 * PART_BYTES + 7,
        ],
    )
    async def test_large_blob_is_read_as_it_was_put(
        self, blobs: BlobStore, source: Write, size: int, tmp_path: Path
    ) -> None:
        data = os.urandom(size)
        path = source(data)
        await blobs.put(key(1), path)
        assert await content(blobs, key(1)) == data
        assert await content(blobs, key(1), READ_BYTES - 1, size - 1) == data[READ_BYTES - 1 : -1]
        await blobs.fetch(key(1), tmp_path / "copy")
        assert (tmp_path / "copy").read_bytes() == data
        assert stat.S_IMODE((tmp_path / "copy").stat().st_mode) == 0o600
        assert path.read_bytes() == data


class TestS3(ObjectStoreConformance):
    @pytest.fixture
    def blobs(self, bucket: str) -> BlobStore:
        return open_object_store(bucket)


@pytest.mark.skipif(NAMED not in os.environ, reason=f"{NAMED} names no object store")
class TestNamedObjectStore(ObjectStoreConformance):
    @pytest.fixture
    async def blobs(self, tmp_path: Path) -> AsyncIterator[BlobStore]:
        blobs = open_object_store(f"{os.environ[NAMED]}/{tmp_path.name}")
        yield blobs
        for number in range(16):
            await blobs.delete(key(number))


async def test_blob_is_an_object_below_the_prefix(bucket: str, tmp_path: Path) -> None:
    (tmp_path / "source").write_bytes(b"x")
    blobs = open_object_store(bucket)
    await blobs.put(key(1), tmp_path / "source")
    await blobs.check()
    inspected = S3Store(BUCKET, client_options={"allow_http": True})
    found = [each["path"] for each in inspected.list(tmp_path.name).collect()]
    assert sorted(found) == [f"{tmp_path.name}/5f/5f/{key(1)}", f"{tmp_path.name}/check"]


async def test_missing_bucket_is_not_a_missing_blob(bucket: str, tmp_path: Path) -> None:
    (tmp_path / "source").write_bytes(b"x")
    blobs = open_object_store("s3://no-such-bucket/x")
    for request in (
        blobs.put(key(1), tmp_path / "source"),
        content(blobs, key(1)),
        blobs.delete(key(1)),
        blobs.check(),
    ):
        with pytest.raises(BlobsUnavailable, match=r"status 404 \(NoSuchBucket\)"):
            await request


async def test_range_beyond_the_end_of_a_missing_blob_is_missing(bucket: str) -> None:
    with pytest.raises(BlobMissing):
        await content(open_object_store(bucket), key(1), 100, 200)


async def test_source_that_is_missing_is_no_missing_blob(bucket: str, tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        await open_object_store(bucket).put(key(1), tmp_path / "missing")
