"""Index the words of what changed since they were last indexed, in steps.

Indexing the words of a text costs more than ten times what storing it does. So a commit leaves that
to a background task, and to searches, which do it first: a note that is saved often is indexed
seldom. Changes are ordered by their positions, so one cursor for each workspace says what is left.

Links are indexed in the commits. Files that the link index lacks are after the cursor, too. A query
that needs all links has them indexed first, without the words.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from octavo.model.files.feed import page_end
from octavo.model.files.revision import Revision
from octavo.model.identity import FileId, WorkspaceId
from octavo.store.scripts.fulltext_index import index_words
from octavo.store.scripts.link_index import index_links
from octavo.store.scripts.revision_rows import COLUMNS, COUNT, WORKSPACE, revision_of
from octavo.store.scripts.select_in import select_in
from octavo.store.transaction import Script, Transaction

SLICE_BYTES = 64 * 1024
"""Of texts whose words are indexed in one step, during which writers wait; a longer text alone."""
LINKS_BYTES = 512 * 1024
"""Of texts whose links are indexed in one step, likewise."""
_MAX_FILES = 100

_WAITING = """
    SELECT workspaces.id FROM workspaces
    LEFT JOIN fulltext_cursors ON fulltext_cursors.workspace = workspaces.number
    WHERE workspaces.position >= COALESCE(fulltext_cursors.position, $1)
"""
_CURSOR = """
    SELECT workspaces.position, COALESCE(fulltext_cursors.position, $2),
        COALESCE(fulltext_cursors.file, 0)
    FROM workspaces LEFT JOIN fulltext_cursors ON fulltext_cursors.workspace = workspaces.number
    WHERE workspaces.id = $1::uuid
"""
_NEXT = f"""
    SELECT position, number, file_id, size, state FROM files
    WHERE workspace = {WORKSPACE} AND position >= $2 AND (position, number) > ($2, $3)
    ORDER BY position, number LIMIT $4
"""
_LINKED = f"""
    SELECT files.file_id FROM files
    JOIN link_index ON link_index.workspace = files.workspace AND link_index.file = files.number
    WHERE files.workspace = {WORKSPACE} AND files.file_id IN ($ids)
"""
_HEADS = f"""
    SELECT {COLUMNS} FROM files
    WHERE workspace = {WORKSPACE} AND state = 'live' AND file_id IN ($ids)
"""
# Two transactions that index the same files conflict here.
_MOVE_CURSOR = f"""
    INSERT INTO fulltext_cursors (workspace, position, file) VALUES ({WORKSPACE}, $2, $3)
    ON CONFLICT (workspace) DO UPDATE SET position = excluded.position, file = excluded.file
