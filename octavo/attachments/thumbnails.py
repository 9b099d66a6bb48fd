"""Thumbnails of images: made when they are first asked for, and kept as blobs."""

from collections.abc import Callable
from typing import NamedTuple

import trio

from octavo.attachments.blob_writer import BlobWriter
from octavo.attachments.image_work import ImageWork
from octavo.model.files.image import UnacceptableImage
from octavo.store import Store
from octavo.store.blobs import BlobKey, BlobsFull, BlobStore, Staging
from octavo.store.scripts.images import add_thumbnail, thumbnail_of
from octavo.workers import WorkerFailed, WorkOutOfSpace

MEDIA_TYPE = "image/webp"
"""The media type of every thumbnail."""


class StoredThumbnail(NamedTuple):
    """A thumbnail in the blob store, with its size in bytes."""

    key: BlobKey
    size: int


class Thumbnails:
    """Makes thumbnails, and keeps them.

    Args:
        store: the database.
        blobs: the blob store.
        writer: stores blobs.
        staging: files on their way to and from the blob store.
        work: makes thumbnails.
        new_id: returns an id.
    """

    def __init__(
        self,
        store: Store,
        blobs: BlobStore,
        writer: BlobWriter,
        staging: Staging,
        work: ImageWork,
        *,
        new_id: Callable[[], str],
    ) -> None:
        self._store = store
        self._blobs = blobs
        self._writer = writer
        self._staging = staging
        self._work = work
        self._new_id = new_id
        self._making: dict[tuple[BlobKey, int], trio.Event] = {}

    async def get(self, image: BlobKey, width: int) -> StoredThumbnail:
        """Return the thumbnail of an image of at most ``width`` pixels in width.

        ``width`` is one of `octavo.images.thumbnails.WIDTHS`. Callers that ask for the same
        thumbnail at the same time wait for one to be made.

        Raises:
            BlobMissing: the image was removed meanwhile.
            BlobsUnavailable: the blob store failed.
            StoreUnavailable: the database failed.
            WriteLimitReached: the installation may write no more objects in this month.
            WorkerFailed: it can't be made: there is no process, or not enough time, memory or room.
        """
        while True:
            found = await self._store.read(thumbnail_of(image, width))
            if found is not None:
                return StoredThumbnail(*found)
            made = self._making.get((image, width))
            if made is None:
                break
            await made.wait()
        made = self._making[image, width] = trio.Event()
        try:
            return await self._make(image, width)
        finally:
            del self._making[image, width]
            made.set()

    async def _make(self, image: BlobKey, width: int) -> StoredThumbnail:
        name = self._new_id()
        async with self._staging.place(name) as path, self._staging.place(f"{name}.out") as out:
            await self._blobs.fetch(image, path)
            try:
                written = await self._work.make_thumbnail(path, width, out)
                key = await self._writer.put(written)
            except (UnacceptableImage, WorkOutOfSpace, BlobsFull) as error:
                # The image was accepted, and the caller stores nothing: it is not its mistake.
                raise WorkerFailed(f"a thumbnail can't be made: {error}") from error
        await self._store.write(add_thumbnail(image, width, key))
        return StoredThumbnail(key, written.size)
