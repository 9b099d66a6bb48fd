"""Keep the indexes of links and of words in step with the heads of files.

Links follow in the commit itself. Taking words in costs more than ten times what keeping a text
does, so a commit leaves word of the note, and that is done before somebody searches, or as soon as
there is time: a note that is saved often is taken in seldom.

What is to be done is found by comparing each head with what was taken in last; so whoever takes a
file in twice, or late, does no harm.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from itertools import groupby
from operator import itemgetter

from octavo.model.batch import portions
from octavo.model.feed import page_end
from octavo.model.identity import ContentId, FileId, WorkspaceId
from octavo.model.plan import Change
from octavo.model.revision import Revision
from octavo.store.scripts.naming import fetch_named
from octavo.store.scripts.rows import COLUMNS, COUNT, revision_of
from octavo.store.scripts.taking_in import Known, Work, each_row, forget, take_in
from octavo.store.scripts.wording import drop_purged, drop_some_words, take_in_words
from octavo.store.transaction import Script, Transaction

MOST_BYTES = 2 * 1024 * 1024
"""Of texts that are held at once."""
SLICE_BYTES = 64 * 1024
"""Of texts whose words are taken in at once, but for a single longer one: others wait behind it."""
_MOST_FILES = 100
# Each takes reading what it has in the index.
_MOST_FORGOTTEN = 20

_KNOWN = """
    SELECT file_id, path, title, links FROM indexed
    WHERE workspace_id = $1 AND file_id IN ($names)
"""
_SOME_KNOWN = """
    SELECT file_id, path, title, links FROM indexed
    WHERE workspace_id = $1 ORDER BY file_id LIMIT $2
"""
_LATE = """
    SELECT unindexed.workspace_id, unindexed.file_id, COALESCE(files.size, 0)
    FROM unindexed LEFT JOIN files ON files.workspace_id = unindexed.workspace_id
    AND files.file_id = unindexed.file_id {which}
    ORDER BY unindexed.workspace_id, unindexed.file_id LIMIT $1
"""
_LATE_OF_ALL = _LATE.format(which="")
_LATE_OF_ONE = _LATE.format(which="WHERE unindexed.workspace_id = $2")
# Written even when it is there: who takes the file in at the same time must meet this.
_LEAVE_WORD = """
    INSERT INTO unindexed (workspace_id, file_id, position) VALUES ($1, $2, $3)
    ON CONFLICT (workspace_id, file_id) DO UPDATE SET position = excluded.position
"""
_WAITING = """
    SELECT DISTINCT workspace_id FROM unindexed
    WHERE workspace_id <> $1 AND workspace_id IN ($names)
"""
_DROP_LATE = "DELETE FROM unindexed WHERE workspace_id = $1 AND file_id = $2"
_HEADS = f"""
    SELECT {COLUMNS} FROM files WHERE workspace_id = $1 AND state = 'live' AND file_id IN ($names)
