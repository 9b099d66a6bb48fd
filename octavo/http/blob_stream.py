"""The bytes of a blob as the content of a response."""

import logging
from collections.abc import AsyncGenerator, AsyncIterator

from octavo.http.contract.problems import NotFound
from octavo.store.blobs import BlobKey, BlobMissing, BlobStore

_log = logging.getLogger(__name__)


async def open_blob(blobs: BlobStore, key: BlobKey, start: int, stop: int) -> AsyncIterator[bytes]:
    """Return the bytes of a blob from ``start`` to ``stop``, the first of which were read.

    So a failure has a response of its own. Raises `NotFound`, and
    `octavo.store.blobs.BlobsUnavailable`. Close what is returned.
    """
    chunks = blobs.read(key, start, stop)
    try:
        first = await anext(chunks, b"")
    except BlobMissing as error:
        raise vanished(error) from error
    return _continued(first, chunks)


async def require_blob(blobs: BlobStore, key: BlobKey) -> None:
    """Raise `NotFound` for a blob that can't be read, as for the response to HEAD."""
    if not await blobs.is_intact(key):
        raise vanished(BlobMissing(f"the blob {key} is damaged or missing"))


def vanished(error: BlobMissing) -> NotFound:
    """Return the problem of a blob that is gone, and log it."""
    _log.warning("%s: an image is not served; it may have been purged just now", error)
    return NotFound(
        "The image was purged just now, or its bytes on the server are damaged or missing: whoever"
        " runs the server can put them back from a backup, or upload the image again."
    )


class _continued:  # noqa: N801 - used like a function
    """Iterate ``first``, and the rest of ``chunks``; closing it closes ``chunks``."""

    def __init__(self, first: bytes, chunks: AsyncGenerator[bytes, None]) -> None:
        self._first = first
        self._chunks = chunks

    def __aiter__(self) -> AsyncIterator[bytes]:
        return self

    async def __anext__(self) -> bytes:
        first, self._first = self._first, b""
        return first or await anext(self._chunks)

    async def aclose(self) -> None:
        await self._chunks.aclose()
