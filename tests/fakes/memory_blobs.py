"""A blob store in memory."""

import os
from collections.abc import AsyncGenerator
from pathlib import Path

import trio

from octavo.store.blobs import BlobKey, BlobMissing, BlobsUnavailable
from octavo.store.blobs.blob_store import CHUNK


class MemoryBlobs:
    """Implements `octavo.store.blobs.BlobStore`; the files of blobs are moved, as by `LocalBlobs`.

    Attributes:
        blobs: the bytes of each blob.
        away: every call fails.
    """

    def __init__(self) -> None:
        self.blobs: dict[BlobKey, bytes] = {}
        self.away = False

    async def put(self, key: BlobKey, source: Path) -> None:
        await self.check()
        self.blobs[key] = await trio.Path(source).read_bytes()
        os.unlink(source)

    async def read(
        self, key: BlobKey, start: int = 0, stop: int | None = None
    ) -> AsyncGenerator[bytes, None]:
        await self.check()
        data = self._get(key)[start:stop]
        for at in range(0, len(data), CHUNK):
            yield data[at : at + CHUNK]
            await self.check()

    async def fetch(self, key: BlobKey, target: Path) -> None:
        await self.check()
        with target.open("xb") as file:
            file.write(self._get(key))

    async def delete(self, key: BlobKey) -> None:
        await self.check()
        self.blobs.pop(key, None)

    async def is_intact(self, key: BlobKey) -> bool:
        await self.check()
        return key in self.blobs

    async def check(self) -> None:
        await trio.lowlevel.checkpoint()
        if self.away:
            raise BlobsUnavailable("the blobs are away")

    def _get(self, key: BlobKey) -> bytes:
        if key not in self.blobs:
            raise BlobMissing(f"the blob {key} is missing")
        return self.blobs[key]
