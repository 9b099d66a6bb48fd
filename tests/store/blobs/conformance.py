"""What every blob store does."""

from collections.abc import Callable
from contextlib import AbstractAsyncContextManager, aclosing
from hashlib import sha256
from pathlib import Path

import pytest
import trio
from octavo_rules.identity import Digest

from octavo.store.blobs import BlobKey, BlobMissing, BlobStore, blob_key
from octavo.store.blobs.blob_store import CHUNK

OpenBlobs = Callable[[], AbstractAsyncContextManager[BlobStore]]
CONTENT = bytes(range(256)) * 4 * 1024
DIGEST = Digest("5f" * 32)


def key(number: int, data: bytes | None = None) -> BlobKey:
    """A key of ``data``, or of what is not read."""
    digest = DIGEST if data is None else Digest(sha256(data).hexdigest())
    return blob_key(digest, number.to_bytes(4, "big"))


async def content(
    blobs: BlobStore, name: BlobKey, start: int = 0, stop: int | None = None
) -> bytes:
    """Read a blob, in pieces of the agreed size."""
    pieces: list[bytes] = []
    async with aclosing(blobs.read(name, start, stop)) as reading:
        async for piece in reading:
            assert 0 < len(piece) <= CHUNK
            pieces.append(piece)
    return b"".join(pieces)


class BlobStoreConformance:
    """The tests; a subclass has the fixture ``blobs``."""

    @pytest.fixture
    def source(self, tmp_path: Path) -> Callable[[bytes], Path]:
        def write(data: bytes) -> Path:
            path = tmp_path / f"source-{len(list(tmp_path.iterdir()))}"
            path.write_bytes(data)
            return path

        return write

    @pytest.mark.parametrize("size", [0, 1, CHUNK - 1, CHUNK, CHUNK + 1, 3 * CHUNK])
    async def test_blob_is_read_as_it_was_put(
        self, blobs: BlobStore, source: Callable[[bytes], Path], size: int
    ) -> None:
        data = CONTENT[:size]
        await blobs.put(key(1, data), source(data))
        assert await content(blobs, key(1, data)) == data

    @pytest.mark.parametrize(
        ("start", "stop"),
        [(0, 1), (5, 10), (CHUNK - 1, CHUNK + 1), (10, None), (CHUNK, 2 * CHUNK), (7, 7)],
    )
    async def test_range_is_read(
        self,
        blobs: BlobStore,
        source: Callable[[bytes], Path],
        start: int,
        stop: int | None,
    ) -> None:
        await blobs.put(key(1, CONTENT), source(CONTENT))
        assert await content(blobs, key(1, CONTENT), start, stop) == CONTENT[start:stop]

    async def test_range_ends_with_the_blob(
        self, blobs: BlobStore, source: Callable[[bytes], Path]
    ) -> None:
        name = key(1, b"0123456789")
        await blobs.put(name, source(b"0123456789"))
        assert await content(blobs, name, 8, 100) == b"89"
        assert await content(blobs, name, 10, 100) == b""
        assert await content(blobs, name, 50, 100) == b""

    async def test_blob_can_be_put_again(
        self, blobs: BlobStore, source: Callable[[bytes], Path]
    ) -> None:
        for _ in range(2):
            await blobs.put(key(1, b"again"), source(b"again"))
        assert await content(blobs, key(1, b"again")) == b"again"

    async def test_missing_blob_is_reported(self, blobs: BlobStore, tmp_path: Path) -> None:
        with pytest.raises(BlobMissing):
            await content(blobs, key(9))
        with pytest.raises(BlobMissing):
            await blobs.fetch(key(9), tmp_path / "copy")

    async def test_deleted_blob_is_missing_and_others_are_not(
        self, blobs: BlobStore, source: Callable[[bytes], Path]
    ) -> None:
        one, two = key(1, b"one"), key(2, b"two")
        await blobs.put(one, source(b"one"))
        await blobs.put(two, source(b"two"))
        await blobs.delete(one)
        await blobs.delete(one)
        with pytest.raises(BlobMissing):
            await content(blobs, one)
        assert await content(blobs, two) == b"two"

    async def test_blob_is_fetched_to_a_file(
        self, blobs: BlobStore, source: Callable[[bytes], Path], tmp_path: Path
    ) -> None:
        name = key(1, CONTENT)
        await blobs.put(name, source(CONTENT))
        await blobs.fetch(name, tmp_path / "copy")
        assert (tmp_path / "copy").read_bytes() == CONTENT
        with pytest.raises(FileExistsError):
            await blobs.fetch(name, tmp_path / "copy")

    async def test_reading_can_stop_before_the_end(
        self, blobs: BlobStore, source: Callable[[bytes], Path]
    ) -> None:
        name = key(1, CONTENT)
        await blobs.put(name, source(CONTENT))
        reading = blobs.read(name)
        assert await anext(reading)
        with trio.CancelScope() as scope:
            scope.cancel()
            with pytest.raises(trio.Cancelled):
                await anext(reading)
        await reading.aclose()
        assert await content(blobs, name) == CONTENT

    async def test_blobs_are_put_and_read_concurrently(
        self, blobs: BlobStore, source: Callable[[bytes], Path]
    ) -> None:
        every = {
            key(number, data): data for number in range(16) for data in [b"%d" % number * 1000]
        }
        sources = {name: source(data) for name, data in every.items()}
        async with trio.open_nursery() as nursery:
            for name, path in sources.items():
                nursery.start_soon(blobs.put, name, path)
        for name, data in every.items():
            assert await content(blobs, name) == data

    async def test_store_is_ready(self, blobs: BlobStore) -> None:
        await blobs.check()
