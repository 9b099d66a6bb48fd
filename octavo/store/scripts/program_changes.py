"""Read the histories of the files that a program has changed."""

from __future__ import annotations

from typing import NamedTuple

from octavo.model.files.revision import Revision
from octavo.model.identity import AccountId, FileId, Position, WorkspaceId
from octavo.model.refusal import TooManyFiles
from octavo.store.scripts.revision_rows import COUNT, WORKSPACE, from_both, revisions_of_rows
from octavo.store.transaction import Script, Transaction

MAX_FILES = 5000
"""Files whose histories are read."""
MAX_REVISIONS = 20_000
"""Revisions that are read of all files together."""
TOO_MANY = "Too many files were changed since: undo the latest changes first, by a later time."

_PROGRAMS = "(SELECT number FROM oauth_programs WHERE client = $2)"
# The number of a file in one table is the column of another name in the other.
_FIRST = f"""
    SELECT file, MIN(first) FROM (
        SELECT number AS file, position AS first FROM files
        WHERE workspace = {WORKSPACE} AND program IN {_PROGRAMS} AND author_id = $3::uuid
        AND changed_at >= $4
        UNION ALL
        SELECT file, MIN(position) FROM revisions
        WHERE workspace = {WORKSPACE} AND program IN {_PROGRAMS} AND author_id = $3::uuid
        AND changed_at >= $4 GROUP BY file
    ) AS changed GROUP BY file LIMIT $5
"""
_OF_FILE = f"files.workspace = {WORKSPACE} AND files.number = $2"
_FROM = (
    from_both(f"SELECT {{columns}} FROM {{source}} WHERE {_OF_FILE} AND {{table}}.position >= $3")
    + " ORDER BY position LIMIT $4"
)
_BEFORE = (
    from_both(f"SELECT {{columns}} FROM {{source}} WHERE {_OF_FILE} AND {{table}}.position < $3")
    + " ORDER BY position DESC LIMIT 1"
)


class ChangesOfProgram(NamedTuple):
    """What a program changed for an account; ``since`` is in milliseconds of Unix time."""

    client_id: str
    author: AccountId
    since: int

    def includes(self, revision: Revision, numbers: frozenset[int]) -> bool:
        """Return whether a revision is one of them; ``numbers`` are those of the program."""
        return (
            revision.program in numbers
            and revision.author == self.author
            and revision.created_at >= self.since
        )


class ChangedHistories(NamedTuple):
    """Histories of files, each as `octavo.model.files.reversion.undo` takes it.

    ``numbers`` are those under which they record the program.
    """

    histories: dict[FileId, list[Revision]]
    numbers: frozenset[int]


def histories_of(workspace_id: WorkspaceId, changes: ChangesOfProgram) -> Script[ChangedHistories]:
    """Return the histories of the files that a program changed, from before its first change on.

    Raises `TooManyFiles` for more than `MAX_FILES`, or more than `MAX_REVISIONS`.
    """

    async def read_histories(transaction: Transaction) -> ChangedHistories:
        rows = await transaction.fetch_all(
            "SELECT number FROM oauth_programs WHERE client = $1", changes.client_id
        )
        numbers = frozenset(row[0] for row in rows)
        found = await transaction.fetch_all(_FIRST, workspace_id, *changes, MAX_FILES + 1)
        if len(found) > MAX_FILES:
            raise TooManyFiles(TOO_MANY)
        histories: dict[FileId, list[Revision]] = {}
        left = MAX_REVISIONS
        for number, first in found:
            history = await _history(transaction, workspace_id, number, Position(first), left)
            left -= len(history)
            if left < 0:
                raise TooManyFiles(TOO_MANY)
            histories[history[0].file_id] = history
        return ChangedHistories(histories, numbers)

    return read_histories


async def _history(
    transaction: Transaction, workspace_id: WorkspaceId, file: int, first: Position, limit: int
) -> list[Revision]:
    before = await transaction.fetch_all(_BEFORE, workspace_id, file, first)
    following = await transaction.fetch_all(_FROM, workspace_id, file, first, limit + 1)
    return revisions_of_rows([row[:COUNT] for row in (*before, *following)])
