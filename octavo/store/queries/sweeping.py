"""Delete what deleted workspaces and purged files have left, in steps."""

from __future__ import annotations

from collections.abc import Sequence

from octavo_rules.identity import WorkspaceId

from octavo.features.search.sql.fulltext_index import (
    remove_some_words,
    request_erasure,
    unindex_some,
    words_are_left,
)
from octavo.model.files.feed import page_end
from octavo.store.queries.contents import delete_contents
from octavo.store.transaction import Row, Script, Transaction

MAX_ROWS = 500
MAX_BYTES = 2 * 1024 * 1024
"""Of text that is deleted in one step, except for a single longer one."""

_REST = (
    ("document_updates", "file"),
    ("documents", "file"),
    ("receipts", "mutation_id"),
    ("restorations", "id"),
    ("folder_purges", "file"),
    ("removed_marks", "position"),
)
_OF_FILES = "SELECT content, size FROM purged_contents LIMIT $1"
# Of a text, the row counts that belongs to the revision which brought it.
_OF_WORKSPACE = """
    SELECT CASE WHEN content_id IS NULL THEN content END, size, {key} FROM {table}
    WHERE workspace = $1 ORDER BY {key} LIMIT $2
"""
_KEYS = (("revisions", ("position", "file")), ("files", ("number",)))


def sweep() -> Script[bool]:
    """Delete some rows; return whether there may be more. Two calls at once do no harm."""

    async def sweep_some(transaction: Transaction) -> bool:
        # The index may need the texts to remove words.
        if await words_are_left(transaction):
            await remove_some_words()(transaction)
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
    await request_erasure(transaction)
    return True


async def _sweep_workspace(transaction: Transaction) -> bool:
    found = await transaction.fetch_one(
        "SELECT id, number FROM deleted_workspaces ORDER BY id LIMIT 1"
    )
    if found is None:
        return False
    workspace = found[1]
    if await unindex_some(transaction, WorkspaceId(found[0])):
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
    for table, name in _REST:
        deleted = await transaction.execute(
            f"DELETE FROM {table} WHERE workspace = $1 AND {name} IN"
            f" (SELECT {name} FROM {table} WHERE workspace = $1 LIMIT $2)",
            workspace,
            MAX_ROWS,
        )
        if deleted:
            return True
    await transaction.execute("DELETE FROM deleted_workspaces WHERE id = $1::uuid", found[0])
    return True


def _step(rows: Sequence[Row]) -> Sequence[Row]:
    """Return as many of the rows as one step deletes."""
    sizes = [(at, row[1]) for at, row in enumerate(rows)]
    end = page_end(sizes, MAX_ROWS, MAX_BYTES)
    return rows if end is None else rows[: end + 1]
