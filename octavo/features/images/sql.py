"""Read where the content of a revision is stored, and keep what is made of images."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

from octavo_rules.identity import AccountId, Digest, FileId, RevisionId, WorkspaceId

from octavo.model.files.image import ObjectId, UploadedImage
from octavo.model.files.revision import Revision
from octavo.store.blobs import BlobKey
from octavo.store.queries import revision_rows
from octavo.store.queries.blobs import BlobCollected, check_soon, mark_stored, stored_with
from octavo.store.queries.revision_rows import COUNT, WORKSPACE, revision_of, select_in
from octavo.store.transaction import Script, Transaction

MAX_ROWS = 500
"""Rows that one step of an expiry deletes."""

# An upload may take long: its account may have left the workspace meanwhile.
_INSERT_UPLOAD = """
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
        return {digest for digest in digests if await stored_with(transaction, digest) is not None}

    return find_digests


def add_many(uploads: Sequence[tuple[Upload, BlobKey | None]]) -> Script[None]:
    """Add uploads whose bytes were just stored in reserved blobs; None for bytes stored before.

    An upload that exists is replaced. Raises `BlobCollected` and `UploaderGone`; then none was
    added.
    """

    async def add_uploads(transaction: Transaction) -> None:
        for upload, key in uploads:
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
        _INSERT_UPLOAD,
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


_COLUMNS = """
    SELECT {columns}, images.blob FROM {source}
    LEFT JOIN images ON images.pk = {table}.content
"""
_OF_FILE = f"files.workspace = {WORKSPACE} AND files.file_id = $2::uuid"
_HEAD = f"""
    {_COLUMNS.format(columns=revision_rows.columns_of("files"), source="files", table="files")}
    WHERE {_OF_FILE}
"""
_REVISION = revision_rows.from_both(
    f"""{_COLUMNS} WHERE {{table}}.workspace = {WORKSPACE}
    AND {{table}}.revision_id = $3::uuid AND files.file_id = $2::uuid"""
)
_BLOBS = revision_rows.from_both(
    f"""SELECT {{table}}.revision_id, blobs.key, blobs.size, blobs.crc FROM {{source}}
    JOIN images ON images.pk = {{table}}.content JOIN blobs ON blobs.key = images.blob
    WHERE {{table}}.workspace = {WORKSPACE} AND {{table}}.revision_id IN ($ids)"""
)
# The image may be collected meanwhile, or another process may have made the thumbnail.
_INSERT = """
    INSERT INTO thumbnails (image, width, blob)
    SELECT $1, $2, $3 WHERE EXISTS (SELECT 1 FROM blobs WHERE key = $1)
    ON CONFLICT DO NOTHING
"""

CLEANED = 0
"""In place of a width: the copy without personal metadata, which may be the image itself."""


@dataclass(frozen=True, slots=True)
class StoredContent:
    """A revision, and the blob of an image; None for a note, and for a purged file."""

    revision: Revision
    blob: BlobKey | None


class StoredImage(NamedTuple):
    """The blob of an image, its size in bytes, and its CRC-32."""

    key: BlobKey
    size: int
    crc: int


def content_of(
    workspace_id: WorkspaceId, file_id: FileId, revision_id: RevisionId | None = None
) -> Script[StoredContent | None]:
    """Return a revision of a file, with where its image is; None without it.

    Without ``revision_id`` it is the head.
    """

    async def read_content(transaction: Transaction) -> StoredContent | None:
        if revision_id is None:
            row = await transaction.fetch_one(_HEAD, workspace_id, file_id)
        else:
            row = await transaction.fetch_one(_REVISION, workspace_id, file_id, revision_id)
        if row is None:
            return None
        blob = row[COUNT]
        return StoredContent(
            revision_of(row[:COUNT]),
            None if blob is None else BlobKey(blob),
        )

    return read_content


def thumbnail_of(image: BlobKey, width: int) -> Script[tuple[BlobKey, int] | None]:
    """Return the thumbnail of an image, with its size in bytes; None if it was not made yet.

    ``width`` is in pixels, or `CLEANED`.
    """

    async def read_thumbnail(transaction: Transaction) -> tuple[BlobKey, int] | None:
        row = await transaction.fetch_one(
            "SELECT key, size FROM thumbnails JOIN blobs ON key = blob"
            " WHERE image = $1 AND width = $2",
            image,
            width,
        )
        return None if row is None else (BlobKey(row[0]), row[1])

    return read_thumbnail


def add_thumbnail(image: BlobKey, width: int, key: BlobKey) -> Script[tuple[BlobKey, int] | None]:
    """Record a thumbnail that was stored in a reserved blob, or is the image itself; return it.

    If the image has one already, return that one; if it is gone, None. Nothing refers to the blob
    then. Raises `BlobCollected`.
    """

    async def insert_thumbnail(transaction: Transaction) -> tuple[BlobKey, int] | None:
        if key != image:
            await mark_stored(transaction, key)
        await transaction.execute(_INSERT, image, width, key)
        return await thumbnail_of(image, width)(transaction)

    return insert_thumbnail


def forget_thumbnail(image: BlobKey, width: int, key: BlobKey) -> Script[None]:
    """Forget a thumbnail whose blob ``key`` is damaged or missing; it is made again when needed.

    A newer thumbnail stays. The blob is collected if nothing else refers to it.
    """

    async def delete_thumbnail(transaction: Transaction) -> None:
        await transaction.execute(
            "DELETE FROM thumbnails WHERE image = $1 AND width = $2 AND blob = $3",
            image,
            width,
            key,
        )
        await check_soon(transaction, [key])

    return delete_thumbnail


def blobs_of(
    workspace_id: WorkspaceId, revision_ids: Sequence[RevisionId]
) -> Script[dict[RevisionId, StoredImage]]:
    """Return where the images of revisions are stored; revisions without one are left out."""

    async def read_blobs(transaction: Transaction) -> dict[RevisionId, StoredImage]:
        rows = await select_in(transaction, _BLOBS, workspace_id, revision_ids)
        return {RevisionId(row[0]): StoredImage(BlobKey(row[1]), row[2], row[3]) for row in rows}

    return read_blobs
