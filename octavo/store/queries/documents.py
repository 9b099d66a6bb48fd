"""The documents of notes, which follow their texts when somebody needs them.

A text that is written leaves the document of its note as it is: each document names the content
whose text it has. It is brought up to date before it is read or merged with an update
(`octavo.actors.workspace.planning`).

The updates of devices are appended to those that are stored beside a document, as long as these are
few (`octavo.model.documents.update_log`). The present document is the stored one with them.

A note without a stored document has the insertion of its text, in an epoch that is named after its
content. That is no longer derived from the head when the text is replaced; so the former text is
preserved then, unless no document of the workspace has ever been read.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from contextlib import suppress
from typing import NamedTuple

from octavo_rules.documents.document import (
    ChangedDocument,
    MergeUpdates,
    StoredDocument,
    TextDocument,
    initial,
)
from octavo_rules.identity import ContentId, Cursor, Epoch, FileId, Position, WorkspaceId
from octavo_rules.problems import DocumentMalformed

from octavo.model.documents.update_log import packed, unpacked
from octavo.store.compression import text_of, undamaged
from octavo.store.queries.marks import CURSOR, cursor_of_row
from octavo.store.queries.revision_rows import WORKSPACE, execute_each, select_in
from octavo.store.transaction import Row, Script, Transaction


class FollowedDocument(NamedTuple):
    """A document with the head that it follows.

    Attributes:
        stored: the document; None if it was not asked for, or can't be read.
        followed: the content that the stored document names; None without a stored one.
        text: the text of the head if the document may have another one; None for the same, and when
            it can't be read.
    """

    stored: TextDocument | None
    followed: ContentId | None
    text: str | None


class FollowedDocuments(NamedTuple):
    """Documents by their files.

    Attributes:
        cursor: that of the workspace at which they were read.
        read: whether a document of the workspace may have been read.
    """

    cursor: Cursor
    read: bool
    documents: dict[FileId, FollowedDocument]


DOCUMENT = (
    "documents.epoch_id, documents.content_revision_id, documents.base_state, documents.vector"
)
"""The columns of a stored document, as `document_of_row` takes them."""
IS_CURRENT = (
    "documents.content_revision_id = COALESCE(files.content_revision_id, files.revision_id)"
)
"""Whether a document has the text of the head."""
WITH_DOCUMENT = """
    JOIN documents ON documents.workspace = files.workspace AND documents.file = files.pk
"""
_CONTENT = "COALESCE(files.content_revision_id, files.revision_id) AS content_revision_id"
_DOCUMENTS = f"""
    SELECT files.file_id, {_CONTENT}, {DOCUMENT},
        CASE WHEN {IS_CURRENT} THEN NULL ELSE contents.compressed END
    FROM files LEFT {WITH_DOCUMENT} LEFT JOIN contents ON contents.pk = files.content
    WHERE files.workspace = {WORKSPACE} AND files.file_id IN ($ids)
"""
_TEXTS = f"""
    SELECT files.file_id, contents.compressed, documents.content_revision_id
    FROM files LEFT JOIN contents ON contents.pk = files.content LEFT {WITH_DOCUMENT}
    WHERE files.workspace = {WORKSPACE} AND files.file_id IN ($ids)
"""
OF_FILE = """
    workspace = $1 AND file = (SELECT pk FROM files WHERE workspace = $1 AND file_id = $2::uuid)
"""
_UPDATES = f"""
    SELECT files.file_id, document_updates.updates FROM files
    JOIN document_updates ON document_updates.workspace = files.workspace
        AND document_updates.file = files.pk
    WHERE files.workspace = {WORKSPACE} AND files.file_id IN ($ids)
    ORDER BY document_updates.file, document_updates.position
"""
_APPEND = """
    INSERT INTO document_updates (workspace, file, position, updates)
    SELECT workspace, pk, $3, $4 FROM files WHERE workspace = $1 AND file_id = $2::uuid
"""
# On SQLite the row keeps its size, and the pages of its state are not written.
_NAME_CONTENT = f"""
    UPDATE documents SET content_revision_id = $3::uuid WHERE {OF_FILE} AND epoch_id = $4::uuid
    AND $5 = (SELECT COALESCE(SUM(LENGTH(updates)), 0) FROM document_updates WHERE {OF_FILE})
