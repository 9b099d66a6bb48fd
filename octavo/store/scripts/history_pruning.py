"""Prune the history of files, one file at a time and in steps."""

from __future__ import annotations

from typing import NamedTuple

from octavo.model.files.feed import page_end
from octavo.model.files.retention import Aged, Retention, prunable
from octavo.model.identity import FileId, Position, RevisionId, WorkspaceId
from octavo.store.scripts.revision_rows import from_both
from octavo.store.transaction import Script, Transaction

MOST_ROWS = 500
MOST_BYTES = 2 * 1024 * 1024
"""Of text that is deleted in one step, except for a single longer one."""
_FILES = 200
_LOOKED_AT = 2000


class FileKey(NamedTuple):
    """A file, in the order in which files are pruned."""

    workspace_id: WorkspaceId
    file_id: FileId


FIRST = FileKey(WorkspaceId(""), FileId(""))


class FilesToPrune(NamedTuple):
    """Files that may have too many revisions, and where to continue; None after the last."""

    files: list[FileKey]
    following: FileKey | None


_SOME_FILES = """
    SELECT workspace_id, file_id FROM files WHERE (workspace_id, file_id) > ($1::uuid, $2::uuid)
    ORDER BY workspace_id, file_id LIMIT $3
"""
# The heads are not counted.
_CROWDED = """
    SELECT workspace_id, file_id FROM revisions
    WHERE (workspace_id, file_id) > ($1::uuid, $2::uuid)
    AND (workspace_id, file_id) <= ($3::uuid, $4::uuid)
    GROUP BY workspace_id, file_id HAVING COUNT(*) >= $5 AND MIN(changed_at) <= $6
    ORDER BY workspace_id, file_id
"""
_WINDOW = (
    from_both(
        """
        SELECT position, revision_id, content_id, changed_at, size,
            EXISTS (SELECT 1 FROM receipts WHERE receipts.workspace_id = {table}.workspace_id
                AND receipts.mutation_id = {table}.mutation_id)
        FROM {table} WHERE workspace_id = $1::uuid AND file_id = $2::uuid AND position > $3
        """
    )
    + " ORDER BY position LIMIT $4"
)
_NEWER = from_both(
    "SELECT COUNT(*) FROM {table}"
    " WHERE workspace_id = $1::uuid AND file_id = $2::uuid AND position > $3"
)
# The contents that later revisions have from earlier ones, and the one whose words are indexed:
# they are computed from it again to remove them, and without it they would stay in the index for
# good.
_NEEDED = f"""
    {
    from_both(
        "SELECT content_id FROM {table} WHERE workspace_id = $1::uuid AND file_id = $2::uuid"
        " AND position > $3 AND content_id <> revision_id"
    )
}
    UNION ALL
    SELECT content_id FROM fulltext_notes WHERE workspace_id = $1::uuid AND file_id = $2::uuid
"""


def files_to_prune(after: FileKey, retention: Retention, now: int) -> Script[FilesToPrune]:
    """Return files after ``after`` that may have revisions to prune."""

    async def find_files(transaction: Transaction) -> FilesToPrune:
        some = await transaction.fetch_all(_SOME_FILES, *after, _FILES)
        if not some:
            return FilesToPrune([], None)
        rows = await transaction.fetch_all(
            _CROWDED, *after, *some[-1], max(retention.least, 1), now - retention.all_of
        )
        last = FileKey(*some[-1])
        files = [FileKey(*row) for row in rows]
        return FilesToPrune(files, last if len(some) == _FILES else None)

    return find_files


def prune_file(
    file: FileKey, after: Position, retention: Retention, now: int
) -> Script[Position | None]:
    """Delete revisions of a file after a position that need not be kept.

    Returns the position to continue after, None after the last one. A revision that a receipt
    refers to stays until the receipt expires; a content whose words are indexed stays until those
    of a later one are.
    """

    async def prune_some(transaction: Transaction) -> Position | None:
        rows = await transaction.fetch_all(_WINDOW, *file, after, _LOOKED_AT)
        if len(rows) < 2:  # the last one stays
            return None
        last = rows[-1][0]
        newer = sum(row[0] for row in await transaction.fetch_all(_NEWER, *file, last))
        needed = {row[0] for row in await transaction.fetch_all(_NEEDED, *file, last)}
        aged = [Aged(row[1], row[2], row[3], held=bool(row[5]) or row[1] in needed) for row in rows]
        spare = prunable(aged, newer, now, retention)
        sizes = {row[1]: row[4] for row in rows}
        weighed = [(index, sizes[each]) for index, each in enumerate(spare)]
        end = page_end(weighed, MOST_ROWS, MOST_BYTES)
        await _delete(transaction, file.workspace_id, spare if end is None else spare[: end + 1])
        if end is not None:
            return after
        # The last one is judged together with those that follow it.
        return Position(rows[-2][0]) if newer else None

    return prune_some


async def _delete(
    transaction: Transaction, workspace_id: WorkspaceId, names: list[RevisionId]
) -> None:
    rows = [(workspace_id, name) for name in names]
    await transaction.execute_many(
        "DELETE FROM revisions WHERE workspace_id = $1::uuid AND revision_id = $2::uuid", rows
    )
    # A content has the id of the revision that brought it, which stays as long as another needs it.
    await transaction.execute_many(
        "DELETE FROM contents WHERE workspace_id = $1::uuid AND content_id = $2::uuid", rows
    )
