"""The feed of a workspace as a credential that is limited to a folder sees it.

A file that left the folder is listed as deleted, at the position at which it left; what happens to
it afterwards is not listed, except a purge. Each page reads a limited number of revisions, so
it may have few entries, or none, before the end.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence

from octavo_rules.identity import Cursor, FileId, Position, WorkspaceId

from octavo.model.files.confinement import Confinement
from octavo.model.files.revision import Revision, page_end
from octavo.store.queries.blobs import texts_of
from octavo.store.queries.feed import FeedSlice, Since, heads_between, read_cursor_since
from octavo.store.queries.files import StoredFile
from octavo.store.queries.revision_rows import (
    WORKSPACE,
    execute_each,
    from_both,
    revision_of,
    select_in,
)
from octavo.store.transaction import Script, Transaction

# A purge erases the paths of a file, so nothing tells afterwards whether it was in a folder. The
# keys whose folder it was in are recorded when it is purged: their devices must remove their
# copies.
_KEYS = "SELECT id, folder FROM api_keys WHERE workspaces = $1 AND folder IS NOT NULL"
_PATHS = f"""
    SELECT DISTINCT files.pk, revisions.path FROM revisions JOIN files
    ON files.workspace = revisions.workspace AND files.pk = revisions.file
    WHERE files.workspace = {WORKSPACE} AND files.file_id IN ($ids)
"""
_INSERT = "INSERT INTO folder_purges (workspace, file, key_id) VALUES ($1, $2, $3::uuid)"
_PURGED = f"""
    SELECT DISTINCT files.file_id FROM folder_purges
    JOIN api_keys ON api_keys.id = folder_purges.key_id
    JOIN files ON files.workspace = folder_purges.workspace AND files.pk = folder_purges.file
    WHERE folder_purges.workspace = {WORKSPACE} AND api_keys.folder = $2
    AND files.position > $3 AND files.position <= $4
"""


async def record_purges(
    transaction: Transaction, workspace_id: WorkspaceId, workspace: int, file_ids: Sequence[FileId]
) -> None:
    """Record which keys knew the purged files; call it before their paths are erased.

    ``workspace`` is the number of the workspace.
    """
    keys = await transaction.fetch_all(_KEYS, workspace_id)
    if not keys:
        return
    paths: dict[int, list[str]] = defaultdict(list)
    for number, path in await select_in(transaction, _PATHS, workspace_id, file_ids):
        paths[number].append(path)
    await execute_each(
        transaction,
        _INSERT,
        [
            (workspace, number, key_id)
            for key_id, folder in keys
            for number, known in paths.items()
            if any(map(Confinement(folder).covers, known))
        ],
    )


async def purged_within(
    transaction: Transaction,
    workspace_id: WorkspaceId,
    within: Confinement,
    after: Position,
    until: Position,
) -> set[FileId]:
    """Return the files once in a folder that were purged after a position and up to another."""
    rows = await transaction.fetch_all(_PURGED, workspace_id, within.folder, after, until)
    return {FileId(row[0]) for row in rows}


MAX_REVISIONS = 5_000
"""Maximum number of revisions that a page reads; those of one position are never divided."""

_POSITIONS = """
    SELECT position FROM {table} WHERE workspace = {workspace} AND position > $2
    ORDER BY position LIMIT $3
"""
_POSITIONS_OF = [
    _POSITIONS.format(table=table, workspace=WORKSPACE) for table in ("files", "revisions")
]
# Files that changed in a range of positions, and again later; the others are heads there.
_SUPERSEDED = f"""
    SELECT DISTINCT files.file_id, files.path FROM revisions JOIN files
    ON files.workspace = revisions.workspace AND files.pk = revisions.file
    WHERE revisions.workspace = {WORKSPACE}
    AND revisions.position > $2 AND revisions.position <= $3
"""
_EARLIER_PATHS = f"""
    SELECT DISTINCT files.file_id, revisions.path FROM revisions JOIN files
    ON files.workspace = revisions.workspace AND files.pk = revisions.file
    WHERE files.workspace = {WORKSPACE} AND files.file_id IN ($ids)
