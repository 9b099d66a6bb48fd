"""Keep the indexes of links and of words in step with the heads of files.

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
from octavo.store.transaction import Script, Transaction

MOST_BYTES = 2 * 1024 * 1024
"""Of texts that are held at once."""
_MOST_FILES = 200
# Each takes reading what it has in the index.
_MOST_FORGOTTEN = 20

_KNOWN = """
    SELECT file_id, content_id, path, title, links, number FROM indexed
    WHERE workspace_id = $1 AND file_id IN ($names)
"""
_LATE = """
    SELECT unindexed.workspace_id, unindexed.file_id, COALESCE(files.size, 0)
    FROM unindexed LEFT JOIN files ON files.workspace_id = unindexed.workspace_id
    AND files.file_id = unindexed.file_id
    ORDER BY unindexed.workspace_id, unindexed.file_id LIMIT $1
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
    await _index(transaction, workspace_id, heads.values(), texts, made)


async def _index(
    transaction: Transaction,
    workspace_id: WorkspaceId,
    heads: Iterable[Revision],
    texts: Mapping[ContentId, str],
    made: set[FileId],
) -> None:
    heads = list(heads)
    names = [head.file_id for head in heads if head.file_id not in made]
    rows = await fetch_named(transaction, _KNOWN, workspace_id, names)
    known = {row[0]: Known(*row) for row in rows}
    gone = [known[h.file_id] for h in heads if h.state != "live" and h.file_id in known]
    await forget(transaction, workspace_id, gone)
    works = [Work(head, known.get(head.file_id)) for head in heads if head.state == "live"]
    works = [work for work in works if work.text_moved or work.path_moved]
    for portion in portions(works, lambda work: work.size, MOST_BYTES):
        await take_in(transaction, workspace_id, portion, texts)


def index_some() -> Script[bool]:
    """Take in some files that were there before the indexes; answer whether there may be more.

    Two who do it at once do no harm, nor does a change of such a file meanwhile.
    """

    async def script(transaction: Transaction) -> bool:
        found = await transaction.fetch_all(_LATE, _MOST_FILES + 1)
        sizes = [(place, row[2]) for place, row in enumerate(found)]
        end = page_end(sizes, _MOST_FILES, MOST_BYTES)
        late = found if end is None else found[: end + 1]
        for name, rows in groupby(late, key=itemgetter(0)):
            workspace_id, names = WorkspaceId(name), [row[1] for row in rows]
            there = await transaction.fetch_one("SELECT 1 FROM workspaces WHERE id = $1", name)
            if there is not None:
                heads = await fetch_named(transaction, _HEADS, workspace_id, names)
                live = [revision_of(row[:COUNT]) for row in heads]
                await _index(transaction, workspace_id, live, {}, set())
        await each_row(transaction, _DROP_LATE, [(row[0], row[1]) for row in late])
        return bool(late)

    return script


async def forget_some(transaction: Transaction, workspace_id: WorkspaceId) -> bool:
    """Remove some of what the indexes hold of a deleted workspace; answer whether there was any.

    To be called until there is none, and before the texts are removed.
    """
    rows = await transaction.fetch_all(
        "SELECT file_id, content_id, path, title, links, number FROM indexed"
        " WHERE workspace_id = $1 ORDER BY file_id LIMIT $2",
        workspace_id,
        _MOST_FORGOTTEN,
    )
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
