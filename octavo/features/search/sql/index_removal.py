"""Remove purged files and deleted workspaces from the indexes of links and words."""

from __future__ import annotations

from collections.abc import Sequence

from octavo_rules.identity import FileId, WorkspaceId

from octavo.features.links.sql.link_index import remove_links, remove_some_links
from octavo.features.search.sql.fulltext_index import (
    remove_notes,
    remove_some_notes,
    request_erasure,
)
from octavo.store.transaction import Transaction

_MAX_LINKED = 100
_MAX_NOTES = 500

_DELETE_CURSORS = "DELETE FROM index_cursors WHERE workspace = $1"
_WORKSPACE = """
    SELECT number FROM workspaces WHERE id = $1::uuid
    UNION ALL SELECT number FROM deleted_workspaces WHERE id = $1::uuid
"""


async def unindex_files(
    transaction: Transaction, workspace_id: WorkspaceId, file_ids: Sequence[FileId]
) -> None:
    """Remove files from the indexes, in the commit that purges them.

    The words of their texts are removed later, and are not found from now on.
    """
    await remove_links(transaction, workspace_id, file_ids)
    await remove_notes(transaction, workspace_id, file_ids)


async def unindex_some(transaction: Transaction, workspace_id: WorkspaceId) -> bool:
    """Remove some entries of a deleted workspace from the indexes; return whether there were any.

    To be called until there are none, and before the texts are removed.
    """
    found = await transaction.fetch_one(_WORKSPACE, workspace_id)
    if found is None:
        return False
    workspace = found[0]
    if await remove_some_notes(transaction, workspace, _MAX_NOTES):
        await request_erasure(transaction)
        return True
    if await remove_some_links(transaction, workspace, _MAX_LINKED):
        return True
    return await transaction.execute(_DELETE_CURSORS, workspace) > 0
