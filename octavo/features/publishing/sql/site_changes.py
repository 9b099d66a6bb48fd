"""Read the changed files of a workspace, to bring its map up to date."""

from __future__ import annotations

from typing import NamedTuple

from octavo_rules.identity import START, Cursor, FileId, RevisionId, WorkspaceId

from octavo.model.files.path import Kind
from octavo.store.queries.marks import CURSOR, cursor_of_row, is_known
from octavo.store.transaction import Row, Script, Transaction

_CHANGED = """
    SELECT file_id, state, kind, path, revision_id, content, digest, changed_at, images.width,
        images.height
    FROM files LEFT JOIN images ON images.pk = files.content
    WHERE workspace = $1 AND {which}
"""
_SINCE = _CHANGED.format(which="position > $2")
_LIVE = _CHANGED.format(which="state = 'live'")


_CURSOR = f"SELECT {CURSOR}, {is_known(2)} FROM workspaces WHERE pk = $1"


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


def place_of(workspace_id: WorkspaceId) -> Script[tuple[int, Cursor] | None]:
    """Return the number and the cursor of a workspace; None if it is gone."""

    async def read_place(transaction: Transaction) -> tuple[int, Cursor] | None:
        row = await transaction.fetch_one(
            f"SELECT {CURSOR}, pk FROM workspaces WHERE id = $1::uuid", workspace_id
        )
        return None if row is None else (row[2], cursor_of_row(row))

    return read_place


def changed_since(
    workspace: int, cursor: Cursor
) -> Script[tuple[Cursor, list[ChangedFile]] | None]:
    """Return the heads that changed after a cursor, and the cursor at which they were read.

    ``workspace`` is the number of the workspace. From position 0 on, only live files are returned.
    A workspace that is gone has no files, and position 0. Returns None if ``cursor`` is not known.
    """

    async def read_changes(
        transaction: Transaction,
    ) -> tuple[Cursor, list[ChangedFile]] | None:
        row = await transaction.fetch_one(_CURSOR, workspace, *cursor)
        if row is None:
            return START, []
        if not row[2]:
            return None
        if cursor.position:
            rows = await transaction.fetch_all(_SINCE, workspace, cursor.position)
        else:
            rows = await transaction.fetch_all(_LIVE, workspace)
        return cursor_of_row(row), [_changed(file) for file in rows]

    return read_changes


def _changed(row: Row) -> ChangedFile:
    file_id, state, *others = row
    return ChangedFile(file_id, state == "live", *others)
