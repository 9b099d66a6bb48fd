"""Keep the index of links in step with the heads of files, in the commit that changes them.

What is to be done is found by comparing each head with what was taken in last; so whoever takes a
file in twice, or late, does no harm. Words are left to `octavo.store.scripts.catching_up`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from octavo.model.files.batch import portions
from octavo.model.files.plan import Change
from octavo.model.files.revision import Revision
from octavo.model.identity import ContentId, FileId, WorkspaceId
from octavo.store.scripts.naming import fetch_named
from octavo.store.scripts.taking_in import Known, Work, forget, take_in
from octavo.store.scripts.wording import drop_purged, drop_some_words, erase_later
from octavo.store.transaction import Transaction

MOST_BYTES = 2 * 1024 * 1024
"""Of texts that are held at once."""
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
_DROP_CURSOR = "DELETE FROM word_cursors WHERE workspace_id = $1"


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
    await index_links(transaction, workspace_id, heads.values(), texts, made)
    purged = [head.file_id for head in heads.values() if head.state == "purged"]
    if purged:
        await drop_purged(transaction, workspace_id, purged)


async def index_links(
    transaction: Transaction,
    workspace_id: WorkspaceId,
    heads: Iterable[Revision],
    texts: Mapping[ContentId, str],
    made: set[FileId],
) -> None:
    """Take heads into the index of links, where it is not in step with them.

    ``made`` are files that are new. What ``texts`` hold is new to the index; any other text is in
    it, if the file is.
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
    return await transaction.execute(_DROP_CURSOR, workspace_id) > 0
