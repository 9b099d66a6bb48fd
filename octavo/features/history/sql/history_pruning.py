"""Prune the history of files, one file at a time and in steps."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from octavo_rules.documents.document import MergeUpdates
from octavo_rules.identity import Position

from octavo.features.history.rules.retention import Aged, Retention, prunable
from octavo.model.files.revision import page_end
from octavo.store.queries.blobs import delete_contents
from octavo.store.queries.documents import delete_document_of, merge_updates
from octavo.store.queries.marks import remember_marks
from octavo.store.queries.revision_rows import from_both
from octavo.store.transaction import Row, Script, Transaction

MAX_ROWS = 500
MAX_BYTES = 2 * 1024 * 1024
"""Bytes of text that are deleted in one step, except for a single longer text."""
_FILES = 200
_LOOKED_AT = 2000


class FileKey(NamedTuple):
    """The numbers of a workspace and of a file there, in the order in which files are pruned."""

    workspace: int
    file: int


FIRST = FileKey(0, 0)


class FilesToPrune(NamedTuple):
    """Files that may have too many revisions, and where to continue; None after the last."""

    files: list[FileKey]
    following: FileKey | None


_SOME_FILES = """
    SELECT workspace, pk FROM files WHERE (workspace, pk) > ($1, $2)
    ORDER BY workspace, pk LIMIT $3
"""
# The heads are not counted.
_CROWDED = """
    SELECT workspace, file FROM revisions
    WHERE (workspace, file) > ($1, $2) AND (workspace, file) <= ($3, $4)
    GROUP BY workspace, file HAVING COUNT(*) >= $5 AND MIN(changed_at) <= $6
    ORDER BY workspace, file
"""
_WINDOW = (
    from_both(
        """
        SELECT {table}.position, {table}.revision_id,
            COALESCE({table}.content_revision_id, {table}.revision_id) AS content_revision_id,
            {table}.changed_at, {table}.size, {table}.content,
            EXISTS (SELECT 1 FROM receipts WHERE receipts.workspace = {table}.workspace
                AND receipts.mutation_id = {table}.mutation_id)
        FROM {source}
        WHERE files.workspace = $1 AND files.pk = $2 AND {table}.position > $3
        """
    )
    + " ORDER BY position LIMIT $4"
)
_NEWER = from_both(
    "SELECT COUNT(*) FROM {source}"
    " WHERE files.workspace = $1 AND files.pk = $2 AND {table}.position > $3"
)
# The contents that later revisions share with earlier ones, and those whose words are indexed: to
# remove the words, they are computed from the content again.
_NEEDED = f"""
    {
    from_both(
        "SELECT {table}.content FROM {source} WHERE files.workspace = $1 AND files.pk = $2"
        " AND {table}.position > $3 AND {table}.content_revision_id IS NOT NULL"
    )
}
    UNION ALL
    SELECT content FROM fulltext_notes WHERE workspace = $1 AND file = $2
    UNION ALL
    SELECT content FROM fulltext_beginnings WHERE workspace = $1 AND file = $2
    UNION ALL
    SELECT content FROM fulltext_removals WHERE workspace = $1
"""
_DELETE = "DELETE FROM revisions WHERE workspace = $1 AND position = $2 AND file = $3"


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
    file: FileKey, after: Position, retention: Retention, now: int, merge: MergeUpdates
) -> Script[Position | None]:
    """Delete revisions of a file after a position that need not be kept.

    Their texts are also removed from the document of the file, and from what is stored beside it:
    ``merge`` merges updates that may contain some. Their marks are remembered.

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
        aged = [
            Aged(
                row[1], row[2], row[3], held=bool(row[6]) or (row[1] == row[2] and row[5] in needed)
            )
            for row in rows
        ]
        spare = prunable(aged, newer, now, retention)
        row_of = {row[1]: row for row in rows}
        weighed = [(index, row_of[revision_id][4]) for index, revision_id in enumerate(spare)]
        end = page_end(weighed, MAX_ROWS, MAX_BYTES)
        taken = spare if end is None else spare[: end + 1]
        await _delete(transaction, file, [row_of[revision_id] for revision_id in taken], merge, now)
        if end is not None:
            return after
        # The last one is judged together with those that follow it.
        return Position(rows[-2][0]) if newer else None

    return prune_some


async def _delete(
    transaction: Transaction, file: FileKey, rows: Sequence[Row], merge: MergeUpdates, now: int
) -> None:
    """Delete revisions that `_WINDOW` has selected."""
    removed = [(file.workspace, row[0], row[1]) for row in rows]
    await remember_marks(transaction, removed, now)
    await transaction.execute_many(
        _DELETE,
        [(file.workspace, row[0], file.file) for row in rows],
    )
    # The first revision with a content is kept as long as others need it: delete both together.
    brought = [row for row in rows if row[1] == row[2]]
    await delete_contents(transaction, [row[5] for row in brought])
    # A document that is behind the newest text may still contain these texts.
    if brought:
        await delete_document_of(transaction, *file, {row[1] for row in brought})
        # A text can be in the document, and its deletion in an update beside it.
        await merge_updates(transaction, *file, merge)
