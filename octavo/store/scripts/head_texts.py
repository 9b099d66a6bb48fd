"""Read the texts of files."""

from __future__ import annotations

from collections.abc import Sequence

from octavo.model.identity import FileId, WorkspaceId
from octavo.store.compression import undamaged
from octavo.store.scripts.revision_rows import WORKSPACE
from octavo.store.scripts.select_in import select_in
from octavo.store.transaction import Transaction

_TEXTS = f"""
    SELECT files.file_id, contents.compressed
    FROM files JOIN contents ON contents.number = files.content
    WHERE files.workspace = {WORKSPACE} AND files.file_id IN ($ids)
"""


async def texts_of(
    transaction: Transaction, workspace_id: WorkspaceId, file_ids: Sequence[FileId]
) -> dict[FileId, str]:
    """Return the texts of heads by their files.

    Images and purged files are left out, and damaged texts.
    """
    rows = await select_in(transaction, _TEXTS, workspace_id, file_ids)
    found = ((FileId(row[0]), undamaged(row[1])) for row in rows)
    return {file_id: text for file_id, text in found if text is not None}
