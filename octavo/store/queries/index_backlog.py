"""Index what changed since it was last indexed, in steps.

A commit stores what clients assert. What follows from that, the links and the words of texts, is
indexed after it, by a background task and before queries that need it: a note that is saved often
is indexed seldom. Changes are ordered by their positions, so one cursor for each workspace and
index says what is left.

A step has two transactions. `next_step` reads the next files, and extracts what is to be indexed,
while others write. `commit_step` stores that, and moves the cursor. It leaves out the files that
have changed since: they are after the cursor again. When another step has moved the cursor, it does
nothing.

Indexing the words of a text takes more than ten times as long as indexing its links. The indexes
have cursors of their own, so links need not wait for words.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Generic, NamedTuple, TypeVar

from octavo_rules.identity import FileId, WorkspaceId

from octavo.model.files.revision import Revision, page_end
from octavo.store.queries.revision_rows import COLUMNS, WORKSPACE, revision_of, select_in
from octavo.store.transaction import Script, Transaction

E = TypeVar("E")

SLICE_BYTES = 32 * 1024
"""Bytes of texts and paths that one step indexes for a waiting query; a longer text is alone.

The words of a longer text take several steps.
"""
_MAX_FILES = 100

Extract = Callable[
    [Transaction, WorkspaceId, Mapping[FileId, Revision]], Awaitable[Mapping[FileId, E]]
]
"""Returns what is to be indexed of live files, whose heads are given."""
Update = Callable[[Transaction, WorkspaceId, Sequence[FileId], Mapping[FileId, E]], Awaitable[bool]]
"""Updates files in the index; those that are not in the mapping are not live, and are removed.

Returns whether all is indexed; otherwise it is to be called again.
"""


@dataclass(frozen=True, slots=True)
class Upkeep:
    """The maintenance that an index requires besides updates.

    Attributes:
        is_left: returns whether `remove` has something to do.
        remove: returns a script that removes some former entries, and whether more are left.
        is_worn_out: returns whether the index is to be made anew.
        renew: empties the index, even if it is damaged, and has all files indexed anew.
    """

    is_left: Script[bool]
    remove: Callable[[], Script[bool]]
    is_worn_out: Script[bool]
    renew: Script[None]


@dataclass(frozen=True, slots=True)
class FileIndex(Generic[E]):
    """An index of files that follows their commits.

    Attributes:
        name: that of its cursors.
        extract: see `Extract`.
        update: see `Update`.
        quiet: seconds without a change of a workspace after which its files are indexed.
        upkeep: None for an index that requires none.
    """

    name: str
    extract: Extract[E]
    update: Update[E]
    quiet: float
    upkeep: Upkeep | None = None


# The first change of a workspace has the position 1.
_WAITING = """
    SELECT workspaces.id FROM workspaces
    LEFT JOIN index_cursors
    ON index_cursors.workspace = workspaces.pk AND index_cursors.name = $1
    WHERE workspaces.position >= COALESCE(index_cursors.position, 1)
"""
_CURSOR = """
    SELECT workspaces.position, COALESCE(index_cursors.position, 1),
        COALESCE(index_cursors.file, 0)
    FROM workspaces LEFT JOIN index_cursors
    ON index_cursors.workspace = workspaces.pk AND index_cursors.name = $2
    WHERE workspaces.id = $1::uuid
"""
# Attachments have no text.
_NEXT = f"""
    SELECT position, pk, file_id, CASE kind WHEN 'note' THEN size + 3 * LENGTH(path) ELSE 0 END
    FROM files
    WHERE workspace = {WORKSPACE} AND position >= $2 AND (position, pk) > ($2, $3)
    ORDER BY position, pk LIMIT $4
"""
_HEADS = f"""
    SELECT {COLUMNS} FROM files
    WHERE workspace = {WORKSPACE} AND state = 'live' AND file_id IN ($ids)
"""
_POSITIONS = f"""
    SELECT file_id, position FROM files WHERE workspace = {WORKSPACE} AND file_id IN ($ids)
"""
_MOVE_CURSOR = f"""
    INSERT INTO index_cursors (workspace, name, position, file) VALUES ({WORKSPACE}, $2, $3, $4)
    ON CONFLICT (workspace, name) DO UPDATE SET position = excluded.position, file = excluded.file
