"""Update the indexes in the commit that changes files, and remove a workspace from them.

The link index is updated with every commit. Of the full text index, only purged notes are removed
in the commit; the rest is left to `octavo.store.scripts.index_backlog`.
"""

from __future__ import annotations

from collections.abc import Sequence

from octavo.model.files.plan import Change
from octavo.model.identity import WorkspaceId
from octavo.store.scripts.fulltext_index import remove_notes, remove_some_notes, request_erasure
from octavo.store.scripts.link_index import IndexedFile, index_links, remove_some_links
from octavo.store.scripts.stored_changes import StoredChanges
from octavo.store.transaction import Transaction

_MAX_LINKED = 100
# Each of them takes reading its text.
_MAX_NOTES = 20

_DELETE_CURSOR = "DELETE FROM fulltext_cursors WHERE workspace = $1"
_WORKSPACE = """
    SELECT number FROM workspaces WHERE id = $1::uuid
    UNION ALL SELECT number FROM deleted_workspaces WHERE id = $1::uuid
"""


async def index_changes(
    transaction: Transaction,
    workspace_id: WorkspaceId,
    changed: Sequence[Change],
    workspace: int,
    stored: StoredChanges,
) -> None:
    """Index the changes of one commit, each file once.

    ``changed`` are in their order, and may contain a file several times. ``workspace`` is the
    number of the workspace. Call this when heads and contents are stored: a text that no change
    brings, as that of a restored file, is read.
    """
    heads = {change.head.file_id: change.head for change in changed}
    new = {
        file_id: IndexedFile(file_id, workspace, number, None, None)
        for file_id, number in stored.numbers.items()
    }
    texts = {
        change.head.content_id: change.content.text
        for change in changed
        if change.content is not None
    }
    await index_links(transaction, workspace_id, heads.values(), texts, new, stored.paths)
    purged = [head.file_id for head in heads.values() if head.state == "purged"]
    if purged:
        await remove_notes(transaction, workspace_id, purged)


async def unindex_some(transaction: Transaction, workspace_id: WorkspaceId) -> bool:
    """Remove some entries of a deleted workspace from the indexes; return whether there were any.

    To be called until there are none, and before the texts are removed.
    """
    found = await transaction.fetch_one(_WORKSPACE, workspace_id)
    if found is None:
        return False
    workspace = found[0]
    if await remove_some_notes(transaction, workspace_id, workspace, _MAX_NOTES):
        await request_erasure(transaction)
        return True
    if await remove_some_links(transaction, workspace, _MAX_LINKED):
        return True
    return await transaction.execute(_DELETE_CURSOR, workspace) > 0
