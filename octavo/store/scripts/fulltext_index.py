"""Index the words of notes for full text search, and remove them.

The rows of ``fulltext_notes`` record what is indexed of each note. An engine may need the text to
remove a note again; so a purged note is removed from the index before its texts are deleted.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from octavo.model.files.revision import Revision
from octavo.model.identity import FileId, WorkspaceId
from octavo.store.scripts.head_texts import texts_of
from octavo.store.scripts.revision_rows import WORKSPACE
from octavo.store.scripts.select_in import execute_each, select_in
from octavo.store.transaction import IndexedNote, NewNote, Script, Transaction, Value

_INDEXED = f"""
    SELECT files.file_id, files.content, fulltext_notes.number, fulltext_notes.content,
        fulltext_notes.path, files.path
    FROM files LEFT JOIN fulltext_notes
    ON fulltext_notes.workspace = files.workspace AND fulltext_notes.file = files.number
    WHERE files.workspace = {WORKSPACE} AND files.file_id IN ($ids)
"""
_SOME_INDEXED = """
    SELECT fulltext_notes.number, fulltext_notes.content, COALESCE(fulltext_notes.path, files.path)
    FROM fulltext_notes JOIN files
    ON files.workspace = fulltext_notes.workspace AND files.number = fulltext_notes.file
    WHERE fulltext_notes.workspace = $1 ORDER BY fulltext_notes.file LIMIT $2
"""
_PUT = f"""
    INSERT INTO fulltext_notes (number, workspace, file, content)
    SELECT $3, workspace, number, content FROM files
    WHERE workspace = {WORKSPACE} AND file_id = $2::uuid
"""
_DELETE = "DELETE FROM fulltext_notes WHERE number = $1"
_KEEP_PATH = """
    UPDATE fulltext_notes SET path = (
        SELECT files.path FROM files
        WHERE files.workspace = fulltext_notes.workspace AND files.number = fulltext_notes.file
    )
    WHERE workspace = $1 AND path IS NULL
    AND file = (SELECT number FROM files WHERE workspace = $1 AND file_id = $2::uuid)
"""
_FORGET_PATH = "UPDATE fulltext_notes SET path = NULL WHERE number = $1"


class _Entry(NamedTuple):
    """A note in the index, and whether it was indexed with its present text.

    ``kept_path`` is the path that was indexed if the file has changed since.
    """

    note: IndexedNote
    current: bool
    kept_path: str | None


async def index_words(
    transaction: Transaction,
    workspace_id: WorkspaceId,
    file_ids: Sequence[FileId],
    live: Mapping[FileId, Revision],
) -> None:
    """Bring the full text index of files up to date with their stored heads, which are in ``live``.

    Files that are not in ``live`` are removed. Of a damaged text, no words are indexed. The texts
    of those that changed are held in memory together.
    """
    indexed = await _indexed(transaction, workspace_id, file_ids)
    notes = {file_id: head for file_id, head in live.items() if head.kind == "note"}
    gone = [entry.note for file_id, entry in indexed.items() if file_id not in notes]
    written: list[Revision] = []
    moved: list[tuple[IndexedNote, str]] = []
    forgotten: list[tuple[Value, ...]] = []
    for file_id, head in notes.items():
        entry = indexed.get(file_id)
        if entry is None or not entry.current:
            written.append(head)
            gone += [] if entry is None else [entry.note]
        elif entry.kept_path is not None:
            forgotten.append((entry.note.number,))
            if entry.kept_path != head.path:
                moved.append((entry.note, head.path))
    await _remove(transaction, workspace_id, gone)
    if moved:
        await transaction.rename_words(workspace_id, moved)
    await execute_each(transaction, _FORGET_PATH, forgotten)
    if written:
        names = [head.file_id for head in written]
        texts = await texts_of(transaction, workspace_id, names)
        added = [NewNote(head.path, texts.get(head.file_id, "")) for head in written]
        numbers = await transaction.put_words(workspace_id, added)
        rows = [
            (workspace_id, head.file_id, number)
            for head, number in zip(written, numbers, strict=True)
        ]
        await execute_each(transaction, _PUT, rows)


async def keep_indexed_paths(
    transaction: Transaction, workspace: int, file_ids: Sequence[Value]
) -> None:
    """Store the paths under which files are indexed, before their heads get new paths.

    ``workspace`` is the number of the workspace.
    """
    await execute_each(transaction, _KEEP_PATH, [(workspace, file_id) for file_id in file_ids])


async def remove_notes(
    transaction: Transaction, workspace_id: WorkspaceId, file_ids: Sequence[FileId]
) -> None:
    """Remove files from the index, while their texts are stored."""
    indexed = await _indexed(transaction, workspace_id, file_ids)
    await _remove(transaction, workspace_id, [entry.note for entry in indexed.values()])


async def remove_some_notes(
    transaction: Transaction, workspace_id: WorkspaceId, workspace: int, maximum: int
) -> bool:
    """Remove some notes of a workspace from the index; return whether there were any.

    ``workspace`` is the number of the workspace.
    """
    rows = await transaction.fetch_all(_SOME_INDEXED, workspace, maximum)
    await _remove(transaction, workspace_id, [IndexedNote(*row) for row in rows])
    return bool(rows)


async def _indexed(
    transaction: Transaction, workspace_id: WorkspaceId, file_ids: Sequence[FileId]
) -> dict[FileId, _Entry]:
    rows = await select_in(transaction, _INDEXED, workspace_id, file_ids)
    return {
        file_id: _Entry(
            IndexedNote(number, content, path if kept is None else kept), content == head, kept
        )
        for file_id, head, number, content, kept, path in rows
        if number is not None
    }


async def _remove(
    transaction: Transaction, workspace_id: WorkspaceId, notes: Sequence[IndexedNote]
) -> None:
    if notes:
        await transaction.remove_words(workspace_id, notes)
        await execute_each(transaction, _DELETE, [(note.number,) for note in notes])


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
