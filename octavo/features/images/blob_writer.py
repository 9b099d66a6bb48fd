"""Store files as blobs, so that the database never refers to one that is not durable."""

import logging
from collections.abc import Callable, Sequence
from functools import partial

import trio
from attrs import define

from octavo.features.images.image_work import WrittenFile
from octavo.features.usage.meter import UsageMeter
from octavo.store import Store
from octavo.store.blobs import BlobKey, BlobStore, BlobsUnavailable, blob_key
from octavo.store.queries import blobs as blob_rows

_log = logging.getLogger(__name__)

PUTS_AT_ONCE = 4
GRACE_SECONDS = 3600.0
"""Seconds for which a blob is kept that nothing refers to yet."""


@define(eq=False)
class BlobWriter:
    """Stores files as blobs.

    Args:
        store: the database.
        blobs: the blob store.
        now: the clock, in seconds of Unix time.
        new_entropy: returns the entropy of a key.
        meter: limits how many blobs are written in a month.
    """

    _store: Store
    _blobs: BlobStore
    _now: Callable[[], float]
    _new_entropy: Callable[[], bytes]
    _meter: UsageMeter

    async def require_writes(self) -> None:
        """Raise `octavo.model.usage.WriteLimitReached` if no blob may be written in this month.

        Raises also `StoreUnavailable`.
        """
        await self._meter.check_writes()

    async def heal(self, file: WrittenFile) -> None:
        """Put the bytes of a file in place of a stored blob of them that is damaged or missing.

        Something must refer to that blob already. The file may be moved. Raises `BlobsUnavailable`
        and `StoreUnavailable`.
        """
        key = await self._store.read(partial(blob_rows.stored_with, digest=file.digest))
        if key is None:
            return
        if not await self._blobs.is_intact(key):
            _log.warning("the blob %s is damaged or missing; it is replaced by an upload", key)
            await self._blobs.put(key, file.path)

    async def put(self, file: WrittenFile) -> BlobKey:
        """Store the bytes of a file; see `put_many`."""
        return (await self.put_many([file]))[0]

    async def put_many(self, files: Sequence[WrittenFile]) -> list[BlobKey]:
        """Store the bytes of files, which may be moved; return the keys, to be referred to.

        The blobs are durable then, and are collected unless something refers to them within
        `GRACE_SECONDS`. Raises `octavo.model.usage.WriteLimitReached`, and nothing is stored;
        `BlobsUnavailable` and `StoreUnavailable`; then, and when cancelled, what was stored is
        collected, and all of them count as written.
        """
        await self._meter.count_writes(len(files))
        keys = [blob_key(file.digest, self._new_entropy()) for file in files]
        new = [
            blob_rows.NewBlob(key, file.digest, file.size, file.crc)
            for key, file in zip(keys, files, strict=True)
        ]
        give_up_at = int((self._now() + GRACE_SECONDS) * 1000)
        await self._store.write(blob_rows.reserve(new, give_up_at))
        at_once = trio.CapacityLimiter(PUTS_AT_ONCE)

        async def put(key: BlobKey, file: WrittenFile) -> None:
            async with at_once:
                await self._blobs.put(key, file.path)

        if len(files) == 1:
            await self._blobs.put(keys[0], files[0].path)
            return keys
        try:
            async with trio.open_nursery() as nursery:
                for key, file in zip(keys, files, strict=True):
                    nursery.start_soon(put, key, file)
        except ExceptionGroup as group:
            failed, others = group.split(BlobsUnavailable)
            if failed is None or others is not None:
                raise
            try:
                raise failed.exceptions[0] from None
            finally:
                del failed
        return keys
