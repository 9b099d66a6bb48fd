"""Read files: their heads, their revisions, their texts."""

from collections.abc import Sequence
from dataclasses import dataclass

from octavo.model.identity import FileId, Position, RevisionId, WorkspaceId
from octavo.model.refusal import TooManyFiles
from octavo.model.revision import Revision
from octavo.store.scripts.rows import COUNT, columns_of, revision_of
from octavo.store.transaction import Row, Script, Transaction


@dataclass(frozen=True, slots=True)
class StoredFile:
    """A revision with its text; None for what has none, as an image or a purged file."""

    revision: Revision
    text: str | None


def _select(table: str) -> str:
    return f"""
        SELECT {columns_of(table)}, contents.text FROM {table} LEFT JOIN contents
        ON contents.workspace_id = {table}.workspace_id
        AND contents.content_id = {table}.content_id
    """


_HEAD = f"{_select('files')} WHERE files.workspace_id = $1 AND files.file_id = $2"
_REVISION = f"{_select('revisions')} WHERE revisions.workspace_id = $1"


def file(workspace_id: WorkspaceId, file_id: FileId) -> Script[StoredFile | None]:
    """Answer the head of a file, whatever its state; None when there is no such file."""

    async def script(transaction: Transaction) -> StoredFile | None:
        row = await transaction.fetch_one(_HEAD, workspace_id, file_id)
        return None if row is None else _stored(row)

    return script


def files(
    workspace_id: WorkspaceId,
    file_ids: Sequence[FileId],
    revision_ids: Sequence[RevisionId],
    most_bytes: int,
) -> Script[tuple[list[StoredFile], list[StoredFile]]]:
    """Answer those of the heads, and those of the revisions, that there are, in the order asked.

    Raises `TooManyFiles` when their texts have more than ``most_bytes``.
    """

    async def script(transaction: Transaction) -> tuple[list[StoredFile], list[StoredFile]]:
        total = 0

        async def found(sql: str, names: Sequence[str]) -> list[StoredFile]:
            nonlocal total
            stored: list[StoredFile] = []
            for name in names:
                row = await transaction.fetch_one(sql, workspace_id, name)
                if row is not None:
                    stored.append(_stored(row))
                    total += stored[-1].revision.size
                    if total > most_bytes:
                        raise TooManyFiles(
                            f"These files have more than {most_bytes >> 20} MiB of text: ask for "
                            "fewer at once."
                        )
            return stored

        heads = await found(_HEAD, file_ids)
        return heads, await found(f"{_REVISION} AND revisions.revision_id = $2", revision_ids)

    return script


def list_of(
    workspace_id: WorkspaceId, state: str, prefix: str, after: tuple[str, str], limit: int
) -> Script[list[Revision]]:
    """Answer heads in the state whose path begins with ``prefix``, in the order of paths.

    ``after`` is path and id of the last one had; deleted files may have one path.
    """

    async def script(transaction: Transaction) -> list[Revision]:
        rows = await transaction.fetch_all(
            f"""
            SELECT {columns_of("files")} FROM files
            WHERE workspace_id = $1 AND state = $2 AND path >= $3 AND path < $4
            AND (path, file_id) > ($5, $6) ORDER BY path, file_id LIMIT $7
            """,
            workspace_id,
            state,
            prefix,
            # Greater than every path with the prefix: no path holds this character.
            prefix + "\U0010ffff",
            *after,
            limit,
        )
        return [revision_of(row) for row in rows]

    return script


def revisions_of(
    workspace_id: WorkspaceId, file_id: FileId, before: Position, limit: int
) -> Script[list[Revision]]:
    """Answer revisions of a file with positions below ``before``, the newest first."""

    async def script(transaction: Transaction) -> list[Revision]:
        rows = await transaction.fetch_all(
            f"""
            SELECT {columns_of("revisions")} FROM revisions
            WHERE workspace_id = $1 AND file_id = $2 AND position < $3
            ORDER BY position DESC LIMIT $4
            """,
            workspace_id,
            file_id,
            before,
            limit,
        )
        return [revision_of(row) for row in rows]

    return script


def revision(
    workspace_id: WorkspaceId, file_id: FileId, revision_id: RevisionId
) -> Script[StoredFile | None]:
    """Answer one revision of a file with its text; None when the file has no such."""

    async def script(transaction: Transaction) -> StoredFile | None:
        row = await transaction.fetch_one(
            f"{_REVISION} AND revisions.revision_id = $2 AND revisions.file_id = $3",
            workspace_id,
            revision_id,
            file_id,
        )
        return None if row is None else _stored(row)

    return script


def _stored(row: Row) -> StoredFile:
    return StoredFile(revision_of(row), row[COUNT])
