"""Read the documents of notes, at a position of their workspace."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from octavo.model.documents.document import StoredDocument
from octavo.model.documents.initial_document import initial
from octavo.model.identity import ContentId, Epoch, FileId, Position, WorkspaceId
from octavo.store.compression import text_of
from octavo.store.scripts.revision_rows import WORKSPACE
from octavo.store.scripts.select_in import select_in
from octavo.store.transaction import Row, Script, Transaction


class StoredDocuments(NamedTuple):
    """Documents by their files, and the position of the workspace at which they were read."""

    position: Position
    documents: dict[FileId, StoredDocument]


_DOCUMENTS = f"""
    SELECT files.file_id, documents.epoch_id, documents.state, documents.vector,
        COALESCE(files.content_id, files.revision_id) AS content_id,
        CASE WHEN documents.epoch_id IS NULL THEN contents.compressed END
    FROM files
    LEFT JOIN documents
        ON documents.workspace = files.workspace AND documents.file = files.number
    LEFT JOIN contents ON contents.number = files.content AND documents.epoch_id IS NULL
    WHERE files.workspace = {WORKSPACE} AND files.file_id IN ($ids)
"""


def documents_of(
    workspace_id: WorkspaceId, file_ids: Sequence[FileId]
) -> Script[StoredDocuments | None]:
    """Return the documents of those notes that exist; None without the workspace."""

    async def read_documents(transaction: Transaction) -> StoredDocuments | None:
        found = await transaction.fetch_one(
            "SELECT position FROM workspaces WHERE id = $1::uuid", workspace_id
        )
        if found is None:
            return None
        rows = await select_in(transaction, _DOCUMENTS, workspace_id, file_ids)
        documents = {FileId(row[0]): _document(row) for row in rows}
        return StoredDocuments(Position(found[0]), documents)

    return read_documents


def _document(row: Row) -> StoredDocument:
    file_id, epoch, state, vector, content_id, data = row
    if epoch is None:
        return initial(ContentId(content_id), text_of(data, file_id) or "")
    return StoredDocument(Epoch(epoch), bytes(state), bytes(vector))
