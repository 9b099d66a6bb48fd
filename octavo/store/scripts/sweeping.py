"""Delete what deleted workspaces and purged files have left, in steps."""

from __future__ import annotations

from collections.abc import Sequence

from octavo.model.files.feed import page_end
from octavo.model.identity import WorkspaceId
from octavo.store.scripts.fulltext_index import request_erasure
from octavo.store.scripts.indexing import unindex_some
from octavo.store.scripts.revision_rows import from_both
from octavo.store.transaction import Row, Script, Transaction

MOST_ROWS = 500
MOST_BYTES = 2 * 1024 * 1024
"""Of text that is deleted in one step, except for a single longer one."""

_REST = (("documents", "file_id"), ("receipts", "mutation_id"))
_OF_FILES = "SELECT workspace_id, content_id, size FROM purged_contents LIMIT $1"
_OF_WORKSPACE = (
    from_both("SELECT workspace_id, revision_id, size FROM {table} WHERE workspace_id = $1::uuid")
    + " ORDER BY revision_id LIMIT $2"
)


def sweep() -> Script[bool]:
    """Delete some rows; return whether there may be more. Two calls at once do no harm."""

    async def sweep_some(transaction: Transaction) -> bool:
        return await _sweep_files(transaction) or await _sweep_workspace(transaction)

    return sweep_some


async def _sweep_files(transaction: Transaction) -> bool:
    rows = _step(await transaction.fetch_all(_OF_FILES, MOST_ROWS))
    if not rows:
        return False
    await _delete(transaction, "contents", "content_id", rows)
    await _delete(transaction, "purged_contents", "content_id", rows)
    await request_erasure(transaction)
    return True


async def _sweep_workspace(transaction: Transaction) -> bool:
    found = await transaction.fetch_one("SELECT id FROM deleted_workspaces ORDER BY id LIMIT 1")
    if found is None:
        return False
    # The index may need the texts to remove notes.
    if await unindex_some(transaction, WorkspaceId(found[0])):
        return True
    rows = _step(await transaction.fetch_all(_OF_WORKSPACE, found[0], MOST_ROWS))
    if rows:
        # A content has the id of the revision that brought it.
        await _delete(transaction, "contents", "content_id", rows)
        await _delete(transaction, "revisions", "revision_id", rows)
        await _delete(transaction, "files", "revision_id", rows)
        return True
    for table, name in _REST:
        deleted = await transaction.execute(
            f"DELETE FROM {table} WHERE workspace_id = $1::uuid AND {name} IN"
            f" (SELECT {name} FROM {table} WHERE workspace_id = $1::uuid LIMIT $2)",
            found[0],
            MOST_ROWS,
        )
        if deleted:
            return True
    await transaction.execute("DELETE FROM deleted_workspaces WHERE id = $1::uuid", found[0])
    return True


def _step(rows: Sequence[Row]) -> Sequence[Row]:
    """Return as many of the rows as one step deletes."""
    sizes = [(at, row[2]) for at, row in enumerate(rows)]
    end = page_end(sizes, MOST_ROWS, MOST_BYTES)
    return rows if end is None else rows[: end + 1]


async def _delete(transaction: Transaction, table: str, name: str, rows: Sequence[Row]) -> None:
    await transaction.execute_many(
        f"DELETE FROM {table} WHERE workspace_id = $1::uuid AND {name} = $2::uuid",
        [(row[0], row[1]) for row in rows],
    )