"""


async def index_changes(
    transaction: Transaction, workspace_id: WorkspaceId, changed: Sequence[Change]
) -> None:
    """Take the changes of one commit into the indexes, each file once.

    ``changed`` are in their order, a file may stand there often. To be called when heads and
    contents are kept: a text that no change brings, as that of a file restored, is read.
    """
    heads = {change.head.file_id: change.head for change in changed}
    texts = {
        change.head.content_id: change.content.text
        for change in changed
        if change.content is not None
    }
    made = {change.head.file_id for change in changed if change.outcome == "created"}
    moved = await _index_links(transaction, workspace_id, heads.values(), texts, made)
    rows = [(workspace_id, head.file_id, head.position) for head in moved if head.kind == "note"]
    await each_row(transaction, _LEAVE_WORD, rows)
    purged = [head.file_id for head in heads.values() if head.state == "purged"]
    if purged:
        await drop_purged(transaction, workspace_id, purged)


async def _index_links(
    transaction: Transaction,
    workspace_id: WorkspaceId,
    heads: Iterable[Revision],
    texts: Mapping[ContentId, str],
    made: set[FileId],
) -> list[Revision]:
    """Answer those of the heads that were not in step.

    What ``texts`` hold is new to the index; any other text is in it, if the file is.
    """
    heads = list(heads)
    names = [head.file_id for head in heads if head.file_id not in made]
    rows = await fetch_named(transaction, _KNOWN, workspace_id, names)
    known = {row[0]: Known(*row) for row in rows}
    gone = [head for head in heads if head.state != "live" and head.file_id in known]
    if gone:
        await forget(transaction, workspace_id, [known[head.file_id] for head in gone])
    works = [
        Work(head, known.get(head.file_id), head.content_id in texts)
        for head in heads
        if head.state == "live"
    ]
    works = [work for work in works if work.text_moved or work.path_moved]
    for portion in portions(works, lambda work: work.size, MOST_BYTES):
        await take_in(transaction, workspace_id, portion, texts)
    return [*gone, *(work.head for work in works)]


def index_some(workspace_id: WorkspaceId | None = None) -> Script[bool]:
    """Take in the words of some files that wait for it; answer whether there are more.

    Those of one workspace, or of any. A file from before there were indexes is taken into that of
    links, too. Two who do it at once do no harm, nor does a change of such a file meanwhile.
    """

    async def script(transaction: Transaction) -> bool:
        limit = _MOST_FILES + 1
        if workspace_id is None:
            found = await transaction.fetch_all(_LATE_OF_ALL, limit)
        else:
            found = await transaction.fetch_all(_LATE_OF_ONE, limit, workspace_id)
        sizes = [(place, row[2]) for place, row in enumerate(found)]
        end = page_end(sizes, _MOST_FILES, SLICE_BYTES)
        late = found if end is None else found[: end + 1]
        for name, rows in groupby(late, key=itemgetter(0)):
            await _catch_up(transaction, WorkspaceId(name), [FileId(row[1]) for row in rows])
        await each_row(transaction, _DROP_LATE, [(row[0], row[1]) for row in late])
        return end is not None

    return script


async def _catch_up(
    transaction: Transaction, workspace_id: WorkspaceId, file_ids: Sequence[FileId]
) -> None:
    there = await transaction.fetch_one("SELECT 1 FROM workspaces WHERE id = $1", workspace_id)
    if there is None:
        return
    rows = await fetch_named(transaction, _HEADS, workspace_id, file_ids)
    live = {head.file_id: head for head in (revision_of(row[:COUNT]) for row in rows)}
    await _index_links(transaction, workspace_id, live.values(), {}, set())
    await take_in_words(transaction, workspace_id, file_ids, live)


def waiting(workspace_ids: Sequence[WorkspaceId]) -> Script[list[WorkspaceId]]:
    """Answer which of the workspaces have words that wait to be taken in."""

    async def script(transaction: Transaction) -> list[WorkspaceId]:
        rows = await fetch_named(transaction, _WAITING, "", workspace_ids)
        return [WorkspaceId(row[0]) for row in rows]

    return script


async def forget_some(transaction: Transaction, workspace_id: WorkspaceId) -> bool:
    """Remove some of what the indexes hold of a deleted workspace; answer whether there was any.

    To be called until there is none, and before the texts are removed.
    """
    if await drop_some_words(transaction, workspace_id, _MOST_FORGOTTEN):
        await erase_later(transaction)
        return True
    rows = await transaction.fetch_all(_SOME_KNOWN, workspace_id, _MOST_FILES)
    await forget(transaction, workspace_id, [Known(*row) for row in rows])
    if rows:
        return True
    removed = await transaction.execute(
        "DELETE FROM unindexed WHERE workspace_id = $1 AND file_id IN"
        " (SELECT file_id FROM unindexed WHERE workspace_id = $1 LIMIT $2)",
        workspace_id,
        _MOST_FILES,
    )
    return removed > 0


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
