"""Delete the rows of deleted workspaces and purged files, in steps."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence

from octavo.model.files.revision import page_end
from octavo.store.queries.blobs import delete_contents
from octavo.store.transaction import Row, Script, Transaction

MAX_ROWS = 500
MAX_BYTES = 2 * 1024 * 1024
"""Bytes of text that one step deletes at most, unless a single text is longer."""


def rows_of(table: str, key: str) -> Callable[[Transaction, int], Awaitable[bool]]:
    """Return a function that deletes some rows of a workspace, which has a number.

    ``key`` is a column of ``table``, unique in a workspace or nearly so. The function returns
    whether there were any.
    """

    async def delete_some(transaction: Transaction, workspace: int) -> bool:
        deleted = await transaction.execute(
            f"DELETE FROM {table} WHERE workspace = $1 AND {key} IN"
            f" (SELECT {key} FROM {table} WHERE workspace = $1 LIMIT $2)",
            workspace,
            MAX_ROWS,
        )
        return deleted > 0

    return delete_some


_REST = (
    ("document_updates", "file"),
    ("documents", "file"),
    ("receipts", "mutation_id"),
    ("removed_marks", "position"),
    ("index_cursors", "name"),
)
_OF_FILES = "SELECT content, size FROM purged_contents LIMIT $1"
# A text is deleted with the row of the revision that introduced it.
_OF_WORKSPACE = """
    SELECT CASE WHEN content_revision_id IS NULL THEN content END, size, {key} FROM {table}
    WHERE workspace = $1 ORDER BY {key} LIMIT $2
"""
_KEYS = (("revisions", ("position", "file")), ("files", ("pk",)))


def sweep() -> Script[bool]:
    """Delete some rows; return whether there may be more. Two calls at once do no harm."""

    async def sweep_some(transaction: Transaction) -> bool:
        for before_texts in transaction.listeners.texts_sweeping:
            if await before_texts(transaction):
                return True
        return await _sweep_files(transaction) or await _sweep_workspace(transaction)

    return sweep_some


async def _sweep_files(transaction: Transaction) -> bool:
    rows = _step(await transaction.fetch_all(_OF_FILES, MAX_ROWS))
    if not rows:
        return False
    await delete_contents(transaction, [row[0] for row in rows])
    await transaction.execute_many(
        "DELETE FROM purged_contents WHERE content = $1", [(row[0],) for row in rows]
    )
    for after_texts in transaction.listeners.texts_swept:
        await after_texts(transaction)
    return True


async def _sweep_workspace(transaction: Transaction) -> bool:
    row = await transaction.fetch_one("SELECT id, pk FROM deleted_workspaces ORDER BY id LIMIT 1")
    if row is None:
        return False
    workspace_id, workspace = row
    for before_files in transaction.listeners.workspace_sweeping:
        if await before_files(transaction, workspace):
            return True
    for table, names in _KEYS:
        sql = _OF_WORKSPACE.format(key=", ".join(names), table=table)
        rows = _step(await transaction.fetch_all(sql, workspace, MAX_ROWS))
        if rows:
            await delete_contents(transaction, [row[0] for row in rows])
            key = " AND ".join(f"{name} = ${at}" for at, name in enumerate(names, 2))
            await transaction.execute_many(
                f"DELETE FROM {table} WHERE workspace = $1 AND {key}",
                [(workspace, *row[2:]) for row in rows],
            )
            return True
    for table, key in _REST:
        if await rows_of(table, key)(transaction, workspace):
            return True
    await transaction.execute("DELETE FROM deleted_workspaces WHERE id = $1::uuid", workspace_id)
    return True


def _step(rows: Sequence[Row]) -> Sequence[Row]:
    """Return as many of the rows as one step deletes."""
    sizes = [(at, row[1]) for at, row in enumerate(rows)]
    end = page_end(sizes, MAX_ROWS, MAX_BYTES)
    return rows if end is None else rows[: end + 1]
