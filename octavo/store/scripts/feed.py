"""What changed in a workspace: page by page, or all of it as it stood at one position."""

from __future__ import annotations

from typing import NamedTuple

from octavo.model.files.feed import page_end
from octavo.model.identity import FileId, Position, WorkspaceId
from octavo.store.scripts.changesets import WorkspaceGone
from octavo.store.scripts.files import StoredFile
from octavo.store.scripts.rows import COUNT, columns_of, revision_of
from octavo.store.transaction import Script, Transaction

_TEXT = """
    LEFT JOIN contents ON contents.workspace_id = {table}.workspace_id
    AND contents.content_id = {table}.content_id
"""
# The revision that a file had at the position $2.
_AS_OF = """
    revisions.workspace_id = files.workspace_id AND revisions.file_id = files.file_id
    AND revisions.position =
        (SELECT MAX(older.position) FROM revisions AS older
        WHERE older.workspace_id = files.workspace_id
        AND older.file_id = files.file_id AND older.position <= $2)
"""


class FeedPage(NamedTuple):
    """One page of the feed.

    Attributes:
        entries: heads in the order of their positions; all of one position or none.
        texts: whether the entries hold their texts.
        following: the cursor for the next page.
        position: of the workspace.
    """

    entries: list[StoredFile]
    texts: bool
    following: Position
    position: Position


def feed(
    workspace_id: WorkspaceId, after: Position, limit: int, most_bytes: int, *, texts: bool
) -> Script[FeedPage | None]:
    """Answer the heads that changed after a position, each file once, with their texts or not.

    ``limit`` and ``most_bytes`` are those of `page_end`; without texts the bytes don't count. What
    stands at one position alone and has more than ``most_bytes`` comes without its texts, too.
    None: there is no such workspace.
    """

    async def script(transaction: Transaction) -> FeedPage | None:
        found = await transaction.fetch_one(
            "SELECT position FROM workspaces WHERE id = $1", workspace_id
        )
        if found is None:
            return None
        position = Position(found[0])
        sizes = await transaction.fetch_all(
            "SELECT position, size FROM files WHERE workspace_id = $1 AND position > $2"
            " ORDER BY position LIMIT $3",
            workspace_id,
            after,
            limit + 1,
        )
        counted = [(row[0], row[1] if texts else 0) for row in sizes]
        end = page_end(counted, limit, most_bytes)
        following = position if end is None else end
        whole = texts
        if texts and counted and counted[0][0] == following:
            # A changeset is never torn: it may be more than was counted, and more than a page.
            row = await transaction.fetch_one(
                "SELECT SUM(size) FROM files WHERE workspace_id = $1 AND position = $2",
                workspace_id,
                following,
            )
            whole = row is not None and row[0] <= most_bytes
        joined = _TEXT.format(table="files") if whole else ""
        rows = await transaction.fetch_all(
            f"SELECT {columns_of('files')}{', contents.text' if whole else ''} FROM files {joined}"
            " WHERE files.workspace_id = $1 AND files.position > $2 AND files.position <= $3"
            " ORDER BY files.position, files.file_id",
            workspace_id,
            after,
            following,
        )
        entries = [StoredFile(revision_of(row), row[COUNT] if whole else None) for row in rows]
        return FeedPage(entries, whole, Position(following), position)

    return script


def position_of(workspace_id: WorkspaceId) -> Script[Position | None]:
    """Answer the position of the newest changeset; None when there is no such workspace."""

    async def script(transaction: Transaction) -> Position | None:
        row = await transaction.fetch_one(
            "SELECT position FROM workspaces WHERE id = $1", workspace_id
        )
        return None if row is None else Position(row[0])

    return script


def live_at(
    workspace_id: WorkspaceId, position: Position, after: FileId, limit: int, most_bytes: int
) -> Script[tuple[list[StoredFile], FileId | None]]:
    """Answer files that were live at ``position``, as they were then, in the order of their ids.

    ``after`` is the id to go on behind; at most ``limit`` files are looked at, and about
    ``most_bytes`` of text. Beside the files stands the last id that was looked at, None when
    there are no more. A file that was purged since is left out. Raises `WorkspaceGone`.
    """

    async def script(transaction: Transaction) -> tuple[list[StoredFile], FileId | None]:
        if (
            await transaction.fetch_one("SELECT 1 FROM workspaces WHERE id = $1", workspace_id)
            is None
        ):
            raise WorkspaceGone
        ids = await transaction.fetch_all(
            f"""
            SELECT files.file_id, COALESCE(revisions.size, 0)
            FROM files LEFT JOIN revisions ON {_AS_OF}
            WHERE files.workspace_id = $1 AND files.file_id > $3 ORDER BY files.file_id LIMIT $4
            """,
            workspace_id,
            position,
            after,
            limit + 1,
        )
        if not ids:
            return [], None
        end = page_end([(row[0], row[1]) for row in ids], limit, most_bytes)
        rows = await transaction.fetch_all(
            f"""
            SELECT {columns_of("revisions")}, contents.text
            FROM files JOIN revisions ON {_AS_OF} {_TEXT.format(table="revisions")}
            WHERE files.workspace_id = $1 AND files.file_id > $3 AND files.file_id <= $4
            AND files.state <> 'purged' AND revisions.state = 'live' ORDER BY files.file_id
            """,
            workspace_id,
            position,
            after,
            ids[-1][0] if end is None else end,
        )
        return [StoredFile(revision_of(row), row[COUNT]) for row in rows], end

    return script
