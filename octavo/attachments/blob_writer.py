"""Store files as blobs, so that the database never refers to one that is not durable."""

from collections.abc import Callable

from octavo.attachments.image_work import WrittenFile
from octavo.store import Store
from octavo.store.blobs import BlobKey, BlobStore, blob_key
from octavo.store.scripts import blobs as blob_rows

GRACE_SECONDS = 3600.0
"""Seconds for which a blob is kept that nothing refers to yet."""


class BlobWriter:
    """Stores files as blobs.

    Args:
        store: the database.
        blobs: the blob store.
        now: the clock, in seconds of Unix time.
        new_entropy: returns the entropy of a key.
    """

    def __init__(
        self,
        store: Store,
        blobs: BlobStore,
        *,
        now: Callable[[], float],
        new_entropy: Callable[[], bytes],
    ) -> None:
        self._store = store
        self._blobs = blobs
        self._now = now
        self._new_entropy = new_entropy

    async def put(self, file: WrittenFile) -> BlobKey:
        """Store the bytes of a file, which may be moved; return the key, to be referred to.

        The blob is durable then, and is collected unless something refers to it within
        `GRACE_SECONDS`. Raises `BlobsUnavailable` and `StoreUnavailable`; then, and when cancelled,
        what was stored is collected.
        """
        key = blob_key(file.digest, self._new_entropy())
        new = blob_rows.NewBlob(key, file.digest, file.size, file.crc)
        give_up_at = int((self._now() + GRACE_SECONDS) * 1000)
        await self._store.write(blob_rows.reserve([new], give_up_at))
        await self._blobs.put(key, file.path)
        return key
