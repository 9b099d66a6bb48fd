"""Read the files of a workspace that changed after a position, and their states before."""

from __future__ import annotations

from typing import NamedTuple

from octavo_rules.identity import FileId, Position, WorkspaceId

from octavo.features.history.rules.restoration import DivergedFile
from octavo.model.files.revision import Revision
from octavo.store.queries.revision_rows import COLUMNS, WORKSPACE, columns_of, revisions_of_rows
from octavo.store.transaction import Script, Transaction

_POSITION = "SELECT position FROM workspaces WHERE id = $1::uuid"
# Each scan begins with the newest changeset, and ends with the first one that is early enough.
_LAST_UNTIL = tuple(
    f"SELECT position FROM {table} WHERE workspace = {WORKSPACE} AND changed_at <= $2"
    " ORDER BY position DESC LIMIT 1"
    for table in ("files", "revisions")
)
_FIRST_AFTER = tuple(
    f"SELECT position, changed_at FROM {table} WHERE workspace = {WORKSPACE} AND position > $2"
    " ORDER BY position LIMIT 1"
    for table in ("files", "revisions")
)
_HEADS = f"SELECT {COLUMNS} FROM files WHERE workspace = {WORKSPACE} AND position > $2"
_PAST = f"""
    SELECT {columns_of("revisions")} FROM files JOIN revisions
    ON revisions.workspace = files.workspace AND revisions.file = files.pk
    AND revisions.position = (
        SELECT MAX(earlier.position) FROM revisions AS earlier
        WHERE earlier.workspace = files.workspace AND earlier.file = files.pk
        AND earlier.position <= $2
    )
    WHERE files.workspace = {WORKSPACE} AND files.position > $2
"""
_OTHERS = f"""
    SELECT path FROM files WHERE workspace = {WORKSPACE} AND state = 'live' AND position <= $2
"""


class PastPosition(NamedTuple):
    """A position of a workspace.

    Attributes:
        position: the position.
        present: the position of the newest changeset.
        changed_at: the time of the first stored changeset after it, in ms; None without one.
    """

    position: Position
    present: Position
    changed_at: int | None


class StatesSince(NamedTuple):
    """The files of a workspace, as `restoration.restoration` takes them."""

    changed: list[DivergedFile]
    others: list[str]


def position_at(workspace_id: WorkspaceId, moment: int) -> Script[PastPosition | None]:
    """Return the position of a workspace at a moment (ms); None without the workspace."""

    async def read_position(transaction: Transaction) -> PastPosition | None:
        newest = [await transaction.fetch_one(sql, workspace_id, moment) for sql in _LAST_UNTIL]
        position = max((row[0] for row in newest if row is not None), default=0)
        return await _past_position(transaction, workspace_id, Position(position))

    return read_position


def past_position(workspace_id: WorkspaceId, position: Position) -> Script[PastPosition | None]:
    """Return a position with what follows it; None without the workspace."""

    async def read_position(transaction: Transaction) -> PastPosition | None:
        return await _past_position(transaction, workspace_id, position)

    return read_position


async def _past_position(
    transaction: Transaction, workspace_id: WorkspaceId, position: Position
) -> PastPosition | None:
    present = await transaction.fetch_one(_POSITION, workspace_id)
    if present is None:
        return None
    following = [await transaction.fetch_one(sql, workspace_id, position) for sql in _FIRST_AFTER]
    first = min((tuple(row) for row in following if row is not None), default=None)
    return PastPosition(position, Position(present[0]), None if first is None else first[1])


def states_since(workspace_id: WorkspaceId, position: Position) -> Script[StatesSince]:
    """Return all files that changed after a position, each with its state there."""

    async def read_states(transaction: Transaction) -> StatesSince:
        heads = revisions_of_rows(await transaction.fetch_all(_HEADS, workspace_id, position))
        rows = await transaction.fetch_all(_PAST, workspace_id, position)
        past: dict[FileId, Revision] = {
            revision.file_id: revision for revision in revisions_of_rows(rows)
        }
        paths = await transaction.fetch_all(_OTHERS, workspace_id, position)
        return StatesSince(
            [DivergedFile(head, past.get(head.file_id)) for head in heads],
            [row[0] for row in paths],
        )

    return read_states
