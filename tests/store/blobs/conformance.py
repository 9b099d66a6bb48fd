"""What every blob store does."""

from collections.abc import Callable
from contextlib import AbstractAsyncContextManager, aclosing
from pathlib import Path

import pytest
import trio

from octavo.model.identity import Digest
from octavo.store.blobs import BlobKey, BlobMissing, BlobStore, blob_key
from octavo.store.blobs.blob_store import CHUNK

OpenBlobs = Callable[[], AbstractAsyncContextManager[BlobStore]]
CONTENT = bytes(range(256)) * 4 * 1024
DIGEST = Digest("5f" * 32)


def key(number: int) -> BlobKey:
    return blob_key(DIGEST, number.to_bytes(4, "big"))


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
        await blobs.put(key(1), source(CONTENT[:size]))
        assert await content(blobs, key(1)) == CONTENT[:size]

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
        await blobs.put(key(1), source(CONTENT))
        assert await content(blobs, key(1), start, stop) == CONTENT[start:stop]

    async def test_range_ends_with_the_blob(
        self, blobs: BlobStore, source: Callable[[bytes], Path]
    ) -> None:
        await blobs.put(key(1), source(b"0123456789"))
        assert await content(blobs, key(1), 8, 100) == b"89"
        assert await content(blobs, key(1), 10, 100) == b""
        assert await content(blobs, key(1), 50, 100) == b""

    async def test_blob_can_be_put_again(
        self, blobs: BlobStore, source: Callable[[bytes], Path]
    ) -> None:
        for _ in range(2):
            await blobs.put(key(1), source(b"again"))
        assert await content(blobs, key(1)) == b"again"

    async def test_missing_blob_is_reported(self, blobs: BlobStore, tmp_path: Path) -> None:
        with pytest.raises(BlobMissing):
            await content(blobs, key(9))
        with pytest.raises(BlobMissing):
            await blobs.fetch(key(9), tmp_path / "copy")

    async def test_deleted_blob_is_missing_and_others_are_not(
        self, blobs: BlobStore, source: Callable[[bytes], Path]
    ) -> None:
        await blobs.put(key(1), source(b"one"))
        await blobs.put(key(2), source(b"two"))
        await blobs.delete(key(1))
        await blobs.delete(key(1))
        with pytest.raises(BlobMissing):
            await content(blobs, key(1))
        assert await content(blobs, key(2)) == b"two"

    async def test_blob_is_fetched_to_a_file(
        self, blobs: BlobStore, source: Callable[[bytes], Path], tmp_path: Path
    ) -> None:
        await blobs.put(key(1), source(CONTENT))
        await blobs.fetch(key(1), tmp_path / "copy")
        assert (tmp_path / "copy").read_bytes() == CONTENT
        with pytest.raises(FileExistsError):
            await blobs.fetch(key(1), tmp_path / "copy")

    async def test_reading_can_stop_before_the_end(
        self, blobs: BlobStore, source: Callable[[bytes], Path]
    ) -> None:
        await blobs.put(key(1), source(CONTENT))
        reading = blobs.read(key(1))
        assert await anext(reading)
        with trio.CancelScope() as scope:
            scope.cancel()
            with pytest.raises(trio.Cancelled):
                await anext(reading)
        await reading.aclose()
        assert await content(blobs, key(1)) == CONTENT

    async def test_blobs_are_put_and_read_concurrently(
        self, blobs: BlobStore, source: Callable[[bytes], Path]
    ) -> None:
        sources = [source(b"%d" % number * 1000) for number in range(16)]
        async with trio.open_nursery() as nursery:
            for number, path in enumerate(sources):
                nursery.start_soon(blobs.put, key(number), path)
        for number in range(16):
            assert await content(blobs, key(number)) == b"%d" % number * 1000

    async def test_store_is_ready(self, blobs: BlobStore) -> None:
        await blobs.check()
