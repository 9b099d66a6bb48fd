"""Index the words of notes for full text search, and remove them.

The rows of ``fulltext_notes`` record what is indexed of each note. An engine may need the text to
remove a note again; so a purged note is removed from the index before its texts are deleted.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from octavo.model.files.revision import Revision
from octavo.model.identity import FileId, WorkspaceId
from octavo.store.scripts.select_in import execute_each, select_in
from octavo.store.transaction import IndexedNote, NewNote, Script, Transaction, Value

_INDEXED = """
    SELECT file_id, number, content_id, path FROM fulltext_notes
    WHERE workspace_id = $1::uuid AND file_id IN ($ids)
"""
_SOME_INDEXED = """
    SELECT file_id, number, content_id, path FROM fulltext_notes
    WHERE workspace_id = $1::uuid ORDER BY file_id LIMIT $2
"""
_PUT = """
    INSERT INTO fulltext_notes (workspace_id, file_id, number, content_id, path)
    VALUES ($1::uuid, $2::uuid, $3, $4::uuid, $5)
    ON CONFLICT (workspace_id, file_id) DO UPDATE SET
        number = excluded.number, content_id = excluded.content_id, path = excluded.path
"""
_DELETE = "DELETE FROM fulltext_notes WHERE workspace_id = $1::uuid AND file_id = $2::uuid"
_TEXTS = """
    SELECT content_id, text FROM contents
    WHERE workspace_id = $1::uuid AND content_id IN ($ids)
"""


async def index_words(
    transaction: Transaction,
    workspace_id: WorkspaceId,
    file_ids: Sequence[FileId],
    live: Mapping[FileId, Revision],
) -> None:
    """Bring the full text index of files up to date with their heads in ``live``.

    Files that are not in ``live`` are removed. The texts of those that changed are held in memory
    together.
    """
    indexed = await _indexed(transaction, workspace_id, file_ids)
    notes = {file_id: head for file_id, head in live.items() if head.kind == "note"}
    gone = {file_id: note for file_id, note in indexed.items() if file_id not in notes}
    await _remove(transaction, workspace_id, gone)
    written: list[Revision] = []
    replaced: list[IndexedNote] = []
    moved: list[tuple[IndexedNote, str]] = []
    rows: list[tuple[Value, ...]] = []
    for file_id, head in notes.items():
        before = indexed.get(file_id)
        if before is None or before.content_id != head.content_id:
            written.append(head)
            replaced += [] if before is None else [before]
        elif before.path != head.path:
            moved.append((before, head.path))
            rows.append(_row(workspace_id, head, before.number))
    if replaced:
        await transaction.remove_words(workspace_id, replaced)
    if moved:
        await transaction.rename_words(workspace_id, moved)
    if written:
        names = [head.content_id for head in written]
        texts = {
            row[0]: row[1] for row in await select_in(transaction, _TEXTS, workspace_id, names)
        }
        added = [NewNote(head.path, texts[head.content_id]) for head in written]
        numbers = await transaction.put_words(workspace_id, added)
        for head, number in zip(written, numbers, strict=True):
            rows.append(_row(workspace_id, head, number))
    await execute_each(transaction, _PUT, rows)


async def remove_notes(
    transaction: Transaction, workspace_id: WorkspaceId, file_ids: Sequence[FileId]
) -> None:
    """Remove files from the index, while their texts are stored."""
    await _remove(transaction, workspace_id, await _indexed(transaction, workspace_id, file_ids))


async def remove_some_notes(transaction: Transaction, workspace_id: WorkspaceId, most: int) -> bool:
    """Remove some notes of a workspace from the index; return whether there were any."""
    rows = await transaction.fetch_all(_SOME_INDEXED, workspace_id, most)
    await _remove(transaction, workspace_id, {row[0]: IndexedNote(*row[1:]) for row in rows})
    return bool(rows)


async def _indexed(
    transaction: Transaction, workspace_id: WorkspaceId, file_ids: Sequence[FileId]
) -> dict[FileId, IndexedNote]:
    rows = await select_in(transaction, _INDEXED, workspace_id, file_ids)
    return {row[0]: IndexedNote(*row[1:]) for row in rows}


async def _remove(
    transaction: Transaction, workspace_id: WorkspaceId, notes: Mapping[FileId, IndexedNote]
) -> None:
    if notes:
        await transaction.remove_words(workspace_id, [*notes.values()])
        await execute_each(transaction, _DELETE, [(workspace_id, file_id) for file_id in notes])


def _row(workspace_id: WorkspaceId, head: Revision, number: int) -> tuple[Value, ...]:
    return workspace_id, head.file_id, number, head.content_id, head.path


async def request_erasure(transaction: Transaction) -> None:
    """Have `erase_removed_words` overwrite the words of notes that were removed."""
    await transaction.execute("UPDATE fulltext_erasure SET state = 1 WHERE state <> 1")


def erase_removed_words() -> Script[bool]:
    """Overwrite some of the words whose erasure was requested; return whether there may be more.

    An index only marks removed entries, until it next reorganizes the part that holds them.
    """

    async def erase_some(transaction: Transaction) -> bool:
        found = await transaction.fetch_one("SELECT state FROM fulltext_erasure")
        if found is None or not found[0]:
            return False
        more = await transaction.merge_words(begin=found[0] == 1)
        await transaction.execute("UPDATE fulltext_erasure SET state = $1", 2 if more else 0)
        return more

    return erase_some
