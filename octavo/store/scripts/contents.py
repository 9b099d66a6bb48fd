"""The contents of revisions, texts and images, by their numbers."""

from __future__ import annotations

from collections.abc import Sequence

from octavo.model.files.image import UploadedImage
from octavo.store.transaction import Transaction

_INSERT_IMAGE = """
    INSERT INTO images (number, blob, width, height, frames)
    SELECT $1, blob, width, height, frames FROM uploads WHERE id = $2::uuid
"""

# Perhaps nothing refers to them any more.
_CHECK_BLOBS = """
    UPDATE blobs SET check_at = 0 WHERE key = (SELECT blob FROM images WHERE number = $1)
"""


class UploadGone(Exception):
    """An upload was removed since it was read."""


async def insert_images(
    transaction: Transaction, images: Sequence[tuple[int, UploadedImage]]
) -> None:
    """Store images with their numbers. Raises `UploadGone`."""
    for number, image in images:
        if not await transaction.execute(_INSERT_IMAGE, number, image.object_id):
            raise UploadGone(image.object_id)


async def delete_contents(transaction: Transaction, numbers: Sequence[int | None]) -> None:
    """Delete texts and images that no revision refers to any more; None is left out."""
    given = [(number,) for number in numbers if number is not None]
    await transaction.execute_many("DELETE FROM contents WHERE number = $1", given)
    await transaction.execute_many(_CHECK_BLOBS, given)
    await transaction.execute_many("DELETE FROM images WHERE number = $1", given)
