"""Read the changes of a workspace: heads, pages of the feed, and all files at a position."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from octavo_rules.identity import START, Cursor, FileId, Position, RevisionId, WorkspaceId

from octavo.model.files.confinement import Confinement
from octavo.model.files.revision import Revision, page_end
from octavo.model.usage import NOTHING, Amount
from octavo.store.compression import text_of
from octavo.store.queries import changesets, marks
from octavo.store.queries.files import StoredFile
from octavo.store.queries.revision_rows import (
    COLUMNS,
    COUNT,
    WORKSPACE,
    columns_of,
    revisions_of_rows,
)
from octavo.store.transaction import Row, Script, Transaction, single_statement

# Each row has the cursor, so that one statement is enough.
_HEADS_AFTER = f"""
    SELECT {columns_of("files")}, {marks.CURSOR}, {marks.is_known(2)} FROM workspaces
    LEFT JOIN files ON files.workspace = workspaces.pk AND files.position > $2
    WHERE workspaces.id = $1::uuid
"""
_ALL_HEADS = f"SELECT {COLUMNS} FROM files WHERE workspace = {WORKSPACE}"
_SIZES_AFTER = f"""
    SELECT position, size FROM files WHERE workspace = {WORKSPACE} AND position > $2
    ORDER BY position LIMIT $3
"""
_SIZE_AT = f"SELECT SUM(size) FROM files WHERE workspace = {WORKSPACE} AND position = $2"
_TEXT = "LEFT JOIN contents ON contents.pk = {table}.content"
_PAGE = f"""
    SELECT {{columns}} FROM files {{text}}
    WHERE files.workspace = {WORKSPACE} AND files.position > $2 AND files.position <= $3
    ORDER BY files.position, files.file_id
"""
_PAGE_OF_HEADS = _PAGE.format(columns=columns_of("files"), text="")
_PAGE_OF_TEXTS = _PAGE.format(
    columns=f"{columns_of('files')}, contents.compressed", text=_TEXT.format(table="files")
)
_LIVE = f"FROM files WHERE workspace = {WORKSPACE} AND state = 'live'"
_LIVE_CONTENTS = f"SELECT COALESCE(SUM(size), 0), COUNT(*) {_LIVE}"
_LIVE_PATHS = f"SELECT size, path {_LIVE}"
_EARLIER = f"""
    FROM revisions JOIN files
    ON files.workspace = revisions.workspace AND files.pk = revisions.file
    WHERE revisions.workspace = {WORKSPACE} AND files.state = 'live'
    AND revisions.content_revision_id IS NULL AND revisions.path <> ''
"""
_EARLIER_CONTENTS = f"SELECT COALESCE(SUM(revisions.size), 0), COUNT(*) {_EARLIER}"
_EARLIER_PATHS = f"SELECT revisions.size, revisions.path, files.path {_EARLIER}"
# The size of what is read with a file: an image has no text.
_TEXT_SIZE = "CASE files.kind WHEN 'note' THEN {table}.size ELSE 0 END"
_FILES_AFTER = f"""
    SELECT file_id, CASE WHEN position <= $2 THEN {_TEXT_SIZE.format(table="files")} END FROM files
    WHERE workspace = {WORKSPACE} AND file_id > $3::uuid ORDER BY file_id LIMIT $4
"""
# The revisions that files had at the position $2 which have changed since.
_CHANGED_SINCE = f"""
    FROM files JOIN revisions
    ON revisions.workspace = files.workspace AND revisions.file = files.pk
    AND revisions.position = (
        SELECT MAX(older.position) FROM revisions AS older
        WHERE older.workspace = files.workspace
        AND older.file = files.pk AND older.position <= $2
    ) {{text}}
    WHERE files.workspace = {WORKSPACE} AND files.file_id >= $3::uuid AND files.file_id <= $4::uuid
    AND files.position > $2
"""
_SIZES_SINCE = f"""
    SELECT files.file_id, {_TEXT_SIZE.format(table="revisions")} {_CHANGED_SINCE.format(text="")}
"""
_LIVE_SINCE = f"""
    SELECT {columns_of("revisions")}, contents.compressed
    {_CHANGED_SINCE.format(text=_TEXT.format(table="revisions"))}
    AND files.state <> 'purged' AND revisions.state = 'live'
