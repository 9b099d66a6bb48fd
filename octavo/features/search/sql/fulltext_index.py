"""Index the words of notes for full text search, and remove them.

The rows of ``fulltext_notes`` record what is indexed of each note. What has no row is not found.

No transaction adds or removes the words of a whole long note. Such a note is added in several steps
under a number in ``fulltext_beginnings``, and replaces what was indexed of it before with the last
one. The words of notes that are no longer found are removed by `remove_some_words`, in portions. An
engine may need the text for that, so the texts of these notes are deleted after it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from octavo_rules.identity import FileId, WorkspaceId

from octavo.model.files.revision import Revision
from octavo.model.search.searched_text import overlapping, portions_of
from octavo.store.compression import undamaged
from octavo.store.queries.blobs import texts_of
from octavo.store.queries.index_backlog import FileIndex, Upkeep
from octavo.store.queries.revision_rows import WORKSPACE, execute_each, select_in
from octavo.store.transaction import (
    FORGET_WORDS,
    IndexedNote,
    NewNote,
    Script,
    Transaction,
    Value,
    indexed_title,
)

_MAX_NOTES = 500

_INDEXED = f"""
    SELECT files.file_id, files.content, fulltext_notes.pk, fulltext_notes.content,
        fulltext_notes.path, files.path, fulltext_notes.portions
    FROM files LEFT JOIN fulltext_notes
    ON fulltext_notes.workspace = files.workspace AND fulltext_notes.file = files.pk
    WHERE files.workspace = {WORKSPACE} AND files.file_id IN ($ids)
"""
_BEGUN = f"""
    SELECT files.file_id, files.content, fulltext_beginnings.pk, fulltext_beginnings.content,
        fulltext_beginnings.portions
    FROM files JOIN fulltext_beginnings
    ON fulltext_beginnings.workspace = files.workspace AND fulltext_beginnings.file = files.pk
    WHERE files.workspace = {WORKSPACE} AND files.file_id IN ($ids)
"""
_SOME_BEGUN = """
    SELECT pk, content, portions FROM fulltext_beginnings
    WHERE workspace = $1 ORDER BY file LIMIT $2
"""
_SOME_INDEXED = """
    SELECT fulltext_notes.pk, fulltext_notes.content, COALESCE(fulltext_notes.path, files.path),
        fulltext_notes.portions
    FROM fulltext_notes JOIN files
    ON files.workspace = fulltext_notes.workspace AND files.pk = fulltext_notes.file
    WHERE fulltext_notes.workspace = $1 ORDER BY fulltext_notes.file LIMIT $2
"""
_PUT = f"""
    INSERT INTO fulltext_notes (pk, portions, workspace, file, content)
    SELECT $3, $4, workspace, pk, content FROM files
    WHERE workspace = {WORKSPACE} AND file_id = $2::uuid
"""
_DELETE = "DELETE FROM fulltext_notes WHERE pk = $1"
_KEEP_PATH = """
    UPDATE fulltext_notes SET path = (
        SELECT files.path FROM files
        WHERE files.workspace = fulltext_notes.workspace AND files.pk = fulltext_notes.file
    )
    WHERE workspace = $1 AND path IS NULL
    AND file = (SELECT pk FROM files WHERE workspace = $1 AND file_id = $2::uuid)
"""
_BEGIN = f"""
    INSERT INTO fulltext_beginnings (pk, portions, workspace, file, content)
    SELECT $3, $4, workspace, pk, content FROM files
    WHERE workspace = {WORKSPACE} AND file_id = $2::uuid
"""
_CONTINUE = "UPDATE fulltext_beginnings SET portions = $2 WHERE pk = $1"
_END = "DELETE FROM fulltext_beginnings WHERE pk = $1"
_QUEUE_REMOVAL = """
    INSERT INTO fulltext_removals (pk, workspace, content, path, portions)
    VALUES ($1, $2, $3, $4, $5)
