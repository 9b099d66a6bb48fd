"""Imports of archives: their parts, their progress, and their results."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, NamedTuple

from octavo_rules.identity import AccountId, Digest, WorkspaceId

from octavo.features.archives.rules import archive_of
from octavo.features.usage.sql import room_for_part
from octavo.model.files.changeset import derived_id
from octavo.store.blobs import BlobKey
from octavo.store.blobs.blob_store import digest_of_key
from octavo.store.queries.blobs import check_soon, mark_stored
from octavo.store.queries.revision_rows import WORKSPACE
from octavo.store.transaction import Row, Script, Transaction

Taken = Literal["taken", "account", "installation"]
"""``taken``, or what has too many jobs."""

_INSERT_JOB = """
    INSERT INTO archive_jobs (slot, account_id, job_id, renewed_until)
    VALUES ($1, $2::uuid, $3::uuid, $4) ON CONFLICT DO NOTHING
"""


def take_slot(account_id: AccountId, job_id: str, now: int, until: int, most: int) -> Script[Taken]:
    """Take a slot for a job of an account until a time, unless there are ``most`` jobs.

    Times are in ms. Slots that were not renewed are free.
    """

    async def take(transaction: Transaction) -> Taken:
        await transaction.execute("DELETE FROM archive_jobs WHERE renewed_until < $1", now)
        verdict, free = await _free_slots(transaction, account_id, now, most)
        for slot in free:
            if await transaction.execute(_INSERT_JOB, slot, account_id, job_id, until):
                return "taken"
            # Another process has taken the slot, or a slot for the account.
            mine = await transaction.fetch_one(
                "SELECT 1 FROM archive_jobs WHERE account_id = $1::uuid", account_id
            )
            if mine is not None:
                return "account"
        return "installation" if verdict == "taken" else verdict

    return take


def free_slot_for(account_id: AccountId, now: int, most: int) -> Script[Taken]:
    """Return what `take_slot` would return at ``now`` (ms); take no slot."""

    async def look(transaction: Transaction) -> Taken:
        return (await _free_slots(transaction, account_id, now, most))[0]

    return look


async def _free_slots(
    transaction: Transaction, account_id: AccountId, now: int, most: int
) -> tuple[Taken, list[int]]:
    """Return whether a job of an account may take a slot at a time (ms), and the free ones."""
    rows = await transaction.fetch_all(
        "SELECT slot, account_id FROM archive_jobs WHERE renewed_until >= $1", now
    )
    if any(row[1] == account_id for row in rows):
        return "account", []
    free = sorted(set(range(most)) - {row[0] for row in rows})
    return ("taken" if free else "installation"), free


def renew_slot(job_id: str, until: int) -> Script[bool]:
    """Keep the slot of a job until a time (ms); return False if it was lost."""

    async def renew(transaction: Transaction) -> bool:
        sql = "UPDATE archive_jobs SET renewed_until = $2 WHERE job_id = $1::uuid"
        return await transaction.execute(sql, job_id, until) > 0

    return renew


def free_slot(job_id: str) -> Script[None]:
    """Free the slot of a job."""

    async def free(transaction: Transaction) -> None:
        await transaction.execute("DELETE FROM archive_jobs WHERE job_id = $1::uuid", job_id)

    return free


async def free_all_slots(transaction: Transaction) -> None:
    """Free the slots of jobs that no process runs any more."""
    await transaction.execute("DELETE FROM archive_jobs")


MAX_ROWS = 100
"""Imports that one step of an expiry deletes."""

_INSERT = """
    INSERT INTO imports
        (id, workspace_id, account_id, bytes_read, total, files, result, expires_at)
    SELECT $1::uuid, $2::uuid, $3::uuid, 0, 0, 0, NULL, $4
    WHERE (SELECT COUNT(*) FROM imports WHERE account_id = $3::uuid AND result IS NULL) < $5
"""
_RUNNING = """
    EXISTS (SELECT 1 FROM archive_jobs WHERE job_id = imports.id AND renewed_until >= {now})
"""
_FIND = f"""
    SELECT id, workspace_id, account_id, bytes_read, total, files, result, failure, expires_at,
        CASE WHEN {_RUNNING.format(now="$4")} THEN 1 ELSE 0 END
    FROM imports WHERE id = $1::uuid AND workspace_id = $2::uuid AND account_id = $3::uuid
"""
_OPEN = f"id = $1::uuid AND result IS NULL AND NOT {_RUNNING.format(now='$3')}"
_RENEW = f"UPDATE imports SET expires_at = $2, failure = NULL WHERE {_OPEN}"
# The recorded progress is that of other bytes.
_RENEW_FOR_PART = f"""
    UPDATE imports SET expires_at = $2, failure = NULL, bytes_read = 0, total = 0 WHERE {_OPEN}