"""


class BacklogCursor(NamedTuple):
    """The number of a file, in the order in which files are indexed."""

    position: int
    file: int


class _Backlog(NamedTuple):
    """The next changed files of a workspace, with their positions.

    Attributes:
        files: in the order in which they are indexed.
        size: of their texts.
        begin: the cursor before them.
        end: the cursor after them.
        more: whether there are others.
    """

    files: dict[FileId, int]
    size: int
    begin: BacklogCursor
    end: BacklogCursor
    more: bool


@dataclass(frozen=True, slots=True)
class WorkspaceStep(Generic[E]):
    """The part of a step in one workspace; ``entries`` has the live ones of ``files``."""

    workspace_id: WorkspaceId
    files: Mapping[FileId, int]
    entries: Mapping[FileId, E]
    begin: BacklogCursor
    end: BacklogCursor


class StoredStep(NamedTuple):
    """The result of a step.

    Attributes:
        overtaken: the workspaces of which another step was stored before, and nothing of this one.
        unfinished: those of which some was stored, and the rest is still to be indexed.
    """

    overtaken: list[WorkspaceId]
    unfinished: list[WorkspaceId]


@dataclass(frozen=True, slots=True)
class BacklogStep(Generic[E]):
    """A step, which indexes files of some workspaces.

    Attributes:
        left: the workspaces that may have more after it, in the order for the next step: those that
            this one has not reached are first.
    """

    index: FileIndex[E]
    parts: list[WorkspaceStep[E]]
    left: list[WorkspaceId]


def workspaces_to_index(
    index: FileIndex[E], workspace_ids: Sequence[WorkspaceId] | None = None
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


def next_step(
    index: FileIndex[E], workspace_ids: Sequence[WorkspaceId], max_bytes: int = SLICE_BYTES
) -> Script[BacklogStep[E]]:
    """Return what to index next of the workspaces: some of their changed files.

    These have ``max_bytes`` of text, or one has more.
    """

    async def read_step(transaction: Transaction) -> BacklogStep[E]:
        parts: list[WorkspaceStep[E]] = []
        files, size = _MAX_FILES, max_bytes
        for at, workspace_id in enumerate(workspace_ids):
            if files <= 0 or size <= 0:
                return BacklogStep(index, parts, [*workspace_ids[at:]])
            backlog = await _backlog(transaction, workspace_id, index, files, size)
            if backlog is None:
                continue
            live = await live_heads(transaction, workspace_id, [*backlog.files])
            entries = await index.extract(transaction, workspace_id, live)
            parts.append(
                WorkspaceStep(workspace_id, backlog.files, entries, backlog.begin, backlog.end)
            )
            if backlog.more:
                return BacklogStep(index, parts, [*workspace_ids[at + 1 :], workspace_id])
            files, size = files - len(backlog.files), size - backlog.size
        return BacklogStep(index, parts, [])

    return read_step


def commit_step(step: BacklogStep[E]) -> Script[StoredStep]:
    """Store what ``step`` indexes, or a part of a long text."""

    async def store_step(transaction: Transaction) -> StoredStep:
        stored = StoredStep([], [])
        for part in step.parts:
            finished = await _store(transaction, step.index, part)
            if finished is None:
                stored.overtaken.append(part.workspace_id)
            elif not finished:
                stored.unfinished.append(part.workspace_id)
        return stored

    return store_step


async def _store(
    transaction: Transaction, index: FileIndex[E], part: WorkspaceStep[E]
) -> bool | None:
    """Return whether all of ``part`` is indexed; None when it was overtaken."""
    workspace_id = part.workspace_id
    cursor = await _cursor(transaction, workspace_id, index)
    if cursor is None or cursor[1] != part.begin:
        return None
    # Before the entries: a transaction of another process that stores the same step conflicts here
    # and is repeated; inserting the same entries would be an error.
    await transaction.execute(_MOVE_CURSOR, workspace_id, index.name, *part.end)
    rows = await select_in(transaction, _POSITIONS, workspace_id, [*part.files])
    same = [FileId(row[0]) for row in rows if row[1] == part.files[FileId(row[0])]]
    entries = {file_id: part.entries[file_id] for file_id in same if file_id in part.entries}
    finished = await index.update(transaction, workspace_id, same, entries)
    if not finished:
        await transaction.execute(_MOVE_CURSOR, workspace_id, index.name, *part.begin)
    return finished


async def unindexed_files(
    transaction: Transaction,
    workspace_id: WorkspaceId,
    index: FileIndex[E],
    max_files: int,
    max_bytes: int,
) -> list[FileId] | None:
    """Return the files that changed since ``index`` was updated; None when these are too many."""
    backlog = await _backlog(transaction, workspace_id, index, max_files, max_bytes)
    if backlog is None:
        return []
    return None if backlog.more or backlog.size > max_bytes else [*backlog.files]


async def live_heads(
    transaction: Transaction, workspace_id: WorkspaceId, file_ids: Sequence[FileId]
) -> dict[FileId, Revision]:
    """Return the heads of those files that are live."""
    rows = await select_in(transaction, _HEADS, workspace_id, file_ids)
    return {head.file_id: head for head in map(revision_of, rows)}


async def _cursor(
    transaction: Transaction, workspace_id: WorkspaceId, index: FileIndex[E]
) -> tuple[int, BacklogCursor] | None:
    """Return the position of the workspace and its cursor; None when nothing is left."""
    row = await transaction.fetch_one(_CURSOR, workspace_id, index.name)
    if row is None or row[0] < row[1]:
        return None
    return row[0], BacklogCursor(row[1], row[2])


async def _backlog(
    transaction: Transaction,
    workspace_id: WorkspaceId,
    index: FileIndex[E],
    max_files: int,
    max_bytes: int,
) -> _Backlog | None:
    """Return the next files to index, within limits; None when nothing is left."""
    cursor = await _cursor(transaction, workspace_id, index)
    if cursor is None:
        return None
    position, begin = cursor
    rows = await transaction.fetch_all(_NEXT, workspace_id, *begin, max_files + 1)
    end = page_end([(BacklogCursor(*row[:2]), row[3]) for row in rows], max_files, max_bytes)
    taken = [row for row in rows if end is None or (row[0], row[1]) <= end]
    return _Backlog(
        {FileId(row[2]): row[0] for row in taken},
        sum(row[3] for row in taken),
        begin,
        BacklogCursor(position + 1, 0) if end is None else end,
        more=end is not None,
    )
