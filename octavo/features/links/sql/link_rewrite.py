"""Read the notes whose links may have to change when files move."""

from __future__ import annotations

from collections.abc import Mapping

from octavo_rules.identity import FileId, WorkspaceId

from octavo.actors.workspace.planning import NotesToRewrite
from octavo.features.links.sql.link_queries import linking_to
from octavo.model.refusal import TooManyFiles
from octavo.store.queries.files import StoredFile, file, files
from octavo.store.queries.marks import cursor_of
from octavo.store.transaction import Script, Transaction

MAX_NOTES = 1000
"""Notes that one changeset changes in addition to those that it names."""
MAX_BYTES = 16 * 1024 * 1024
"""Of their texts."""


_TOO_MANY = (
    f"More than {MAX_NOTES} notes, or {MAX_BYTES >> 20} MiB of them, link to what moves: move it in"
    " parts, or without rewriteLinks."
)


def notes_to_rewrite(
    workspace_id: WorkspaceId, moving: Mapping[FileId, str]
) -> Script[NotesToRewrite | None]:
    """Return the notes that moves of files to new paths may affect; None without the workspace.

    The notes are exact at the cursor that is returned with them. Raises `LinksOutdated`, and
    `TooManyFiles` when they are more, or longer, than one changeset may change.
    """

    async def read_notes(transaction: Transaction) -> NotesToRewrite | None:
        cursor = await cursor_of(workspace_id)(transaction)
        if cursor is None:
            return None
        moved = await _heads(transaction, workspace_id, moving)
        linking, more = await linking_to(
            workspace_id, [*moving], [*moving.values()], FileId(""), MAX_BYTES
        )(transaction)
        if more is not None or len(linking) > MAX_NOTES:
            raise TooManyFiles(_TOO_MANY)
        texts = {each.revision.file_id: each.text for each in moved if each.text is not None}
        texts |= {each.file_id: each.text for each in linking}
        return NotesToRewrite(cursor, texts)

    return read_notes


async def _heads(
    transaction: Transaction, workspace_id: WorkspaceId, moving: Mapping[FileId, str]
) -> list[StoredFile]:
    """Return the heads of files that move, also of those that are deleted and come back."""
    found, _ = await files(workspace_id, [*moving], [], MAX_BYTES)(transaction)
    live = {each.revision.file_id for each in found}
    left = MAX_BYTES - sum(each.revision.size for each in found if each.text is not None)
    for file_id in moving.keys() - live:
        head = await file(workspace_id, file_id, left)(transaction)
        if head is None or head.revision.kind != "note":
            continue
        left -= head.revision.size
        if left < 0:
            raise TooManyFiles(_TOO_MANY)
        found.append(head)
    return found
