"""Read the heads of a workspace: all of them, or those that moved on."""

from __future__ import annotations

from typing import NamedTuple

from octavo.model.files.revision import Revision
from octavo.model.identity import Position, WorkspaceId
from octavo.store.scripts.rows import COLUMNS, revision_of
from octavo.store.transaction import Script, Transaction


class Heads(NamedTuple):
    """The position of a workspace, and the heads that were asked for."""

    position: Position
    heads: list[Revision]


def heads_after(workspace_id: WorkspaceId, position: Position) -> Script[Heads | None]:
    """Answer the heads of all files, purged ones too, that changed after ``position``.

    From 0 on these are all heads there are. None: there is no such workspace.
    """

    async def script(transaction: Transaction) -> Heads | None:
        found = await transaction.fetch_one(
            "SELECT position FROM workspaces WHERE id = $1", workspace_id
        )
        if found is None:
            return None
        if found[0] == position:
            return Heads(position, [])
        rows = await transaction.fetch_all(
            f"SELECT {COLUMNS} FROM files WHERE workspace_id = $1 AND position > $2",
            workspace_id,
            position,
        )
        return Heads(Position(found[0]), [revision_of(row) for row in rows])

    return script