"""
_FIRST = 1
"""The position of the first change of a workspace."""


class BacklogCursor(NamedTuple):
    """The number of a file, in the order in which files are indexed."""

    position: int
    file: int


class _Step(NamedTuple):
    files: int
    size: int
    more: bool


def workspaces_to_index(
    workspace_ids: Sequence[WorkspaceId] | None = None,
) -> Script[list[WorkspaceId]]:
    """Return which of the workspaces, or of all, have words that are to be indexed."""

    async def read_waiting(transaction: Transaction) -> list[WorkspaceId]:
        if workspace_ids is None:
            rows = list(await transaction.fetch_all(_WAITING, _FIRST))
        else:
            some = f"{_WAITING} AND workspaces.id IN ($ids)"
            rows = await select_in(transaction, some, _FIRST, workspace_ids)
        return [WorkspaceId(row[0]) for row in rows]

    return read_waiting


def index_backlog(workspace_ids: Sequence[WorkspaceId]) -> Script[list[WorkspaceId]]:
    """Index the words of some files of the workspaces; return those that may have more.

    Files that the link index lacks are added to it. Two calls at the same time do no harm, nor does
    a change of a file between two calls.
    """

    async def index_some(transaction: Transaction) -> list[WorkspaceId]:
        files, size = _MAX_FILES, SLICE_BYTES
        for at, workspace_id in enumerate(workspace_ids):
            if files <= 0 or size <= 0:
                return [*workspace_ids[at:]]
            step = await _index_step(transaction, workspace_id, files, size)
            if step.more:
                return [*workspace_ids[at:]]
            files, size = files - step.files, size - step.size
        return []

    return index_some


async def _index_step(
    transaction: Transaction, workspace_id: WorkspaceId, max_files: int, max_bytes: int
) -> _Step:
    found = await _cursor(transaction, workspace_id)
    if found is None:
        return _Step(0, 0, more=False)
    position, cursor = found
    rows = await transaction.fetch_all(_NEXT, workspace_id, *cursor, max_files + 1)
    end = page_end([(BacklogCursor(*row[:2]), row[3]) for row in rows], max_files, max_bytes)
    taken = [row for row in rows if end is None or (row[0], row[1]) <= end]
    file_ids = [FileId(row[2]) for row in taken]
    live = await _live(transaction, workspace_id, file_ids)
    await index_links(transaction, workspace_id, live.values(), {})
    await index_words(transaction, workspace_id, file_ids, live)
    await transaction.execute(_MOVE_CURSOR, workspace_id, *(end or (position + 1, 0)))
    return _Step(len(taken), sum(row[3] for row in taken), more=end is not None)


async def _cursor(
    transaction: Transaction, workspace_id: WorkspaceId
) -> tuple[int, BacklogCursor] | None:
    """Return the position of the workspace and its cursor; None when nothing is left."""
    row = await transaction.fetch_one(_CURSOR, workspace_id, _FIRST)
    if row is None or row[0] < row[1]:
        return None
    return row[0], BacklogCursor(row[1], row[2])


def first_unlinked(workspace_id: WorkspaceId) -> Script[BacklogCursor | None]:
    """Return the cursor after which files are missing in the link index; None without any."""

    async def find_unlinked(transaction: Transaction) -> BacklogCursor | None:
        found = await _cursor(transaction, workspace_id)
        cursor = None if found is None else found[1]
        # Not a join: PostgreSQL would keep the plan that it made when the table had few rows.
        while cursor is not None:
            rows = await transaction.fetch_all(_NEXT, workspace_id, *cursor, _MAX_FILES)
            live = [row[2] for row in rows if row[4] == "live"]
            if len(await select_in(transaction, _LINKED, workspace_id, live)) < len(live):
                return cursor
            cursor = BacklogCursor(*rows[-1][:2]) if len(rows) == _MAX_FILES else None
        return None

    return find_unlinked


def index_unlinked(workspace_id: WorkspaceId, after: BacklogCursor) -> Script[BacklogCursor | None]:
    """Add files to the link index that it lacks; return the cursor to continue after.

    Returns None when there are no more. Two calls at the same time do no harm, nor does a change of
    a file between two calls.
    """

    async def index_some_links(transaction: Transaction) -> BacklogCursor | None:
        rows = await transaction.fetch_all(_NEXT, workspace_id, *after, _MAX_FILES + 1)
        cursors = [(BacklogCursor(*row[:2]), row[3]) for row in rows]
        end = page_end(cursors, _MAX_FILES, LINKS_BYTES)
        file_ids = [FileId(row[2]) for row in rows if end is None or (row[0], row[1]) <= end]
        live = await _live(transaction, workspace_id, file_ids)
        await index_links(transaction, workspace_id, live.values(), {})
        return end

    return index_some_links


async def _live(
    transaction: Transaction, workspace_id: WorkspaceId, file_ids: Sequence[FileId]
) -> dict[FileId, Revision]:
    rows = await select_in(transaction, _HEADS, workspace_id, file_ids)
    return {head.file_id: head for head in (revision_of(row[:COUNT]) for row in rows)}
