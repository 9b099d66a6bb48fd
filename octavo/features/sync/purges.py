"""Purged files that credentials of a folder once knew."""

from collections import defaultdict
from collections.abc import Sequence

from octavo_rules.identity import FileId, Position, WorkspaceId

from octavo.model.files.confinement import Confinement
from octavo.store.queries.revision_rows import WORKSPACE
from octavo.store.queries.select_in import execute_each, select_in
from octavo.store.transaction import Transaction

# A purge erases the paths of a file, so nothing tells afterwards whether it was in a folder. The
# keys whose folder it was in are recorded when it is purged: their devices must remove their
# copies.
_KEYS = "SELECT id, folder FROM api_keys WHERE workspaces = $1 AND folder IS NOT NULL"
_PATHS = f"""
    SELECT DISTINCT files.pk, revisions.path FROM revisions JOIN files
    ON files.workspace = revisions.workspace AND files.pk = revisions.file
    WHERE files.workspace = {WORKSPACE} AND files.file_id IN ($ids)
"""
_INSERT = "INSERT INTO folder_purges (workspace, file, key_id) VALUES ($1, $2, $3::uuid)"
_PURGED = f"""
    SELECT DISTINCT files.file_id FROM folder_purges
    JOIN api_keys ON api_keys.id = folder_purges.key_id
    JOIN files ON files.workspace = folder_purges.workspace AND files.pk = folder_purges.file
    WHERE folder_purges.workspace = {WORKSPACE} AND api_keys.folder = $2
    AND files.position > $3 AND files.position <= $4
"""


async def record_purges(
    transaction: Transaction, workspace_id: WorkspaceId, workspace: int, file_ids: Sequence[FileId]
) -> None:
    """Record which keys knew the purged files; call it before their paths are erased.

    ``workspace`` is the number of the workspace.
    """
    keys = await transaction.fetch_all(_KEYS, workspace_id)
    if not keys:
        return
    paths: dict[int, list[str]] = defaultdict(list)
    for number, path in await select_in(transaction, _PATHS, workspace_id, file_ids):
        paths[number].append(path)
    await execute_each(
        transaction,
        _INSERT,
        [
            (workspace, number, key_id)
            for key_id, folder in keys
            for number, known in paths.items()
            if any(map(Confinement(folder).covers, known))
        ],
    )


async def purged_within(
    transaction: Transaction,
    workspace_id: WorkspaceId,
    within: Confinement,
    after: Position,
    until: Position,
) -> set[FileId]:
    """Return the files once in a folder that were purged after a position and up to another."""
    rows = await transaction.fetch_all(_PURGED, workspace_id, within.folder, after, until)
    return {FileId(row[0]) for row in rows}