"""
_HISTORIES = from_both(
    f"""SELECT {{columns}} FROM {{source}}
    WHERE files.workspace = {WORKSPACE} AND files.file_id IN ($ids)"""
)


def folder_feed(
    workspace_id: WorkspaceId,
    since: Since,
    limit: int,
    max_bytes: int,
    within: Confinement,
    *,
    texts: bool,
) -> Script[FeedSlice | None]:
    """Return the same as `octavo.store.queries.feed.feed`, for the files ``within`` a folder."""
    after = since.position

    async def read_page(transaction: Transaction) -> FeedSlice | None:
        cursor = await read_cursor_since(transaction, workspace_id, since)
        if cursor is None:
            return None
        until = await _looked_at(transaction, workspace_id, after) or cursor.position
        heads = await heads_between(workspace_id, after, until)(transaction)
        entries = [head for head in heads if within.covers(head.path)]
        outside = {head.file_id: head.path for head in heads if not within.covers(head.path)}
        rows = await transaction.fetch_all(_SUPERSEDED, workspace_id, after, until)
        outside |= {FileId(row[0]): row[1] for row in rows if not within.covers(row[1])}
        purged = [head for head in heads if head.state == "purged"]
        if purged:
            known = await purged_within(transaction, workspace_id, within, after, until)
            entries += [head for head in purged if head.file_id in known]
        # A purged file has no paths any more.
        names = [file_id for file_id, path in outside.items() if path]
        left = await _departures(transaction, workspace_id, names, within)
        entries += [revision for revision in left if after < revision.position <= until]
        entries.sort(key=lambda entry: (entry.position, entry.file_id))
        sizes = [(entry.position, _text_size(entry) if texts else 0) for entry in entries]
        end = page_end(sizes, limit, max_bytes)
        page = [entry for entry in entries if end is None or entry.position <= end]
        whole = texts and sum(map(_text_size, page)) <= max_bytes
        contents: dict[FileId, str] = {}
        if whole:
            live = [entry.file_id for entry in page if entry.state == "live"]
            contents = await texts_of(transaction, workspace_id, live)
        stored = [StoredFile(entry, contents.get(entry.file_id)) for entry in page]
        following = until if end is None else Position(end)
        reached = Cursor(following, cursor.mark)
        return FeedSlice(stored, whole, reached, cursor)

    return read_page


async def _looked_at(
    transaction: Transaction, workspace_id: WorkspaceId, after: Position
) -> Position | None:
    """Return the position up to which a page reads; None if it reads to the end."""
    positions: list[int] = []
    for sql in _POSITIONS_OF:
        rows = await transaction.fetch_all(sql, workspace_id, after, MAX_REVISIONS + 1)
        positions += [row[0] for row in rows]
    sizes = [(position, 0) for position in sorted(positions)[: MAX_REVISIONS + 1]]
    end = page_end(sizes, MAX_REVISIONS, 0)
    return None if end is None else Position(end)


async def _departures(
    transaction: Transaction,
    workspace_id: WorkspaceId,
    file_ids: Sequence[FileId],
    within: Confinement,
) -> list[Revision]:
    """Return the revisions by which files have left the folder, those that were once in it."""
    rows = await select_in(transaction, _EARLIER_PATHS, workspace_id, file_ids)
    once = list(dict.fromkeys(FileId(row[0]) for row in rows if within.covers(row[1])))
    histories: dict[FileId, list[Revision]] = defaultdict(list)
    for row in await select_in(transaction, _HISTORIES, workspace_id, once):
        revision = revision_of(row)
        histories[revision.file_id].append(revision)
    left = [
        within.departure(sorted(history, key=lambda revision: revision.position))
        for history in histories.values()
    ]
    return [revision for revision in left if revision is not None]


def _text_size(head: Revision) -> int:
    return head.size if head.state == "live" and head.kind == "note" else 0
