"""The contents of revisions: texts and images."""

from __future__ import annotations

from collections.abc import Sequence

from octavo_rules.identity import FileId, WorkspaceId

from octavo.model.files.image import ObjectId, UploadedImage
from octavo.store.compression import undamaged
from octavo.store.queries.revision_rows import WORKSPACE
from octavo.store.queries.select_in import select_in
from octavo.store.transaction import Transaction

_TEXTS = f"""
    SELECT files.file_id, contents.compressed
    FROM files JOIN contents ON contents.pk = files.content
    WHERE files.workspace = {WORKSPACE} AND files.file_id IN ($ids)
"""
_INSERT_IMAGE = """
    INSERT INTO images (pk, blob, width, height, frames)
    SELECT $1, blob, width, height, frames FROM uploads WHERE id = $2::uuid
"""

_DELETE_UPLOAD = "DELETE FROM uploads WHERE id = $1::uuid"
# Perhaps nothing refers to them any more.
_CHECK_BLOBS = """
    UPDATE blobs SET check_at = 0 WHERE key = (SELECT blob FROM images WHERE pk = $1)
"""


class UploadGone(Exception):
    """Uploads expired, or were attached, since they were read.

    Attributes:
        object_ids: the uploads.
    """

    def __init__(self, object_ids: Sequence[ObjectId]) -> None:
        super().__init__(object_ids)
        self.object_ids = frozenset(object_ids)


async def texts_of(
    transaction: Transaction, workspace_id: WorkspaceId, file_ids: Sequence[FileId]
) -> dict[FileId, str]:
    """Return the texts of heads by their files.

    Images and purged files are left out, and damaged texts.
    """
    rows = await select_in(transaction, _TEXTS, workspace_id, file_ids)
    found = ((FileId(row[0]), undamaged(row[1])) for row in rows)
    return {file_id: text for file_id, text in found if text is not None}


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
    await transaction.execute_many("DELETE FROM contents WHERE pk = $1", given)
    await transaction.execute_many(_CHECK_BLOBS, given)
    await transaction.execute_many("DELETE FROM images WHERE pk = $1", given)
