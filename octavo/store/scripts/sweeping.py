"""Remove what deleted workspaces and purged files held, some of it at a time."""

from __future__ import annotations

from collections.abc import Sequence

from octavo.model.files.feed import page_end
from octavo.model.identity import WorkspaceId
from octavo.store.scripts.indexing import forget_some
from octavo.store.scripts.wording import erase_later
from octavo.store.transaction import Row, Script, Transaction

MOST_ROWS = 500
MOST_BYTES = 2 * 1024 * 1024
"""Of text that is removed in one step, but for a single longer one."""

_REST = (("documents", "file_id"), ("files", "file_id"), ("receipts", "mutation_id"))
_OF_FILES = "SELECT workspace_id, content_id, size FROM purged_contents LIMIT $1"
_OF_WORKSPACE = """
    SELECT workspace_id, revision_id, size FROM revisions WHERE workspace_id = $1
    ORDER BY revision_id LIMIT $2
"""


def sweep() -> Script[bool]:
    """Remove some; answer whether there may be more. Two who sweep at once do no harm."""

    async def script(transaction: Transaction) -> bool:
        return await _sweep_file(transaction) or await _sweep_workspace(transaction)

    return script


async def _sweep_file(transaction: Transaction) -> bool:
    found = await transaction.fetch_all(_OF_FILES, MOST_ROWS)
    slice_ = _slice(found)
    if not slice_:
        return False
    await _delete(transaction, "contents", "content_id", slice_)
    await _delete(transaction, "purged_contents", "content_id", slice_)
    await erase_later(transaction)
    return True


async def _sweep_workspace(transaction: Transaction) -> bool:
    found = await transaction.fetch_one("SELECT id FROM deleted_workspaces ORDER BY id LIMIT 1")
    if found is None:
        return False
    # The indexes are emptied by the texts, as long as these are there.
    if await forget_some(transaction, WorkspaceId(found[0])):
        return True
    slice_ = _slice(await transaction.fetch_all(_OF_WORKSPACE, found[0], MOST_ROWS))
    if slice_:
        # A text has the id of the revision that brought it.
        await _delete(transaction, "contents", "content_id", slice_)
        await _delete(transaction, "revisions", "revision_id", slice_)
        return True
    for table, name in _REST:
        removed = await transaction.execute(
            f"DELETE FROM {table} WHERE workspace_id = $1 AND {name} IN"
            f" (SELECT {name} FROM {table} WHERE workspace_id = $1 LIMIT $2)",
            found[0],
            MOST_ROWS,
        )
        if removed:
            return True
    await transaction.execute("DELETE FROM deleted_workspaces WHERE id = $1", found[0])
    return True


def _slice(rows: Sequence[Row]) -> Sequence[Row]:
    sizes = [(place, row[2]) for place, row in enumerate(rows)]
    end = page_end(sizes, MOST_ROWS, MOST_BYTES)
    return rows if end is None else rows[: end + 1]


async def _delete(transaction: Transaction, table: str, name: str, rows: Sequence[Row]) -> None:
    await transaction.execute_many(
        f"DELETE FROM {table} WHERE workspace_id = $1 AND {name} = $2",
        [(row[0], row[1]) for row in rows],
    )
