"""Marks: which cursors belong to the history that the database has.

A history can be taken back, by a restored backup, a disk that was put back, or a failover that lost
commits. Then the same positions are given again, with other marks. A cursor is known if a revision
of its position has its mark, or had: what history pruning removes is remembered for a while.

A device that has read only the first pages of a feed has no exact copy of any position: files whose
last change is on a later page are missing. Its position is known only as long as that change is, so
the mark is that of the newest position that it has seen.
"""

from __future__ import annotations

from collections.abc import Sequence

from octavo_rules.identity import START, Cursor, Position, RevisionId, WorkspaceId
from octavo_rules.problems import Problem

from octavo.store.transaction import Row, Script, Transaction, Value, single_statement

_MARKS = (("files", "revision_id"), ("revisions", "revision_id"), ("removed_marks", "mark_id"))
CURSOR = "workspaces.position, workspaces.mark_id"
"""The columns of the cursor of a workspace, as `cursor_of` takes them."""
_CURSOR = f"SELECT {CURSOR} FROM workspaces WHERE id = $1::uuid"
_MARKED = " UNION ALL ".join(
    f"SELECT 1 FROM {table} WHERE {table}.workspace = workspaces.pk"
    f" AND {table}.position >= {{position}} AND {table}.{column} = {{mark}}::uuid"
    for table, column in _MARKS
)
_REMEMBER = """
    INSERT INTO removed_marks (workspace, position, mark_id, removed_at)
    VALUES ($1, $2, $3::uuid, $4) ON CONFLICT DO NOTHING
"""


class CursorUnknown(Problem):
    """The history of the workspace does not have a cursor; ``cursor`` is that of the workspace."""

    status, code = 409, "cursor_unknown"
    summary = "The history of the workspace does not have this position with this mark."
    remedy = (
        "Take a snapshot in place of your copy: the history of the server was taken back, by a "
        "restored backup for example. Keep texts whose revisions the server does not know."
    )

    def __init__(self, cursor: Cursor) -> None:
        super().__init__(members={"position": cursor.position, "mark": cursor.mark})
        self.cursor = cursor


def is_known(cursor: int) -> str:
    """Return a column: 1 if the history of a workspace has the cursor in ``$cursor`` and the next.

    The mark may be that of a later position. The statement is over the table ``workspaces``.
    """
    position, mark = f"${cursor}", f"${cursor + 1}"
    return f"""
        CASE WHEN workspaces.position >= {position} AND workspaces.mark_id = {mark}::uuid THEN 1
            WHEN {position} = 0 THEN 1
            WHEN EXISTS ({_MARKED.format(position=position, mark=mark)}) THEN 1
            ELSE 0 END
    """


_KNOWN = f"SELECT {CURSOR}, {is_known(2)} FROM workspaces WHERE id = $1::uuid"


def cursor_of_row(row: Row) -> Cursor:
    """Return the cursor that a row begins with."""
    return Cursor(Position(row[0]), RevisionId(row[1]))


def cursor_of(workspace_id: WorkspaceId) -> Script[Cursor | None]:
    """Return the cursor of the newest changeset; None without the workspace."""

    @single_statement
    async def read_cursor(transaction: Transaction) -> Cursor | None:
        row = await transaction.fetch_one(_CURSOR, workspace_id)
        return None if row is None else cursor_of_row(row)

    return read_cursor


def checked_cursor(
    workspace_id: WorkspaceId, cursor: Cursor = START
) -> Script[tuple[Cursor, bool] | None]:
    """Return the cursor of the newest changeset, and whether ``cursor`` is known.

    None without the workspace.
    """

    @single_statement
    async def read_cursor(transaction: Transaction) -> tuple[Cursor, bool] | None:
        row = await transaction.fetch_one(_KNOWN, workspace_id, *cursor)
        return None if row is None else (cursor_of_row(row), bool(row[2]))

    return read_cursor


async def remember_marks(
    transaction: Transaction, rows: Sequence[tuple[int, int, str]], now: int
) -> None:
    """Remember the marks of revisions that are removed at ``now`` (ms).

    Each row has the number of the workspace, the position and the id of the revision.
    """
    values: list[tuple[Value, ...]] = [(*row, now) for row in rows]
    await transaction.execute_many(_REMEMBER, values)
