"""Uploaded images, which can be attached to files until they expire."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from octavo_rules.identity import AccountId, Digest, WorkspaceId

from octavo.model.files.image import ObjectId, UploadedImage
from octavo.store.blobs import BlobKey
from octavo.store.queries.blobs import BlobCollected, check_soon, mark_stored, stored_with
from octavo.store.queries.select_in import select_in
from octavo.store.transaction import Script, Transaction

MAX_ROWS = 500
"""Rows that one step of an expiry deletes."""

# An upload may take long: the caller may be no member any more.
_INSERT = """
    INSERT INTO uploads
        (id, workspace_id, account_id, blob, media_type, width, height, frames, expires_at)
    SELECT $1::uuid, $2::uuid, $3::uuid, $4, $5, $6, $7, $8, $9
    WHERE EXISTS (SELECT 1 FROM members WHERE workspace_id = $2::uuid AND account_id = $3::uuid)
"""
_FIND = """
    SELECT uploads.id, blobs.digest, blobs.size, media_type, width, height, frames, expires_at
    FROM uploads JOIN blobs ON blobs.key = uploads.blob
    WHERE workspace_id = $1::uuid AND uploads.id IN ($ids)
"""


class UploaderGone(Exception):
    """The account was removed, or is no member of the workspace any more."""


class Upload(NamedTuple):
    """An image that was uploaded by an account to a workspace; it expires at a time in ms."""

    workspace_id: WorkspaceId
    account_id: AccountId
    image: UploadedImage
    expires_at: int


def add_stored(upload: Upload) -> Script[bool]:
    """Add an upload whose bytes are stored already; return False if they are not.

    Raises `UploaderGone`.
    """

    async def add_upload(transaction: Transaction) -> bool:
        key = await stored_with(transaction, upload.image.digest)
        if key is None:
            return False
        await _insert(transaction, upload, key)
        return True

    return add_upload


def stored_digests(digests: Sequence[Digest]) -> Script[set[Digest]]:
    """Return those of the digests whose bytes are stored."""

    async def find_digests(transaction: Transaction) -> set[Digest]:
        return {each for each in digests if await stored_with(transaction, each) is not None}

    return find_digests


def add_many(given: Sequence[tuple[Upload, BlobKey | None]]) -> Script[None]:
    """Add uploads whose bytes were just stored in reserved blobs; None for bytes stored before.

    An upload that exists is replaced. Raises `BlobCollected` and `UploaderGone`; then none was
    added.
    """

    async def add_uploads(transaction: Transaction) -> None:
        for upload, key in given:
            if key is not None:
                await mark_stored(transaction, key)
            stored = key or await stored_with(transaction, upload.image.digest)
            if stored is None:
                raise BlobCollected
            await transaction.execute(
                "DELETE FROM uploads WHERE id = $1::uuid", upload.image.object_id
            )
            await _insert(transaction, upload, stored)

    return add_uploads


def add(upload: Upload, key: BlobKey) -> Script[None]:
    """Add an upload whose bytes were just stored in a reserved blob.

    Raises `BlobCollected` and `UploaderGone`.
    """

    async def add_upload(transaction: Transaction) -> None:
        await mark_stored(transaction, key)
        await _insert(transaction, upload, key)

    return add_upload


async def _insert(transaction: Transaction, upload: Upload, key: BlobKey) -> None:
    image = upload.image
    if not await transaction.execute(
        _INSERT,
        image.object_id,
        upload.workspace_id,
        upload.account_id,
        key,
        image.media_type,
        image.width,
        image.height,
        image.frames,
        upload.expires_at,
    ):
        raise UploaderGone


def find(
    workspace_id: WorkspaceId, object_ids: Sequence[ObjectId], now: int
) -> Script[dict[ObjectId, UploadedImage]]:
    """Return those of the uploads to a workspace that have not expired at ``now`` (ms)."""

    async def find_uploads(transaction: Transaction) -> dict[ObjectId, UploadedImage]:
        rows = await select_in(transaction, _FIND, workspace_id, object_ids)
        return {
            row[0]: UploadedImage(ObjectId(row[0]), Digest(row[1].hex()), *row[2:7])
            for row in rows
            if row[7] > now
        }

    return find_uploads


def expire(before: int) -> Script[bool]:
    """Delete some uploads that expired before a time (ms); return whether there may be more."""

    async def delete_uploads(transaction: Transaction) -> bool:
        rows = await transaction.fetch_all(
            "SELECT id, blob FROM uploads WHERE expires_at < $1 LIMIT $2", before, MAX_ROWS
        )
        await transaction.execute_many(
            "DELETE FROM uploads WHERE id = $1::uuid", [(row[0],) for row in rows]
        )
        await check_soon(transaction, [BlobKey(row[1]) for row in rows])
        return len(rows) == MAX_ROWS

    return delete_uploads


async def end_uploads_of_account(transaction: Transaction, account_id: AccountId) -> None:
    """Let the uploads of an account expire."""
    await transaction.execute(
        "UPDATE uploads SET expires_at = 0 WHERE account_id = $1::uuid", account_id
    )


async def end_uploads_of_workspace(transaction: Transaction, workspace_id: WorkspaceId) -> None:
    """Let the uploads to a workspace expire."""
    await transaction.execute(
        "UPDATE uploads SET expires_at = 0 WHERE workspace_id = $1::uuid", workspace_id
    )
