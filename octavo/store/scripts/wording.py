"""Take the words of notes into the full text index, and take them out of it.

The row in ``worded`` says what the index has of a note. An engine may need the text that it has to
take that out again; so a note that is purged is taken out before its texts are removed.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from octavo.model.files.revision import Revision
from octavo.model.identity import FileId, WorkspaceId
from octavo.store.scripts.naming import fetch_named
from octavo.store.scripts.taking_in import each_row, stored_title
from octavo.store.transaction import IndexedNote, Script, Transaction, Value

_WORDED = """
    SELECT file_id, number, content_id, path, title FROM worded
    WHERE workspace_id = $1 AND file_id IN ($names)
"""
_SOME = """
    SELECT file_id, number, content_id, path, title FROM worded
    WHERE workspace_id = $1 ORDER BY file_id LIMIT $2
"""
_KEEP = """
    INSERT INTO worded (workspace_id, file_id, number, content_id, path, title)
    VALUES ($1, $2, $3, $4, $5, $6)
    ON CONFLICT (workspace_id, file_id) DO UPDATE SET
        number = excluded.number, content_id = excluded.content_id, path = excluded.path,
        title = excluded.title
"""
_DROP = "DELETE FROM worded WHERE workspace_id = $1 AND file_id = $2"
_TEXTS = "SELECT content_id, text FROM contents WHERE workspace_id = $1 AND content_id IN ($names)"


async def take_in_words(
    transaction: Transaction,
    workspace_id: WorkspaceId,
    file_ids: Sequence[FileId],
    live: Mapping[FileId, Revision],
) -> None:
    """Bring the words of files in step with their heads; those not in ``live`` have none.

    The texts of those that changed are held all at once.
    """
    worded = await _worded(transaction, workspace_id, file_ids)
    notes = {file_id: head for file_id, head in live.items() if head.kind == "note"}
    gone = {file_id: note for file_id, note in worded.items() if file_id not in notes}
    await _drop(transaction, workspace_id, gone)
    written, left, kept = [], [], []
    moved: list[tuple[IndexedNote, str]] = []
    for file_id, head in notes.items():
        had = worded.get(file_id)
        if had is None or had.content_id != head.content_id:
            written.append(head)
            left += [] if had is None else [had]
        elif had.path != head.path:
            moved.append((had, head.path))
            kept.append(_row(workspace_id, head, had.number, had.title))
    if left:
        await transaction.drop_words(workspace_id, left)
    if moved:
        await transaction.rename_words(workspace_id, moved)
    if written:
        names = [head.content_id for head in written]
        rows = await fetch_named(transaction, _TEXTS, workspace_id, names)
        texts: dict[str, str] = {row[0]: row[1] for row in rows}
        told = [
            (head.path, stored_title(texts[head.content_id]), texts[head.content_id])
            for head in written
        ]
        numbers = await transaction.put_words(workspace_id, told)
        for head, number, (_, title, _) in zip(written, numbers, told, strict=True):
            kept.append(_row(workspace_id, head, number, title))
    await each_row(transaction, _KEEP, kept)


async def drop_purged(
    transaction: Transaction, workspace_id: WorkspaceId, file_ids: Sequence[FileId]
) -> None:
    """Take the words of files out, as long as their texts are there."""
    await _drop(transaction, workspace_id, await _worded(transaction, workspace_id, file_ids))


async def drop_some_words(transaction: Transaction, workspace_id: WorkspaceId, most: int) -> bool:
    """Take the words of some notes of a workspace out; answer whether there were any."""
    rows = await transaction.fetch_all(_SOME, workspace_id, most)
    await _drop(transaction, workspace_id, {row[0]: IndexedNote(*row[1:]) for row in rows})
    return bool(rows)


async def _worded(
    transaction: Transaction, workspace_id: WorkspaceId, file_ids: Sequence[FileId]
) -> dict[FileId, IndexedNote]:
    rows = await fetch_named(transaction, _WORDED, workspace_id, file_ids)
    return {row[0]: IndexedNote(*row[1:]) for row in rows}


async def _drop(
    transaction: Transaction, workspace_id: WorkspaceId, notes: Mapping[FileId, IndexedNote]
) -> None:
    if notes:
        await transaction.drop_words(workspace_id, [*notes.values()])
        await each_row(transaction, _DROP, [(workspace_id, file_id) for file_id in notes])


def _row(workspace_id: WorkspaceId, head: Revision, number: int, title: str) -> tuple[Value, ...]:
    return workspace_id, head.file_id, number, head.content_id, head.path, title


async def erase_later(transaction: Transaction) -> None:
    """Have `erase_some` overwrite the words of notes that were taken out, as of those purged."""
    await transaction.execute("UPDATE erasing SET state = 1 WHERE state <> 1")


def erase_some() -> Script[bool]:
    """Overwrite some of the words that were asked to be erased; answer whether there may be more.

    An index marks what is taken out of it, and keeps it until it is next put in order there.
    """

    async def script(transaction: Transaction) -> bool:
        found = await transaction.fetch_one("SELECT state FROM erasing")
        if found is None or not found[0]:
            return False
        more = await transaction.merge_words(begin=found[0] == 1)
        await transaction.execute("UPDATE erasing SET state = $1", 2 if more else 0)
        return more

    return script
