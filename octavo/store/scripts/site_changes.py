"""Read what has changed in a workspace, for what is published of it."""

from __future__ import annotations

from typing import NamedTuple

from octavo.model.files.path import Kind
from octavo.model.identity import FileId, Position, RevisionId, WorkspaceId
from octavo.store.transaction import Row, Script, Transaction

_CHANGED = """
    SELECT file_id, state, kind, path, revision_id, content, digest, changed_at, images.width,
        images.height
    FROM files LEFT JOIN images ON images.number = files.content
    WHERE workspace = $1 AND {which}
"""
_SINCE = _CHANGED.format(which="position > $2")
_LIVE = _CHANGED.format(which="state = 'live'")


class ChangedFile(NamedTuple):
    """The head of a file; ``content`` is the number of its text or image, ``digest`` its SHA-256.

    ``changed_at`` is in milliseconds, ``width`` and ``height`` are those of an image in pixels.
    """

    file_id: FileId
    live: bool
    kind: Kind
    path: str
    revision_id: RevisionId
    content: int
    digest: bytes
    changed_at: int
    width: int | None
    height: int | None


def place_of(workspace_id: WorkspaceId) -> Script[tuple[int, Position] | None]:
    """Return the number and the position of a workspace; None if it is gone."""

    async def read_place(transaction: Transaction) -> tuple[int, Position] | None:
        row = await transaction.fetch_one(
            "SELECT number, position FROM workspaces WHERE id = $1::uuid", workspace_id
        )
        return None if row is None else (row[0], Position(row[1]))

    return read_place


def changed_since(workspace: int, position: Position) -> Script[tuple[Position, list[ChangedFile]]]:
    """Return the heads that changed after a position, and the position that they are exact at.

    ``workspace`` is the number of the workspace. From position 0 on, only live files are returned.
    A workspace that is gone has no files, and position 0.
    """

    async def read_changes(transaction: Transaction) -> tuple[Position, list[ChangedFile]]:
        row = await transaction.fetch_one(
            "SELECT position FROM workspaces WHERE number = $1", workspace
        )
        if row is None:
            return Position(0), []
        if position:
            rows = await transaction.fetch_all(_SINCE, workspace, position)
        else:
            rows = await transaction.fetch_all(_LIVE, workspace)
        return Position(row[0]), [_changed(each) for each in rows]

    return read_changes


def _changed(row: Row) -> ChangedFile:
    file_id, state, *others = row
    return ChangedFile(file_id, state == "live", *others)
