"""The contents of revisions, texts and images, by their numbers."""

from __future__ import annotations

from collections.abc import Sequence

from octavo.model.files.image import ObjectId, UploadedImage
from octavo.store.transaction import Transaction

_INSERT_IMAGE = """
    INSERT INTO images (number, blob, width, height, frames)
    SELECT $1, blob, width, height, frames FROM uploads WHERE id = $2::uuid
"""

_DELETE_UPLOAD = "DELETE FROM uploads WHERE id = $1::uuid"
# Perhaps nothing refers to them any more.
_CHECK_BLOBS = """
    UPDATE blobs SET check_at = 0 WHERE key = (SELECT blob FROM images WHERE number = $1)
"""


class UploadGone(Exception):
    """Uploads expired, or were attached, since they were read.

    Attributes:
        object_ids: the uploads.
    """

    def __init__(self, object_ids: Sequence[ObjectId]) -> None:
        super().__init__(object_ids)
        self.object_ids = frozenset(object_ids)


async def insert_images(
    transaction: Transaction, images: Sequence[tuple[int, UploadedImage]]
) -> None:
    """Store uploaded images with their numbers; the uploads end. Raises `UploadGone`."""
    gone: list[ObjectId] = []
    for number, image in images:
        if await transaction.execute(_INSERT_IMAGE, number, image.object_id):
            await transaction.execute(_DELETE_UPLOAD, image.object_id)
        else:
            gone.append(image.object_id)
    if gone:
        raise UploadGone(gone)


async def delete_contents(transaction: Transaction, numbers: Sequence[int | None]) -> None:
    """Delete texts and images that no revision refers to any more; None is left out."""
    given = [(number,) for number in numbers if number is not None]
    await transaction.execute_many("DELETE FROM contents WHERE number = $1", given)
    await transaction.execute_many(_CHECK_BLOBS, given)
    await transaction.execute_many("DELETE FROM images WHERE number = $1", given)
