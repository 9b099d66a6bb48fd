"""Let the links of folders follow them, in the transaction that moves the folders."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from octavo_rules.identity import FileId, WorkspaceId

from octavo.features.publishing.rules import holds_only_moved, is_below, moved_folder
from octavo.model.files.changeset import MAX_OPERATIONS
from octavo.model.files.path import range_below
from octavo.model.files.plan import Plan, may_move
from octavo.model.files.revision import Revision
from octavo.store.queries.revision_rows import execute_each, select_in
from octavo.store.transaction import Transaction

_FOLDERS = """
    SELECT id, folder FROM publications
    WHERE workspace_id = $1::uuid AND folder IS NOT NULL AND folder <> ''
        AND revoked_at IS NULL AND taken_down_at IS NULL
"""
_FOLLOW = "UPDATE publications SET folder = $2 WHERE id = $1::uuid"
_PATHS = """
    SELECT path FROM files WHERE workspace = $1 AND state = 'live' AND file_id IN ($ids)
"""
_FILES_BELOW = """
    SELECT file_id, path FROM files
    WHERE workspace = $1 AND state = 'live' AND path >= $2 AND path < $3 LIMIT $4
"""

_Places = Mapping[FileId, str | None]
"""The paths of changed files; None for those that are not live."""


async def follow_folders(
    transaction: Transaction, workspace_id: WorkspaceId, workspace: int, plans: Sequence[Plan]
) -> None:
    """Change the paths of the links whose folders ``plans`` move; call it before they are stored.

    ``workspace`` is the number of the workspace. Each plan is considered by itself: one changeset
    has to move the whole folder.
    """
    moving = [plan for plan in plans if may_move(plan)]
    if not moving:
        return
    links = {row[0]: row[1] for row in await transaction.fetch_all(_FOLDERS, workspace_id)}
    if not links:
        return
    names = [change.head.file_id for plan in moving for change in plan.changed]
    left = {row[0] for row in await select_in(transaction, _PATHS, workspace, names)}
    folders = links
    before: dict[FileId, str | None] = {}
    for plan in plans:
        after = {change.head.file_id: _place_of(change.head) for change in plan.changed}
        if plan in moving:
            # Only a folder above a file that moves can move, and all of them move at once: one may
            # take the place of another.
            left |= {path for path in before.values() if path is not None}
            candidates = set(folders.values()) & {above for path in left for above in _above(path)}
            moved = {
                folder: await _moved(transaction, workspace, folder, before, after)
                for folder in sorted(candidates)
            }
            folders = {link: moved.get(folder) or folder for link, folder in folders.items()}
        before.update(after)
    followed = [(link, folder) for link, folder in folders.items() if folder != links[link]]
    await execute_each(transaction, _FOLLOW, followed)


def _above(path: str) -> Iterator[str]:
    """Yield the folders above a file."""
    at = path.find("/")
    while at >= 0:
        yield path[:at]
        at = path.find("/", at + 1)


def _place_of(head: Revision) -> str | None:
    return head.path if head.state == "live" else None


async def _moved(
    transaction: Transaction, workspace: int, folder: str, before: _Places, after: _Places
) -> str | None:
    """Return where a changeset has moved ``folder``; None if it has not.

    ``before`` has the places of the files that earlier changesets of the batch have changed,
    ``after`` those of the files that this one has.
    """
    was = await _files_below(transaction, workspace, folder, before)
    moves = [
        (path, after[name] or "") for name, path in was.items() if after.get(name, path) != path
    ]
    if not moves:
        return None
    staying = [path for name, path in was.items() if after.get(name, path) == path]
    gone = [path for path, new in moves if not new]
    target = moved_folder(folder, moves, [*staying, *gone])
    if target is None:
        return None
    arrived = await _files_below(transaction, workspace, target, {**before, **after})
    return target if holds_only_moved(arrived.values(), folder, moves) else None


async def _files_below(
    transaction: Transaction, workspace: int, folder: str, changed: _Places
) -> dict[FileId, str]:
    """Return the paths of the live files below a folder, when some files have ``changed``.

    If there are more than one changeset can move, only some of them are returned.
    """
    most = MAX_OPERATIONS + 1 + len(changed)
    rows = await transaction.fetch_all(_FILES_BELOW, workspace, *range_below(folder), most)
    unchanged = {row[0]: row[1] for row in rows if row[0] not in changed}
    arrived = {
        name: path for name, path in changed.items() if path is not None and is_below(path, folder)
    }
    return {**unchanged, **arrived}