"""
_DELETE_OF_FILE = f"DELETE FROM documents WHERE {OF_FILE}"
_DELETE_UPDATES_OF_FILE = f"DELETE FROM document_updates WHERE {OF_FILE}"
_DOCUMENT = f"SELECT {DOCUMENT} FROM documents WHERE workspace = $1 AND file = $2"
_OF_DOCUMENT = """
    SELECT position, updates FROM document_updates WHERE workspace = $1 AND file = $2
    ORDER BY position
"""
_REPLACE = "UPDATE documents SET base_state = $3, vector = $4 WHERE workspace = $1 AND file = $2"
_DELETE = "DELETE FROM documents WHERE workspace = $1 AND file = $2"
_DELETE_UPDATES = "DELETE FROM document_updates WHERE workspace = $1 AND file = $2"
_CONTENT_OF_DOCUMENT = (
    "SELECT content_revision_id FROM documents WHERE workspace = $1 AND file = $2"
)
_PUT = """
    INSERT INTO documents (workspace, file, epoch_id, content_revision_id, base_state, vector)
    SELECT workspace, pk, $3::uuid, $4::uuid, $5, $6 FROM files
    WHERE workspace = $1 AND file_id = $2::uuid
    ON CONFLICT (workspace, file) DO UPDATE SET epoch_id = excluded.epoch_id,
        content_revision_id = excluded.content_revision_id, base_state = excluded.base_state,
        vector = excluded.vector
"""
_STORED_CONTENTS = f"""
    SELECT files.file_id, documents.content_revision_id FROM files {WITH_DOCUMENT}
    WHERE files.workspace = $1 AND files.file_id IN ($ids)
"""
_PRESERVE = """
    INSERT INTO documents (workspace, file, epoch_id, content_revision_id, base_state, vector)
    SELECT files.workspace, files.pk, COALESCE(content_revision_id, revision_id),
        COALESCE(content_revision_id, revision_id), contents.compressed, $3
    FROM files JOIN contents ON contents.pk = files.content
    WHERE files.workspace = $1 AND files.file_id = $2::uuid AND files.kind = 'note'
    ON CONFLICT (workspace, file) DO NOTHING
