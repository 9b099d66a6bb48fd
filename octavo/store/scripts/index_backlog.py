"""Index what changed since it was last indexed, in steps.

A commit stores what clients assert. What follows from that, the links and the words of texts, is
indexed after it, by a background task and before queries that need it: a note that is saved often
is indexed seldom. Changes are ordered by their positions, so one cursor for each workspace and
index says what is left. It moves in the transaction that indexes the files.

Indexing the words of a text takes more than ten times as long as indexing its links. The indexes
have cursors of their own, so links need not wait for words.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import NamedTuple

from octavo.model.files.feed import page_end
from octavo.model.files.revision import Revision
from octavo.model.identity import FileId, WorkspaceId
from octavo.store.scripts.fulltext_index import index_words
from octavo.store.scripts.link_index import index_links
from octavo.store.scripts.revision_rows import COLUMNS, WORKSPACE, revision_of
from octavo.store.scripts.select_in import select_in
from octavo.store.transaction import Script, Transaction

SLICE_BYTES = 64 * 1024
"""Of texts that are indexed in one step, during which writers wait; a longer text alone."""
_MAX_FILES = 100

UpdateIndex = Callable[
    [Transaction, WorkspaceId, Sequence[FileId], Mapping[FileId, Revision]], Awaitable[None]
]
"""Updates the entries of files. Those that are live are in the mapping, with their heads."""


class FileIndex(NamedTuple):
    """An index of files that follows their commits; ``name`` is that of its cursors."""

    name: str
    update: UpdateIndex


LINKS = FileIndex("links", index_links)
WORDS = FileIndex("words", index_words)

# The first change of a workspace has the position 1.
_WAITING = """
    SELECT workspaces.id FROM workspaces
    LEFT JOIN index_cursors
    ON index_cursors.workspace = workspaces.number AND index_cursors.name = $1
    WHERE workspaces.position >= COALESCE(index_cursors.position, 1)
"""
_CURSOR = """
    SELECT workspaces.position, COALESCE(index_cursors.position, 1),
        COALESCE(index_cursors.file, 0)
    FROM workspaces LEFT JOIN index_cursors
    ON index_cursors.workspace = workspaces.number AND index_cursors.name = $2
    WHERE workspaces.id = $1::uuid
"""
# Attachments have no text.
_NEXT = f"""
    SELECT position, number, file_id, CASE kind WHEN 'note' THEN size ELSE 0 END FROM files
    WHERE workspace = {WORKSPACE} AND position >= $2 AND (position, number) > ($2, $3)
    ORDER BY position, number LIMIT $4
"""
_HEADS = f"""
    SELECT {COLUMNS} FROM files
    WHERE workspace = {WORKSPACE} AND state = 'live' AND file_id IN ($ids)
"""
_MOVE_CURSOR = f"""
    INSERT INTO index_cursors (workspace, name, position, file) VALUES ({WORKSPACE}, $2, $3, $4)
    ON CONFLICT (workspace, name) DO UPDATE SET position = excluded.position, file = excluded.file
"""


class BacklogCursor(NamedTuple):
    """The number of a file, in the order in which files are indexed."""

    position: int
    file: int


class _Step(NamedTuple):
    """Files to index: ``end`` is the cursor after them, None when no others are left."""

    file_ids: list[FileId]
    size: int
    end: BacklogCursor | None


def workspaces_to_index(
    index: FileIndex, workspace_ids: Sequence[WorkspaceId] | None = None
) -> Script[list[WorkspaceId]]:
    """Return which of the workspaces, or of all, have changes that ``index`` lacks."""

    async def read_waiting(transaction: Transaction) -> list[WorkspaceId]:
        if workspace_ids is None:
            rows = list(await transaction.fetch_all(_WAITING, index.name))
        else:
            some = f"{_WAITING} AND workspaces.id IN ($ids)"
            rows = await select_in(transaction, some, index.name, workspace_ids)
        return [WorkspaceId(row[0]) for row in rows]

    return read_waiting


def index_backlog(
    index: FileIndex, workspace_ids: Sequence[WorkspaceId]
) -> Script[list[WorkspaceId]]:
    """Index some changed files of the workspaces; return those that may have more.

    Two calls at the same time do no harm, nor does a change of a file between two calls.
    """

    async def index_some(transaction: Transaction) -> list[WorkspaceId]:
        files, size = _MAX_FILES, SLICE_BYTES
        for at, workspace_id in enumerate(workspace_ids):
            if files <= 0 or size <= 0:
                return [*workspace_ids[at:]]
            found = await _cursor(transaction, workspace_id, index)
            if found is None:
                continue
            position, cursor = found
            step = await _next_step(transaction, workspace_id, cursor, files, size)
            end = step.end or (position + 1, 0)
            # First, so that a transaction that indexes the same files conflicts here, and is
            # repeated, before it inserts the same rows, which would be an error.
            await transaction.execute(_MOVE_CURSOR, workspace_id, index.name, *end)
            live = await live_heads(transaction, workspace_id, step.file_ids)
            await index.update(transaction, workspace_id, step.file_ids, live)
            if step.end is not None:
                return [*workspace_ids[at:]]
            files, size = files - len(step.file_ids), size - step.size
        return []

    return index_some


async def unindexed_files(
    transaction: Transaction,
    workspace_id: WorkspaceId,
    index: FileIndex,
    max_files: int,
    max_bytes: int,
) -> list[FileId] | None:
    """Return the files that changed since ``index`` was updated; None when these are too many.

    A single file may have more than ``max_bytes`` of text.
    """
    found = await _cursor(transaction, workspace_id, index)
    if found is None:
        return []
    step = await _next_step(transaction, workspace_id, found[1], max_files, max_bytes)
    return step.file_ids if step.end is None else None


async def live_heads(
    transaction: Transaction, workspace_id: WorkspaceId, file_ids: Sequence[FileId]
) -> dict[FileId, Revision]:
    """Return the heads of those files that are live."""
    rows = await select_in(transaction, _HEADS, workspace_id, file_ids)
    return {head.file_id: head for head in map(revision_of, rows)}


async def _cursor(
    transaction: Transaction, workspace_id: WorkspaceId, index: FileIndex
) -> tuple[int, BacklogCursor] | None:
    """Return the position of the workspace and its cursor; None when nothing is left."""
    row = await transaction.fetch_one(_CURSOR, workspace_id, index.name)
    if row is None or row[0] < row[1]:
        return None
    return row[0], BacklogCursor(row[1], row[2])


async def _next_step(
    transaction: Transaction,
    workspace_id: WorkspaceId,
    cursor: BacklogCursor,
    max_files: int,
    max_bytes: int,
) -> _Step:
    rows = await transaction.fetch_all(_NEXT, workspace_id, *cursor, max_files + 1)
    end = page_end([(BacklogCursor(*row[:2]), row[3]) for row in rows], max_files, max_bytes)
    taken = [row for row in rows if end is None or (row[0], row[1]) <= end]
    return _Step([FileId(row[2]) for row in taken], sum(row[3] for row in taken), end)