"""
_WORKSPACE_OF = "SELECT workspace_id, files FROM imports WHERE id = $1::uuid"
_RECEIPT = f"SELECT 1 FROM receipts WHERE workspace = {WORKSPACE} AND mutation_id = $2::uuid"
_PART = """
    SELECT key, digest FROM import_parts JOIN blobs ON key = blob
    WHERE import_id = $1::uuid AND number = $2
"""
_PARTS = """
    SELECT number, key, size FROM import_parts JOIN blobs ON key = blob
    WHERE import_id = $1::uuid ORDER BY number
"""
_PUT_PART = """
    INSERT INTO import_parts (import_id, number, blob) VALUES ($1::uuid, $2, $3)
    ON CONFLICT (import_id, number) DO UPDATE SET blob = excluded.blob
"""

PutPart = Literal["added", "replaced", "not_open", "begun", "full"]
"""The outcome of a part. It is refused if the import runs, is done or gone, or has begun to commit,
and if the part is larger than the storage that an owner has left."""


class ImportPart(NamedTuple):
    """A part of an archive, with its size in bytes."""

    number: int
    key: BlobKey
    size: int


class StoredImport(NamedTuple):
    """An import.

    Attributes:
        bytes_read: those of its files that were imported.
        total: the bytes of all its files; 0 until they are known.
        files: the number of files that were committed.
        result: the result as JSON; None until it is done.
        failure: why it was refused at the last time, as JSON; None otherwise.
        expires_at: in ms.
        running: its job runs.
        parts: the parts that were uploaded, by their numbers.
    """

    import_id: str
    workspace_id: WorkspaceId
    account_id: AccountId
    bytes_read: int
    total: int
    files: int
    result: str | None
    failure: str | None
    expires_at: int
    running: bool
    parts: tuple[ImportPart, ...]


def start_import(
    import_id: str, workspace_id: WorkspaceId, account_id: AccountId, expires_at: int, most: int
) -> Script[bool]:
    """Start an import; return False if the account has ``most`` that are not done."""

    async def insert_import(transaction: Transaction) -> bool:
        arguments = (import_id, workspace_id, account_id, expires_at, most)
        return await transaction.execute(_INSERT, *arguments) > 0

    return insert_import


def open_imports(account_id: AccountId) -> Script[list[tuple[str, str]]]:
    """Return the open imports of an account: the id of each, and that of its workspace."""

    async def read_ids(transaction: Transaction) -> list[tuple[str, str]]:
        rows = await transaction.fetch_all(
            "SELECT id, workspace_id FROM imports"
            " WHERE account_id = $1::uuid AND result IS NULL ORDER BY id",
            account_id,
        )
        return [(row[0], row[1]) for row in rows]

    return read_ids


def find_import(
    import_id: str, workspace_id: WorkspaceId, account_id: AccountId, now: int
) -> Script[StoredImport | None]:
    """Return an import that an account started in a workspace, at ``now`` (ms); None without it."""

    async def read_import(transaction: Transaction) -> StoredImport | None:
        row = await transaction.fetch_one(_FIND, import_id, workspace_id, account_id, now)
        if row is None:
            return None
        parts = await transaction.fetch_all(_PARTS, import_id)
        stored_parts = tuple(ImportPart(*part) for part in parts)
        return StoredImport._make((*row[:9], bool(row[9]), stored_parts))

    return read_import


def repeat_part(
    import_id: str, number: int, digest: Digest, now: int, expires_at: int
) -> Script[bool]:
    """Renew an open import whose part already has the bytes of ``digest``.

    Returns False if it has not, or if the import is gone, runs or is done. Times are in ms.
    """

    async def renew(transaction: Transaction) -> bool:
        part = await transaction.fetch_one(_PART, import_id, number)
        same = part is not None and part[1] == bytes.fromhex(digest)
        return same and await transaction.execute(_RENEW, import_id, expires_at, now) > 0

    return renew


def put_part(import_id: str, part: ImportPart, now: int, expires_at: int) -> Script[PutPart]:
    """Add a part that was just stored in a reserved blob, or replace one.

    If it is refused, nothing refers to the blob, which is checked soon. Times are in ms. Raises
    `octavo.store.queries.blobs.BlobCollected`.
    """

    async def add_part(transaction: Transaction) -> PutPart:
        refusal = await _refusal_of_part(transaction, import_id, part)
        if refusal is None:
            if await transaction.execute(_RENEW_FOR_PART, import_id, expires_at, now):
                return await _put_part(transaction, import_id, part)
            refusal = "not_open"
        await check_soon(transaction, [part.key])
        return refusal

    return add_part


def is_open(import_id: str, now: int) -> Script[bool]:
    """Return whether an import exists and has not expired at ``now`` (ms)."""

    async def look(transaction: Transaction) -> bool:
        sql = "SELECT 1 FROM imports WHERE id = $1::uuid AND expires_at > $2"
        return await transaction.fetch_one(sql, import_id, now) is not None

    return look


async def _refusal_of_part(
    transaction: Transaction, import_id: str, part: ImportPart
) -> PutPart | None:
    """Return why a part can't be added, whether or not the import is open; None if it can."""
    row = await transaction.fetch_one(_WORKSPACE_OF, import_id)
    if row is None:
        return "not_open"
    workspace_id, files = WorkspaceId(row[0]), row[1]
    # The first changeset may not be counted yet.
    stored = await transaction.fetch_all(_PARTS, import_id)
    archive = archive_of(digest_of_key(BlobKey(part[1])) for part in stored)
    first = derived_id(import_id, archive, "changeset", 1)
    if files or await transaction.fetch_one(_RECEIPT, workspace_id, first) is not None:
        return "begun"
    room = await room_for_part(workspace_id, import_id, part.number)(transaction)
    return "full" if room is not None and part.size > max(0, room) else None


