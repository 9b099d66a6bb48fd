"""Take in the words of what changed since they were taken in last, some at a time.

Taking words in costs more than ten times what keeping a text does. So a commit leaves that to
whoever has time, and to a search, which does it first: a note that is saved often is taken in
seldom. Changes stand in the strict order of their positions, so that one cursor for a workspace
tells what is left.

Links are taken in with the commits. What lacks them are files from before there was an index, and
these stand behind the cursor, too; whoever needs all links has them taken in first, without words.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from octavo.model.files.feed import page_end
from octavo.model.files.revision import Revision
from octavo.model.identity import FileId, WorkspaceId
from octavo.store.scripts.indexing import index_links
from octavo.store.scripts.naming import fetch_named
from octavo.store.scripts.rows import COLUMNS, COUNT, revision_of
from octavo.store.scripts.wording import take_in_words
from octavo.store.transaction import Script, Transaction

SLICE_BYTES = 64 * 1024
"""Of texts whose words are taken in at once, but for a single longer one: others wait behind it."""
LINKS_BYTES = 512 * 1024
"""Of texts whose links are taken in at once, likewise."""
_MOST_FILES = 100

_WAITING = """
    SELECT workspaces.id FROM workspaces
    LEFT JOIN word_cursors ON word_cursors.workspace_id = workspaces.id
    WHERE workspaces.position >= COALESCE(word_cursors.position, $1)
"""
_CURSOR = """
    SELECT workspaces.position, COALESCE(word_cursors.position, $2),
        COALESCE(word_cursors.file_id, '')
    FROM workspaces LEFT JOIN word_cursors ON word_cursors.workspace_id = workspaces.id
    WHERE workspaces.id = $1
"""
_NEXT = """
    SELECT position, file_id, size, state FROM files
    WHERE workspace_id = $1 AND position >= $2 AND (position, file_id) > ($2, $3)
    ORDER BY position, file_id LIMIT $4
"""
_LINKED = "SELECT file_id FROM indexed WHERE workspace_id = $1 AND file_id IN ($names)"
_HEADS = f"""
    SELECT {COLUMNS} FROM files WHERE workspace_id = $1 AND state = 'live' AND file_id IN ($names)
"""
# Whoever takes the same in at the same time must meet this.
_MOVE_CURSOR = """
    INSERT INTO word_cursors (workspace_id, position, file_id) VALUES ($1, $2, $3)
    ON CONFLICT (workspace_id) DO UPDATE SET
        position = excluded.position, file_id = excluded.file_id
"""
_FIRST = 1
"""The position of the first change of a workspace."""


class Place(NamedTuple):
    """A file, in the order in which they are taken in."""

    position: int
    file_id: str


class _Taken(NamedTuple):
    files: int
    size: int
    more: bool


def waiting(workspace_ids: Sequence[WorkspaceId] | None = None) -> Script[list[WorkspaceId]]:
    """Answer which of the workspaces, or of all, have words that wait to be taken in."""

    async def script(transaction: Transaction) -> list[WorkspaceId]:
        if workspace_ids is None:
            rows = list(await transaction.fetch_all(_WAITING, _FIRST))
        else:
            one = f"{_WAITING} AND workspaces.id IN ($names)"
            rows = await fetch_named(transaction, one, _FIRST, workspace_ids)
        return [WorkspaceId(row[0]) for row in rows]

    return script


def index_some(workspace_ids: Sequence[WorkspaceId]) -> Script[list[WorkspaceId]]:
    """Take in the words of some files of the workspaces; answer those that may have more.

    A file from before there were indexes is taken into that of links, too. Two who do it at once
    do no harm, nor does a change of such a file meanwhile.
    """

    async def script(transaction: Transaction) -> list[WorkspaceId]:
        files, size = _MOST_FILES, SLICE_BYTES
        for place, workspace_id in enumerate(workspace_ids):
            if files <= 0 or size <= 0:
                return [*workspace_ids[place:]]
            taken = await _take_some(transaction, workspace_id, files, size)
            if taken.more:
                return [*workspace_ids[place:]]
            files, size = files - taken.files, size - taken.size
        return []

    return script


async def _take_some(
    transaction: Transaction, workspace_id: WorkspaceId, most_files: int, most_bytes: int
) -> _Taken:
    cursor = await transaction.fetch_one(_CURSOR, workspace_id, _FIRST)
    if cursor is None or cursor[0] < cursor[1]:
        return _Taken(0, 0, more=False)
    position, *behind = cursor
    found = await transaction.fetch_all(_NEXT, workspace_id, *behind, most_files + 1)
    sizes = [((row[0], row[1]), row[2]) for row in found]
    end = page_end(sizes, most_files, most_bytes)
    taken = [each for each in sizes if end is None or each[0] <= end]
    file_ids = [FileId(file_id) for (_, file_id), _ in taken]
    live = await _live(transaction, workspace_id, file_ids)
    await index_links(transaction, workspace_id, live.values(), {}, set())
    await take_in_words(transaction, workspace_id, file_ids, live)
    await transaction.execute(_MOVE_CURSOR, workspace_id, *(end or (position + 1, "")))
    return _Taken(len(taken), sum(size for _, size in taken), more=end is not None)


def links_behind(workspace_id: WorkspaceId) -> Script[Place | None]:
    """Answer behind which place files are that the index of links lacks; None: it has them all."""

    async def script(transaction: Transaction) -> Place | None:
        cursor = await transaction.fetch_one(_CURSOR, workspace_id, _FIRST)
        if cursor is None or cursor[0] < cursor[1]:
            return None
        behind: Place | None = Place(*cursor[1:])
        # By names, as no join of two tables is safe while one of them fills: PostgreSQL plans it
        # for the few rows that there were, and keeps to that.
        while behind is not None:
            found = await transaction.fetch_all(_NEXT, workspace_id, *behind, _MOST_FILES)
            live = [row[1] for row in found if row[3] == "live"]
            if len(await fetch_named(transaction, _LINKED, workspace_id, live)) < len(live):
                return behind
            behind = Place(*found[-1][:2]) if len(found) == _MOST_FILES else None
        return None

    return script


def link_some(workspace_id: WorkspaceId, behind: Place) -> Script[Place | None]:
    """Take in the links of some files, where the index lacks them; answer where to go on.

    None when there are no more. Two who do it at once do no harm, nor does a change of such a file
    meanwhile.
    """

    async def script(transaction: Transaction) -> Place | None:
        found = await transaction.fetch_all(_NEXT, workspace_id, *behind, _MOST_FILES + 1)
        sizes = [(Place(*row[:2]), row[2]) for row in found]
        end = page_end(sizes, _MOST_FILES, LINKS_BYTES)
        file_ids = [FileId(each.file_id) for each, _ in sizes if end is None or each <= end]
        live = await _live(transaction, workspace_id, file_ids)
        await index_links(transaction, workspace_id, live.values(), {}, set())
        return end

    return script


async def _live(
    transaction: Transaction, workspace_id: WorkspaceId, file_ids: Sequence[FileId]
) -> dict[FileId, Revision]:
    rows = await fetch_named(transaction, _HEADS, workspace_id, file_ids)
    return {head.file_id: head for head in (revision_of(row[:COUNT]) for row in rows)}
