"""Thin out the history of files, one file at a time and some of it at a time."""

from __future__ import annotations

from typing import NamedTuple

from octavo.model.files.feed import page_end
from octavo.model.files.retention import Aged, Retention, thinned
from octavo.model.identity import FileId, Position, RevisionId, WorkspaceId
from octavo.store.transaction import Script, Transaction

MOST_ROWS = 500
MOST_BYTES = 2 * 1024 * 1024
"""Of text that is removed in one step, but for a single longer one."""
_FILES = 200
_LOOKED_AT = 2000


class Place(NamedTuple):
    """A file, in the order in which they are thinned out."""

    workspace_id: WorkspaceId
    file_id: FileId


FIRST = Place(WorkspaceId(""), FileId(""))


class Crowded(NamedTuple):
    """Files with more revisions than the least, and where to go on; None behind the last."""

    files: list[Place]
    following: Place | None


_SOME_FILES = """
    SELECT workspace_id, file_id FROM files WHERE (workspace_id, file_id) > ($1, $2)
    ORDER BY workspace_id, file_id LIMIT $3
"""
_CROWDED = """
    SELECT workspace_id, file_id FROM revisions
    WHERE (workspace_id, file_id) > ($1, $2) AND (workspace_id, file_id) <= ($3, $4)
    GROUP BY workspace_id, file_id HAVING COUNT(*) > $5 AND MIN(changed_at) <= $6
    ORDER BY workspace_id, file_id
"""
_WINDOW = """
    SELECT position, revision_id, content_id, changed_at, size,
        EXISTS (SELECT 1 FROM receipts WHERE receipts.workspace_id = revisions.workspace_id
            AND receipts.mutation_id = revisions.mutation_id)
    FROM revisions WHERE workspace_id = $1 AND file_id = $2 AND position > $3
    ORDER BY position LIMIT $4
"""
_NEWER = """
    SELECT COUNT(*) FROM revisions WHERE workspace_id = $1 AND file_id = $2 AND position > $3
"""
# The texts that later revisions have from earlier ones, and the one whose words were taken in: from
# that they are made again to take them out, and what is lost before stays in the index for good.
_NEEDED = """
    SELECT content_id FROM revisions
    WHERE workspace_id = $1 AND file_id = $2 AND position > $3 AND content_id <> revision_id
    UNION
    SELECT content_id FROM worded WHERE workspace_id = $1 AND file_id = $2
"""


def crowded(after: Place, retention: Retention, now: int) -> Script[Crowded]:
    """Answer files behind ``after`` that may have revisions to spare; changes nothing."""

    async def script(transaction: Transaction) -> Crowded:
        some = await transaction.fetch_all(_SOME_FILES, *after, _FILES)
        if not some:
            return Crowded([], None)
        rows = await transaction.fetch_all(
            _CROWDED, *after, *some[-1], max(retention.least, 1), now - retention.all_of
        )
        last = Place(*some[-1])
        return Crowded([Place(*row) for row in rows], last if len(some) == _FILES else None)

    return script


def thin(place: Place, after: Position, retention: Retention, now: int) -> Script[Position | None]:
    """Remove revisions of a file behind a position that need not be kept.

    Answers the position to go on behind, None behind the last. What a device may still ask about
    by its mutation stays until the receipt is gone, and a text whose words the index has until it
    has those of a later one.
    """

    async def script(transaction: Transaction) -> Position | None:
        rows = await transaction.fetch_all(_WINDOW, *place, after, _LOOKED_AT)
        if len(rows) < 2:  # the last of them stays
            return None
        last = rows[-1][0]
        counted = await transaction.fetch_one(_NEWER, *place, last)
        newer = 0 if counted is None else counted[0]
        needed = {row[0] for row in await transaction.fetch_all(_NEEDED, *place, last)}
        aged = [Aged(row[1], row[2], row[3], held=bool(row[5]) or row[1] in needed) for row in rows]
        spare = thinned(aged, newer, now, retention)
        sizes = {row[1]: row[4] for row in rows}
        weighed = [(index, sizes[each]) for index, each in enumerate(spare)]
        end = page_end(weighed, MOST_ROWS, MOST_BYTES)
        await _remove(transaction, place.workspace_id, spare if end is None else spare[: end + 1])
        if end is not None:
            return after
        # The last one is judged with those that follow it.
        return Position(rows[-2][0]) if newer else None

    return script


async def _remove(
    transaction: Transaction, workspace_id: WorkspaceId, names: list[RevisionId]
) -> None:
    rows = [(workspace_id, name) for name in names]
    await transaction.execute_many(
        "DELETE FROM revisions WHERE workspace_id = $1 AND revision_id = $2", rows
    )
    # A text has the id of the revision that brought it, which stays as long as another needs it.
    await transaction.execute_many(
        "DELETE FROM contents WHERE workspace_id = $1 AND content_id = $2", rows
    )