async def _put_part(transaction: Transaction, import_id: str, part: ImportPart) -> PutPart:
    await mark_stored(transaction, part.key)
    old = await transaction.fetch_one(_PART, import_id, part.number)
    await transaction.execute(_PUT_PART, import_id, part.number, part.key)
    if old is None:
        return "added"
    await check_soon(transaction, [BlobKey(old[0])])
    return "replaced"


def record_progress(import_id: str, bytes_read: int, total: int, files: int) -> Script[bool]:
    """Record how far a running import is; return False if it was aborted."""

    async def update_progress(transaction: Transaction) -> bool:
        sql = "UPDATE imports SET bytes_read = $2, total = $3, files = $4 WHERE id = $1::uuid"
        return await transaction.execute(sql, import_id, bytes_read, total, files) > 0

    return update_progress


def record_failure(import_id: str, failure: str | None) -> Script[None]:
    """Record why an import was refused, as JSON; None when it is tried again."""

    async def update_failure(transaction: Transaction) -> None:
        sql = "UPDATE imports SET failure = $2 WHERE id = $1::uuid"
        await transaction.execute(sql, import_id, failure)

    return update_failure


def finish_import(import_id: str, result: str, expires_at: int) -> Script[None]:
    """Record the result of an import, and remove its parts."""

    async def store_result(transaction: Transaction) -> None:
        await transaction.execute(
            "UPDATE imports SET bytes_read = total, result = $2, expires_at = $3"
            " WHERE id = $1::uuid",
            import_id,
            result,
            expires_at,
        )
        await _remove_parts(transaction, [import_id])

    return store_result


def abort_import(import_id: str, workspace_id: WorkspaceId, account_id: AccountId) -> Script[bool]:
    """Remove an import that an account started in a workspace, with its parts.

    Returns False if it does not exist.
    """

    async def remove_import(transaction: Transaction) -> bool:
        row = await transaction.fetch_one(_FIND, import_id, workspace_id, account_id, 0)
        if row is None:
            return False
        await _remove(transaction, [import_id])
        return True

    return remove_import


def expire_imports(before: int) -> Script[bool]:
    """Remove some imports that expired before a time (ms); return whether there may be more."""

    async def remove_imports(transaction: Transaction) -> bool:
        rows: Sequence[Row] = await transaction.fetch_all(
            "SELECT id FROM imports WHERE expires_at < $1 LIMIT $2", before, MAX_ROWS
        )
        await _remove(transaction, [row[0] for row in rows])
        return len(rows) == MAX_ROWS

    return remove_imports


async def end_imports_of_account(transaction: Transaction, account_id: AccountId) -> None:
    """Let the imports of an account expire."""
    await transaction.execute(
        "UPDATE imports SET expires_at = 0 WHERE account_id = $1::uuid", account_id
    )


async def end_imports_of_workspace(transaction: Transaction, workspace_id: WorkspaceId) -> None:
    """Let the imports into a workspace expire."""
    await transaction.execute(
        "UPDATE imports SET expires_at = 0 WHERE workspace_id = $1::uuid", workspace_id
    )


async def _remove(transaction: Transaction, import_ids: Sequence[str]) -> None:
    await _remove_parts(transaction, import_ids)
    await transaction.execute_many(
        "DELETE FROM imports WHERE id = $1::uuid", [(import_id,) for import_id in import_ids]
    )


async def _remove_parts(transaction: Transaction, import_ids: Sequence[str]) -> None:
    for import_id in import_ids:
        rows = await transaction.fetch_all(
            "SELECT blob FROM import_parts WHERE import_id = $1::uuid", import_id
        )
        await transaction.execute("DELETE FROM import_parts WHERE import_id = $1::uuid", import_id)
        await check_soon(transaction, [BlobKey(row[0]) for row in rows])