"""
_NO_VECTOR = b""


def documents_of(
    workspace_id: WorkspaceId, file_ids: Sequence[FileId], texts_of: Sequence[FileId] = ()
) -> Script[FollowedDocuments | None]:
    """Return the documents of those notes that exist; None without the workspace.

    Of the notes ``texts_of``, the texts alone are returned.
    """

    async def read_documents(transaction: Transaction) -> FollowedDocuments | None:
        workspace = await transaction.fetch_one(
            f"SELECT {CURSOR}, documents_were_read FROM workspaces WHERE id = $1::uuid",
            workspace_id,
        )
        if workspace is None:
            return None
        rows = await select_in(transaction, _DOCUMENTS, workspace_id, file_ids)
        updates = await updates_beside(transaction, workspace_id, file_ids)
        documents = {FileId(row[0]): _followed(row, updates) for row in rows}
        rows = await select_in(transaction, _TEXTS, workspace_id, texts_of)
        for file_id, data, followed in rows:
            text = None if data is None else undamaged(data)
            documents[file_id] = FollowedDocument(None, ContentId(followed or ""), text)
        return FollowedDocuments(cursor_of_row(workspace), bool(workspace[2]), documents)

    return read_documents


async def updates_beside(
    transaction: Transaction, workspace_id: WorkspaceId, file_ids: Sequence[FileId]
) -> dict[FileId, bytes]:
    """Return the updates beside the documents of files, packed; those that have none are absent."""
    rows = await select_in(transaction, _UPDATES, workspace_id, file_ids)
    packed_updates: dict[FileId, bytes] = {}
    for file_id, updates in rows:
        packed_updates[file_id] = packed_updates.get(file_id, b"") + bytes(updates)
    return packed_updates


def _followed(row: Row, updates: Mapping[FileId, bytes]) -> FollowedDocument:
    file_id, content_id, *stored, data = row
    if stored[0] is None:
        derived = initial(ContentId(content_id), text_of(data, file_id) or "")
        return FollowedDocument(TextDocument(derived, ContentId(content_id)), None, None)
    text = None if data is None else undamaged(data)
    document = document_of_row(stored, updates.get(file_id, b""))
    return FollowedDocument(document, ContentId(stored[1] or ""), text)


def document_of_row(row: Row, updates: bytes) -> TextDocument | None:
    """Return the document from the columns `DOCUMENT` and its updates; None if it is damaged."""
    epoch, content_id, state, vector = row
    if bytes(vector) == _NO_VECTOR:
        text = undamaged(bytes(state))
        if text is None:
            return None
        document = initial(ContentId(epoch), text)
    else:
        document = StoredDocument(Epoch(epoch), bytes(state), bytes(vector))
    try:
        return TextDocument(document, ContentId(content_id or ""), unpacked(updates))
    except DocumentMalformed:
        return None


async def put_documents(
    transaction: Transaction,
    workspace: int,
    position: Position,
    documents: Sequence[ChangedDocument],
) -> bool:
    """Store documents at a position, or what is appended to those that are stored.

    Returns False if another process has brought one of them up to date since it was read, which has
    other items for the same text, or has stored it whole: what is appended may read differently
    then. The transaction must be rolled back.
    """
    followed = {
        document.file_id: document.followed
        for document in documents
        if document.followed is not None
    }
    if followed:
        rows = await select_in(transaction, _STORED_CONTENTS, workspace, [*followed])
        if {row[0]: row[1] or "" for row in rows} != followed:
            return False
    for file_id, new, _, appended in documents:
        if appended:
            beside = len(packed(new.updates[: -len(appended)]))
            named = (workspace, file_id, new.content_id, new.document.epoch, beside)
            if not await transaction.execute(_NAME_CONTENT, *named):
                return False
    whole = [document for document in documents if not document.appended]
    rows = [
        (workspace, file_id, position, packed(update))
        for file_id, _, _, update in documents
        if update
    ]
    await execute_each(transaction, _APPEND, rows)
    files = [(workspace, document.file_id) for document in whole]
    await execute_each(transaction, _DELETE_UPDATES_OF_FILE, files)
    values = [
        (workspace, file_id, new.document.epoch, new.content_id, *new.document[1:])
        for file_id, new, *_ in whole
    ]
    await execute_each(transaction, _PUT, values)
    return True


async def delete_documents(
    transaction: Transaction, workspace: int, file_ids: Sequence[FileId]
) -> None:
    """Delete the documents of files."""
    files = [(workspace, file_id) for file_id in file_ids]
    await execute_each(transaction, _DELETE_UPDATES_OF_FILE, files)
    await execute_each(transaction, _DELETE_OF_FILE, files)


async def delete_document_of(
    transaction: Transaction, workspace: int, file: int, content_ids: Collection[str]
) -> None:
    """Delete the document of a file, by its numbers, if it has the text of one of the contents."""
    row = await transaction.fetch_one(_CONTENT_OF_DOCUMENT, workspace, file)
    if row is not None and row[0] in content_ids:
        await transaction.execute(_DELETE_UPDATES, workspace, file)
        await transaction.execute(_DELETE, workspace, file)


async def merge_updates(
    transaction: Transaction, workspace: int, file: int, merge: MergeUpdates
) -> None:
    """Merge the updates beside the document of a file into it.

    An update has its text for good, while a document has none that was deleted.
    """
    rows = await transaction.fetch_all(_OF_DOCUMENT, workspace, file)
    if not rows:
        return
    row = await transaction.fetch_one(_DOCUMENT, workspace, file)
    updates = b"".join([bytes(row[1]) for row in rows])
    document = None if row is None else document_of_row(row, updates)
    whole: StoredDocument | None = None
    if document is not None:
        with suppress(DocumentMalformed):
            whole = merge(document.document, document.updates)
    await transaction.execute(_DELETE_UPDATES, workspace, file)
    if whole is None:
        # It is damaged: from now on, the document of the note is derived from its text.
        await transaction.execute(_DELETE, workspace, file)
    else:
        await transaction.execute(_REPLACE, workspace, file, whole.state, whole.vector)


async def preserve_documents(
    transaction: Transaction, workspace: int, file_ids: Sequence[FileId]
) -> None:
    """Keep the documents of notes whose texts are about to be replaced, if they are derived."""
    rows = [(workspace, file_id, _NO_VECTOR) for file_id in file_ids]
    await execute_each(transaction, _PRESERVE, rows)