"""
_LIVE_UNCHANGED = f"""
    SELECT {columns_of("files")}, contents.compressed FROM files {_TEXT.format(table="files")}
    WHERE files.workspace = {WORKSPACE} AND files.file_id >= $3::uuid AND files.file_id <= $4::uuid
    AND files.position <= $2 AND files.state = 'live'
"""


class Heads(NamedTuple):
    """Heads of files of a workspace.

    Attributes:
        cursor: of the workspace.
        known: whether its history has the cursor that was asked about.
        heads: the heads.
    """

    cursor: Cursor
    known: bool
    heads: list[Revision]


class FeedSlice(NamedTuple):
    """One page of the feed.

    Attributes:
        entries: heads in the order of their positions; those of one position are never separated.
        texts: whether the entries include their texts.
        following: the cursor for the next page: its mark is that of the workspace.
        cursor: of the workspace.
    """

    entries: list[StoredFile]
    texts: bool
    following: Cursor
    cursor: Cursor


def all_heads(workspace_id: WorkspaceId, last: Cursor = START) -> Script[Heads | None]:
    """Return the heads of all files, purged ones included; None without the workspace.

    Heads are also returned when ``last``, which the caller has seen, is not known any more.
    """

    async def read_heads(transaction: Transaction) -> Heads | None:
        checked = await marks.checked_cursor(workspace_id, last)(transaction)
        if checked is None:
            return None
        # In the order of the table, which is faster than by the index.
        rows = await transaction.fetch_all(_ALL_HEADS, workspace_id)
        return Heads(*checked, revisions_of_rows(rows))

    return read_heads


def heads_after(workspace_id: WorkspaceId, cursor: Cursor) -> Script[Heads | None]:
    """Return the heads of files, purged ones included, that changed after ``cursor``.

    The heads mean nothing if the cursor is not known. Returns None without the workspace.
    """

    @single_statement
    async def read_heads(transaction: Transaction) -> Heads | None:
        rows = await transaction.fetch_all(_HEADS_AFTER, workspace_id, *cursor)
        if not rows:
            return None
        last_columns = rows[0][COUNT:]
        heads = [] if rows[0][0] is None else revisions_of_rows(rows)
        return Heads(marks.cursor_of_row(last_columns), bool(last_columns[2]), heads)

    return read_heads


def heads_between(
    workspace_id: WorkspaceId, after: Position, until: Position
) -> Script[list[Revision]]:
    """Return the heads with positions after one and up to another, in their order."""

    async def read_heads(transaction: Transaction) -> list[Revision]:
        rows = await transaction.fetch_all(_PAGE_OF_HEADS, workspace_id, after, until)
        return revisions_of_rows(rows)

    return read_heads


class Since(NamedTuple):
    """The changes that a device has: all up to a position, whose mark it may know."""

    position: Position
    mark: RevisionId | None = None


async def read_cursor_since(
    transaction: Transaction, workspace_id: WorkspaceId, since: Since
) -> Cursor | None:
    """Return the cursor of a workspace; None without it.

    Raises `CursorUnknown` if ``since`` has a mark, and the history of the workspace has none such.
    """
    last = START if since.mark is None else Cursor(since.position, since.mark)
    checked = await marks.checked_cursor(workspace_id, last)(transaction)
    if checked is None:
        return None
    cursor, known = checked
    if not known:
        raise marks.CursorUnknown(cursor)
    return cursor


def feed(
    workspace_id: WorkspaceId, since: Since, limit: int, max_bytes: int, *, texts: bool
) -> Script[FeedSlice | None]:
    """Return the heads that changed after a position, each file once, with or without their texts.

    ``limit`` and ``max_bytes`` are those of `page_end`; without texts the bytes don't count. When
    the changes of the first position alone have more than ``max_bytes``, they come without texts.
    Returns None without the workspace. Raises `CursorUnknown`.
    """
    after = since.position

    async def read_page(transaction: Transaction) -> FeedSlice | None:
        cursor = await read_cursor_since(transaction, workspace_id, since)
        if cursor is None:
            return None
        position = cursor.position
        if after >= position:
            return FeedSlice([], texts, cursor, cursor)
        sizes = await transaction.fetch_all(_SIZES_AFTER, workspace_id, after, limit + 1)
        counted = [(row[0], row[1] if texts else 0) for row in sizes]
        end = page_end(counted, limit, max_bytes)
        following = position if end is None else end
        whole = texts
        if texts and counted and counted[0][0] == following:
            # A changeset is never divided: it may be more than was counted, and more than a page.
            of_first = [size for at, size in counted if at == following]
            size = sum(of_first)
            if len(of_first) > limit:
                row = await transaction.fetch_one(_SIZE_AT, workspace_id, following)
                size = size if row is None else row[0]
            whole = size <= max_bytes
        sql = _PAGE_OF_TEXTS if whole else _PAGE_OF_HEADS
        rows = await transaction.fetch_all(sql, workspace_id, after, following)
        texts_found = [text_of(row[COUNT], row[0]) if whole else None for row in rows]
        entries = [*map(StoredFile, revisions_of_rows(rows), texts_found)]
        reached = Cursor(Position(following), cursor.mark)
        return FeedSlice(entries, whole, reached, cursor)

    return read_page


def live_at(
    workspace_id: WorkspaceId,
    position: Position,
    after: FileId,
    limit: int,
    max_bytes: int,
    within: Confinement | None = None,
) -> Script[tuple[list[StoredFile], FileId | None]]:
    """Return files that were live at ``position``, as they were then, in the order of their ids.

    Args:
        workspace_id: which.
        position: a position that the workspace has reached.
        after: the id to continue after, at first empty.
        limit: how many files are looked at, at most.
        max_bytes: how many bytes of text are read, about.
        within: only files that were in this folder then are returned.

    Returns:
        The files, and the id to continue after; None after the last one. Files that were purged
        since are left out.

    Raises:
        WorkspaceGone: there is no such workspace.
    """

    async def read_live(transaction: Transaction) -> tuple[list[StoredFile], FileId | None]:
        if await marks.cursor_of(workspace_id)(transaction) is None:
            raise changesets.WorkspaceGone
        listed = await transaction.fetch_all(_FILES_AFTER, workspace_id, position, after, limit + 1)
        if not listed:
            return [], None
        span = (workspace_id, position, listed[0][0])
        changed: dict[FileId, int] = {}
        if any(row[1] is None for row in listed):
            rows = await transaction.fetch_all(_SIZES_SINCE, *span, listed[-1][0])
            changed = {row[0]: row[1] for row in rows}
        sizes = [(row[0], changed.get(row[0], 0) if row[1] is None else row[1]) for row in listed]
        end = page_end(sizes, limit, max_bytes)
        last = listed[-1][0] if end is None else end
        rows = await transaction.fetch_all(_LIVE_UNCHANGED, *span, last)
        files = _stored(rows)
        if changed:
            files += _stored(await transaction.fetch_all(_LIVE_SINCE, *span, last))
        if within is not None:
            files = [file for file in files if within.covers(file.revision.path)]
        return sorted(files, key=lambda file: file.revision.file_id), end

    return read_live


def live_contents(
    workspace_id: WorkspaceId, *, images: bool, within: Confinement | None = None
) -> Script[Amount]:
    """Return how many live notes a workspace has, and their size; with or without its images.

    With ``within``, only those in a folder.
    """
    kinds = "" if images else " AND kind = 'note'"
    if within is not None:
        return _sum_within(_LIVE_PATHS + kinds, workspace_id, within)
    return _sum_of(_LIVE_CONTENTS + kinds, workspace_id)


def earlier_sizes(workspace_id: WorkspaceId, within: Confinement | None = None) -> Script[Amount]:
    """Return how many contents the earlier revisions of live files brought, and their size.

    With ``within``, only those that are visible in a folder.
    """
    if within is not None:
        return _sum_within(_EARLIER_PATHS, workspace_id, within)
    return _sum_of(_EARLIER_CONTENTS, workspace_id)


def _sum_within(sql: str, workspace_id: WorkspaceId, within: Confinement) -> Script[Amount]:
    async def sum_sizes(transaction: Transaction) -> Amount:
        rows = await transaction.fetch_all(sql, workspace_id)
        sizes = [row[0] for row in rows if all(map(within.covers, row[1:]))]
        return Amount(sum(sizes), len(sizes))

    return sum_sizes


def _sum_of(sql: str, workspace_id: WorkspaceId) -> Script[Amount]:
    async def sum_contents(transaction: Transaction) -> Amount:
        row = await transaction.fetch_one(sql, workspace_id)
        return NOTHING if row is None else Amount(int(row[0]), row[1])

    return sum_contents


def _stored(rows: Sequence[Row]) -> list[StoredFile]:
    return [
        *map(StoredFile, revisions_of_rows(rows), [text_of(row[COUNT], row[0]) for row in rows])
    ]