"""
_NEXT_REMOVAL = """
    SELECT fulltext_removals.pk, fulltext_removals.content, fulltext_removals.path,
        fulltext_removals.portions, fulltext_removals.removed, contents.compressed,
        COALESCE(workspaces.id, deleted_workspaces.id) AS id
    FROM fulltext_removals
    LEFT JOIN contents ON contents.pk = fulltext_removals.content
    LEFT JOIN workspaces ON workspaces.pk = fulltext_removals.workspace
    LEFT JOIN deleted_workspaces ON deleted_workspaces.pk = fulltext_removals.workspace
    ORDER BY fulltext_removals.pk LIMIT 1
"""
_CONTINUE_REMOVAL = "UPDATE fulltext_removals SET removed = $2 WHERE pk = $1"
_END_REMOVAL = "DELETE FROM fulltext_removals WHERE pk = $1"
_FORGET_PATH = "UPDATE fulltext_notes SET path = NULL WHERE pk = $1"


class _Entry(NamedTuple):
    """A note in the index, and whether it was indexed with its present text.

    ``kept_path`` is the path that was indexed if the file has changed since.
    """

    note: IndexedNote
    current: bool
    kept_path: str | None


class _Beginning(NamedTuple):
    """A long note of which some portions are indexed, of its present text or an earlier one."""

    note: IndexedNote
    current: bool


STEP_TOKENS = 4096
"""Tokens that one step adds or removes; then it ends with the portion that it works on."""
_LEAST_TOKENS = 512
"""Tokens that a portion counts as at least: finding them takes time even if they are few."""


async def index_words(
    transaction: Transaction,
    workspace_id: WorkspaceId,
    file_ids: Sequence[FileId],
    live: Mapping[FileId, Revision],
) -> bool:
    """Bring the full text index of files up to date with their stored heads, which are in ``live``.

    Files that are not in ``live`` are removed. A damaged text has no words. The texts of those
    that changed are held in memory together. Return whether everything is indexed; otherwise call
    this again.
    """
    indexed = await _indexed(transaction, workspace_id, file_ids)
    begun = await _begun(transaction, workspace_id, file_ids)
    notes = {file_id: head for file_id, head in live.items() if head.kind == "note"}
    gone = [entry.note for file_id, entry in indexed.items() if file_id not in notes]
    abandoned = [
        beginning.note
        for file_id, beginning in begun.items()
        if file_id not in notes or not beginning.current
    ]
    written: list[Revision] = []
    moved: list[tuple[IndexedNote, str]] = []
    forgotten: list[tuple[Value, ...]] = []
    for file_id, head in notes.items():
        entry = indexed.get(file_id)
        if entry is None or not entry.current:
            written.append(head)
        elif entry.kept_path is not None:
            forgotten.append((entry.note.pk,))
            if entry.kept_path != head.path:
                moved.append((entry.note, head.path))
    if moved:
        await transaction.rename_words(workspace_id, moved)
    await execute_each(transaction, _FORGET_PATH, forgotten)
    await _abandon(transaction, workspace_id, abandoned)
    texts = (
        await texts_of(transaction, workspace_id, [head.file_id for head in written])
        if written
        else {}
    )
    short: list[Revision] = []
    added: list[tuple[Value, ...]] = []
    finished = True
    used = 0
    for head in written:
        text = texts.get(head.file_id, "")
        if portions_of(text) == 1:
            short.append(head)
            continue
        begin = begun.get(head.file_id)
        beginning = begin.note if begin is not None and begin.current else None
        if used >= STEP_TOKENS:
            finished = False
            continue
        number, portions, tokens = await _add_portions(
            transaction, workspace_id, head, text, beginning, STEP_TOKENS - used
        )
        used += tokens
        if portions < portions_of(text):
            finished = False
            continue
        await transaction.put_name(workspace_id, number, head.path, indexed_title(text))
        await transaction.execute(_END, number)
        added.append((workspace_id, head.file_id, number, portions))
    if short:
        new = [NewNote(head.path, texts.get(head.file_id, "")) for head in short]
        numbers = await transaction.put_words(workspace_id, new)
        added += [
            (workspace_id, head.file_id, number, 0)
            for head, number in zip(short, numbers, strict=True)
        ]
    replaced = {row[1] for row in added}
    gone += [entry.note for file_id, entry in indexed.items() if file_id in replaced]
    await _remove(transaction, workspace_id, gone)
    await execute_each(transaction, _PUT, added)
    await transaction.settle_words()
    return finished


async def _add_portions(
    transaction: Transaction,
    workspace_id: WorkspaceId,
    head: Revision,
    text: str,
    beginning: IndexedNote | None,
    tokens: int,
) -> tuple[int, int, int]:
    """Index some portions of a long note, with about ``tokens``.

    Returns the number of the note, how many portions are indexed, and the tokens of these.
    """
    if beginning is None:
        number, portions = await transaction.new_words(), 0
        await transaction.execute(_BEGIN, workspace_id, head.file_id, number, 0)
    else:
        number, portions = beginning.pk, beginning.portions
    used = 0
    while portions < portions_of(text) and used < tokens:
        some = overlapping(text, portions)
        await transaction.put_portion(workspace_id, number, portions, some)
        used += max(_LEAST_TOKENS, len(some))
        portions += 1
    await transaction.execute(_CONTINUE, number, portions)
    return number, portions, used


async def keep_indexed_paths(
    transaction: Transaction, workspace: int, file_ids: Sequence[FileId]
) -> None:
    """Store the paths under which files are indexed (`Listeners.files_moving`)."""
    await execute_each(transaction, _KEEP_PATH, [(workspace, file_id) for file_id in file_ids])


async def remove_notes(
    transaction: Transaction, workspace_id: WorkspaceId, workspace: int, file_ids: Sequence[FileId]
) -> None:
    """Remove files from the index; `remove_some_words` removes their words later.

    See `Listeners.files_purged`.
    """
    indexed = await _indexed(transaction, workspace_id, file_ids)
    await _remove(transaction, workspace_id, [entry.note for entry in indexed.values()])
    begun = await _begun(transaction, workspace_id, file_ids)
    await _abandon(transaction, workspace_id, [beginning.note for beginning in begun.values()])


async def remove_some_notes(transaction: Transaction, workspace: int) -> bool:
    """Queue the removal and the erasure of the words of some notes of a deleted workspace.

    Returns whether there were any (`Listeners.workspace_sweeping`).
    """
    rows = await transaction.fetch_all(_SOME_INDEXED, workspace, _MAX_NOTES)
    await _queue(transaction, workspace, [IndexedNote(*row) for row in rows], _DELETE)
    begun = await transaction.fetch_all(_SOME_BEGUN, workspace, _MAX_NOTES)
    notes = [IndexedNote(row[0], row[1], None, row[2]) for row in begun]
    await _queue(transaction, workspace, notes, _END)
    if rows or begun:
        await request_erasure(transaction)
        return True
    return False


async def words_are_left(transaction: Transaction) -> bool:
    """Return whether `remove_some_words` has something to remove."""
    row = await transaction.fetch_one("SELECT 1 FROM fulltext_removals LIMIT 1")
    return row is not None


async def remove_words_first(transaction: Transaction) -> bool:
    """Remove some words whose texts are about to be deleted, if there are any.

    The engine may need the texts for that (`Listeners.texts_sweeping`).
    """
    if not await words_are_left(transaction):
        return False
    await remove_some_words()(transaction)
    return True


def remove_some_words() -> Script[bool]:
    """Remove some words of notes that are no longer found; return whether there may be more."""

    async def remove_some(transaction: Transaction) -> bool:
        used = 0
        text: str | None = None
        of: int | None = None
        more = False
        while used < STEP_TOKENS:
            row = await transaction.fetch_one(_NEXT_REMOVAL)
            more = row is not None
            if row is None:
                break
            note, portion = IndexedNote(*row[:4]), row[4]
            if of != note.pk:
                # The words of a damaged text remain under a number that no note has.
                of, text = note.pk, "" if row[5] is None else undamaged(row[5]) or ""
            removed = (
                None
                if row[6] is None
                else await transaction.remove_words(row[6], note, text or "", portion)
            )
            if removed is None:
                await transaction.execute(_END_REMOVAL, note.pk)
            else:
                await transaction.execute(_CONTINUE_REMOVAL, note.pk, portion + 1)
            used += max(_LEAST_TOKENS, removed or 0)
        await transaction.settle_words()
        return more

    return remove_some


async def _indexed(
    transaction: Transaction, workspace_id: WorkspaceId, file_ids: Sequence[FileId]
) -> dict[FileId, _Entry]:
    rows = await select_in(transaction, _INDEXED, workspace_id, file_ids)
    return {
        file_id: _Entry(
            IndexedNote(number, content, path if kept is None else kept, portions),
            content == head,
            kept,
        )
        for file_id, head, number, content, kept, path, portions in rows
        if number is not None
    }


async def _begun(
    transaction: Transaction, workspace_id: WorkspaceId, file_ids: Sequence[FileId]
) -> dict[FileId, _Beginning]:
    rows = await select_in(transaction, _BEGUN, workspace_id, file_ids)
    return {
        file_id: _Beginning(IndexedNote(number, content, None, portions), content == head)
        for file_id, head, number, content, portions in rows
    }


async def _remove(
    transaction: Transaction, workspace_id: WorkspaceId, notes: Sequence[IndexedNote]
) -> None:
    if notes:
        workspace = await _number_of(transaction, workspace_id)
        await _queue(transaction, workspace, notes, _DELETE)


async def _abandon(
    transaction: Transaction, workspace_id: WorkspaceId, notes: Sequence[IndexedNote]
) -> None:
    if notes:
        await _queue(transaction, await _number_of(transaction, workspace_id), notes, _END)


async def _number_of(transaction: Transaction, workspace_id: WorkspaceId) -> int:
    row = await transaction.fetch_one(f"SELECT {WORKSPACE}", workspace_id)
    return 0 if row is None else int(row[0])


async def _queue(
    transaction: Transaction, workspace: int, notes: Sequence[IndexedNote], forget: str
) -> None:
    """Queue the removal of the words of notes; ``forget`` deletes their rows by their numbers."""
    rows = [(note.pk, workspace, note.content, note.path, note.portions) for note in notes]
    await execute_each(transaction, _QUEUE_REMOVAL, rows)
    await execute_each(transaction, forget, [(note.pk,) for note in notes])


async def request_erasure(transaction: Transaction) -> None:
    """Let `erase_removed_words` overwrite the words of notes that were removed."""
    await transaction.execute("UPDATE fulltext_erasure SET state = 1 WHERE state <> 1")


def erase_removed_words() -> Script[bool]:
    """Overwrite some of the words whose erasure was requested; return whether there may be more.

    Engines only mark removed entries until they reorganize the part of the index with them.
    """

    async def erase_some(transaction: Transaction) -> bool:
        row = await transaction.fetch_one("SELECT state FROM fulltext_erasure")
        if row is None or not row[0]:
            return False
        if row[0] == 1 and await transaction.words_are_worn_out():
            await renew_words(transaction)
            return True
        more = await transaction.merge_words(begin=row[0] == 1)
        await transaction.execute("UPDATE fulltext_erasure SET state = $1", 2 if more else 0)
        await transaction.settle_words()
        return more

    return erase_some


async def words_are_worn_out(transaction: Transaction) -> bool:
    """Return whether `renew_words` should rebuild the index."""
    return await transaction.words_are_worn_out()


async def renew_words(transaction: Transaction) -> None:
    """Empty the index, even if it is damaged, so that all notes are indexed again.

    Until then, searches index what they need, or say that they are incomplete.
    """
    await transaction.clear_words()
    for sql in FORGET_WORDS:
        await transaction.execute(sql)


async def _heads_alone(
    transaction: Transaction, workspace_id: WorkspaceId, live: Mapping[FileId, Revision]
) -> Mapping[FileId, Revision]:
    # The engine extracts the words when it stores them.
    return live


WORDS: FileIndex[Revision] = FileIndex(
    "words",
    _heads_alone,
    index_words,
    quiet=5.0,
    upkeep=Upkeep(words_are_left, remove_some_words, words_are_worn_out, renew_words),
)
"""The index of words; removing those of former texts is its upkeep."""
