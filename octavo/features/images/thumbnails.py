"""Thumbnails of images, and copies without personal metadata.

They are made when they are first requested, and kept as blobs until their image is collected.
"""

from collections.abc import Callable
from typing import NamedTuple

import trio
from attrs import define, field

from octavo.features.images.blob_writer import BlobWriter
from octavo.features.images.image_work import ImageWork
from octavo.features.images.sql import CLEANED, add_thumbnail, forget_thumbnail, thumbnail_of
from octavo.model.files.image import UnacceptableImage
from octavo.store import Store
from octavo.store.blobs import BlobKey, BlobMissing, BlobsFull, BlobStore, Staging
from octavo.store.fair_turns import FairTurns
from octavo.workers import WorkerFailed, WorkOutOfSpace

MEDIA_TYPE = "image/webp"
"""The media type of every thumbnail."""


AT_ONCE = 4
"""Maximum number of images that are processed at a time; one caller gets half of them."""


class ImageVariant(NamedTuple):
    """A thumbnail or a cleaned copy of an image: its blob, and its size in bytes."""

    key: BlobKey
    size: int


@define(eq=False)
class Thumbnails:
    """Makes thumbnails and cleaned copies, and keeps them.

    Args:
        store: the database.
        blobs: the blob store.
        writer: stores blobs.
        staging: files on their way to and from the blob store.
        work: makes them.
        new_id: returns an id.
    """

    _store: Store
    _blobs: BlobStore
    _writer: BlobWriter
    _staging: Staging
    _work: ImageWork
    _new_id: Callable[[], str]
    _turns: FairTurns = field(factory=lambda: FairTurns(AT_ONCE, AT_ONCE // 2), init=False)
    _making: dict[tuple[BlobKey, int], trio.Event] = field(factory=dict, init=False)

    async def without_metadata(self, image: BlobKey) -> ImageVariant:
        """Return a copy of an image without what identifies people and places.

        This is the image itself if it has no such metadata. Raises the same errors as `get`.
        """
        return await self.get(image, CLEANED)

    async def get(self, image: BlobKey, width: int) -> ImageVariant:
        """Return the thumbnail of an image of at most ``width`` pixels in width.

        ``width`` is one of `WIDTHS`. Concurrent callers that request the same thumbnail wait for
        one to be made.

        Raises:
            BlobMissing: the image was removed meanwhile.
            BlobsUnavailable: the blob store failed.
            StoreUnavailable: the database failed.
            WriteLimitReached: the installation may write no more objects in this month.
            WorkerFailed: it can't be made: there is no process, or not enough time, memory or room.
        """
        while True:
            thumbnail = await self._store.read(thumbnail_of(image, width))
            if thumbnail is not None:
                # An image that is its own cleaned copy is not checked: members read it as well.
                if thumbnail[0] == image or await self._blobs.is_intact(thumbnail[0]):
                    return ImageVariant(*thumbnail)
                await self._store.write(forget_thumbnail(image, width, thumbnail[0]))
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

    async def _make(self, image: BlobKey, width: int) -> ImageVariant:
        name = self._new_id()
        async with (
            self._turns.turn(),
            self._staging.place(name) as path,
            self._staging.place(f"{name}.out") as out,
        ):
            await self._blobs.fetch(image, path)
            try:
                if width == CLEANED:
                    written = await self._work.remove_metadata(path, out)
                else:
                    written = await self._work.make_thumbnail(path, width, out)
                key = image if written is None else await self._writer.put(written)
            except (UnacceptableImage, WorkOutOfSpace, BlobsFull) as error:
                # The image was accepted, and the caller stores nothing: this is not its fault.
                raise WorkerFailed(f"nothing can be made of an image: {error}") from error
        made = await self._store.write(add_thumbnail(image, width, key))
        if made is None:
            raise BlobMissing(f"the blob {image} is collected")
        return ImageVariant(*made)
