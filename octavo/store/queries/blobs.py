"""The contents of revisions, and blobs: stored ones, references to them, and their deletion.

A blob is reserved before it is stored, and something refers to it only afterwards; its row is
deleted in the transaction that finds nothing that refers to it. So at every moment, also after a
crash, each blob that something refers to is stored, and each blob in the store has a row in
``blobs`` or in ``deleted_blobs``.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from octavo_rules.identity import Digest, FileId, WorkspaceId

from octavo.model.files.image import ObjectId, UploadedImage
from octavo.store.blobs import BlobKey
from octavo.store.compression import undamaged
from octavo.store.queries.revision_rows import WORKSPACE, select_in
from octavo.store.transaction import Script, Transaction

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
# Their last reference may be gone.
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
    texts = ((FileId(row[0]), undamaged(row[1])) for row in rows)
    return {file_id: text for file_id, text in texts if text is not None}


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
    rows = [(number,) for number in numbers if number is not None]
    await transaction.execute_many("DELETE FROM contents WHERE pk = $1", rows)
    await transaction.execute_many(_CHECK_BLOBS, rows)
    await transaction.execute_many("DELETE FROM images WHERE pk = $1", rows)


MAX_ROWS = 100
"""Blobs that one step looks at."""

_INSERT = """
    INSERT INTO blobs (key, digest, size, crc, stored, check_at) VALUES ($1, $2, $3, $4, 0, $5)
"""
_USED = """
    EXISTS (SELECT 1 FROM images WHERE images.blob = $1)
    OR EXISTS (SELECT 1 FROM uploads WHERE uploads.blob = $1)
    OR EXISTS (SELECT 1 FROM import_parts WHERE import_parts.blob = $1)
    OR EXISTS (SELECT 1 FROM thumbnails WHERE thumbnails.blob = $1 AND thumbnails.image <> $1)
"""
# The thumbnails of an image are removed with it; one may be the image itself.
_CHECK_THUMBNAILS = """
    UPDATE blobs SET check_at = 0 WHERE key IN (SELECT blob FROM thumbnails WHERE image = $1)
"""


class BlobCollected(Exception):
    """The blob was collected before it was stored, as that took too long: store it again."""


class NewBlob(NamedTuple):
    """A blob that is about to be stored.

    Attributes:
        key: its key.
        digest: the SHA-256 digest of its bytes.
        size: their number.
        crc: their CRC-32.
    """

    key: BlobKey
    digest: Digest
    size: int
    crc: int


def reserve(new: Sequence[NewBlob], give_up_at: int) -> Script[None]:
    """Announce blobs that are about to be stored.

    Those that nothing refers to at ``give_up_at`` (ms) are deleted.
    """

    async def insert_blobs(transaction: Transaction) -> None:
        rows = [
            (blob.key, bytes.fromhex(blob.digest), blob.size, blob.crc, give_up_at) for blob in new
        ]
        await transaction.execute_many(_INSERT, rows)

    return insert_blobs


async def stored_with(transaction: Transaction, digest: Digest) -> BlobKey | None:
    """Return a stored blob of these bytes; None without one."""
    row = await transaction.fetch_one(
        "SELECT key FROM blobs WHERE digest = $1 AND stored = 1 ORDER BY key LIMIT 1",
        bytes.fromhex(digest),
    )
    return None if row is None else BlobKey(row[0])


async def mark_stored(transaction: Transaction, key: BlobKey) -> None:
    """Record that a reserved blob is durable. Raises `BlobCollected`."""
    if not await transaction.execute("UPDATE blobs SET stored = 1 WHERE key = $1", key):
        raise BlobCollected


async def check_soon(transaction: Transaction, keys: Sequence[BlobKey]) -> None:
    """Schedule the check of blobs that may have lost their last reference."""
    await transaction.execute_many(
        "UPDATE blobs SET check_at = 0 WHERE key = $1", [(key,) for key in keys]
    )


def check_some(now: int) -> Script[bool]:
    """Check blobs that are due at ``now`` (ms); return whether there may be more.

    Those that nothing refers to move to the blobs to be deleted.
    """

    async def check_blobs(transaction: Transaction) -> bool:
        rows = await transaction.fetch_all(
            "SELECT key FROM blobs WHERE check_at <= $1 ORDER BY check_at LIMIT $2", now, MAX_ROWS
        )
        for row in rows:
            used = await transaction.fetch_one(f"SELECT {_USED}", row[0])
            if used is not None and used[0]:
                await transaction.execute("UPDATE blobs SET check_at = NULL WHERE key = $1", row[0])
            else:
                await transaction.execute(_CHECK_THUMBNAILS, row[0])
                await transaction.execute("DELETE FROM thumbnails WHERE image = $1", row[0])
                await transaction.execute("DELETE FROM blobs WHERE key = $1", row[0])
                await transaction.execute("INSERT INTO deleted_blobs (key) VALUES ($1)", row[0])
        return len(rows) == MAX_ROWS

    return check_blobs


def to_delete() -> Script[list[BlobKey]]:
    """Return some blobs that are to be deleted from the blob store."""

    async def find_deleted(transaction: Transaction) -> list[BlobKey]:
        rows = await transaction.fetch_all(
            "SELECT key FROM deleted_blobs ORDER BY key LIMIT $1", MAX_ROWS
        )
        return [BlobKey(row[0]) for row in rows]

    return find_deleted


def forget(keys: Sequence[BlobKey]) -> Script[None]:
    """Record that blobs were deleted from the blob store."""

    async def delete_rows(transaction: Transaction) -> None:
        await transaction.execute_many(
            "DELETE FROM deleted_blobs WHERE key = $1", [(key,) for key in keys]
        )

    return delete_rows
