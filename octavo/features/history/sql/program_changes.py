"""Read the histories of the files that a program has changed."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import NamedTuple

from octavo_rules.identity import AccountId, FileId, Position, WorkspaceId

from octavo.features.history.rules.reversion import FileEnds, is_undone
from octavo.model.files.revision import Revision
from octavo.model.refusal import TooManyFiles
from octavo.store.queries.revision_rows import (
    COUNT,
    WORKSPACE,
    columns_of,
    from_both,
    revision_of,
    revisions_of_rows,
)
from octavo.store.transaction import Script, Transaction

MAX_FILES = 5000
"""Files whose histories are read."""
MAX_REVISIONS = 20_000
"""Revisions that are read of all files together."""
MAX_ENDS = 1000
"""Files of all programs together whose ends are read."""
TOO_MANY = "Too many files were changed since: undo the latest changes first, by a later time."

_PROGRAMS = "(SELECT pk FROM oauth_programs WHERE client = $2)"
# The number of a file is `pk` in the one table, and `file` in the other.
_FIRST = f"""
    SELECT file, MIN(first) AS first FROM (
        SELECT pk AS file, position AS first FROM files
        WHERE workspace = {WORKSPACE} AND program IN {_PROGRAMS} AND author_id = $3::uuid
        AND changed_at >= $4
        UNION ALL
        SELECT file, MIN(position) FROM revisions
        WHERE workspace = {WORKSPACE} AND program IN {_PROGRAMS} AND author_id = $3::uuid
        AND changed_at >= $4 GROUP BY file
    ) AS changed GROUP BY file LIMIT $5
"""
_OF_FILE = f"files.workspace = {WORKSPACE} AND files.pk = $2"
_FROM = (
    from_both(f"SELECT {{columns}} FROM {{source}} WHERE {_OF_FILE} AND {{table}}.position >= $3")
    + " ORDER BY position LIMIT $4"
)
_BEFORE = (
    from_both(f"SELECT {{columns}} FROM {{source}} WHERE {_OF_FILE} AND {{table}}.position < $3")
    + " ORDER BY position DESC LIMIT 1"
)
_HAS_HEADS = f"""
    SELECT 1 FROM files WHERE workspace = {WORKSPACE} AND program IN {_PROGRAMS}
        AND author_id = $3::uuid LIMIT 1
"""
_ENDS = f"""
    SELECT {columns_of("files")}, {columns_of("revisions")}, revisions.position
    FROM ({_FIRST}) AS first_changes
    JOIN files ON files.workspace = {WORKSPACE} AND files.pk = first_changes.file
    LEFT JOIN revisions ON revisions.workspace = files.workspace AND revisions.file = files.pk
        AND revisions.position = (
            SELECT MAX(position) FROM revisions AS earlier WHERE earlier.workspace = files.workspace
                AND earlier.file = files.pk AND earlier.position < first_changes.first
        )
"""


class ProgramOfAccount(NamedTuple):
    """A program, and the account for which it changed something."""

    client_id: str
    author: AccountId


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
    """Histories of files, each as `octavo.features.history.rules.reversion.undo` takes it.

    ``numbers`` are those under which they record the program.
    """

    histories: dict[FileId, list[Revision]]
    numbers: frozenset[int]


def histories_of(workspace_id: WorkspaceId, changes: ChangesOfProgram) -> Script[ChangedHistories]:
    """Return the histories of the files that a program changed, from before its first change on.

    Raises `TooManyFiles` for more than `MAX_FILES`, or more than `MAX_REVISIONS`.
    """

    async def read_histories(transaction: Transaction) -> ChangedHistories:
        numbers = await _numbers(transaction, changes.client_id)
        first_changes = await transaction.fetch_all(_FIRST, workspace_id, *changes, MAX_FILES + 1)
        if len(first_changes) > MAX_FILES:
            raise TooManyFiles(TOO_MANY)
        histories: dict[FileId, list[Revision]] = {}
        left = MAX_REVISIONS
        for number, first in first_changes:
            history = await _history(transaction, workspace_id, number, Position(first), left)
            left -= len(history)
            if left < 0:
                raise TooManyFiles(TOO_MANY)
            histories[history[0].file_id] = history
        return ChangedHistories(histories, numbers)

    return read_histories


def programs_undone(
    workspace_id: WorkspaceId, programs: Sequence[ProgramOfAccount]
) -> Script[frozenset[ProgramOfAccount]]:
    """Return the programs whose stored changes are all undone.

    Those that come after `MAX_ENDS` files are not examined.
    """

    async def read_undone(transaction: Transaction) -> frozenset[ProgramOfAccount]:
        undone: list[ProgramOfAccount] = []
        left = MAX_ENDS
        for program in programs:
            if await transaction.fetch_one(_HAS_HEADS, workspace_id, *program) is not None:
                # Something that it changed is still a head, as for most programs.
                continue
            ends = await _ends(transaction, workspace_id, program, left)
            left -= len(ends)
            if left < 0:
                break
            numbers = await _numbers(transaction, program.client_id)
            if is_undone(ends, partial(ChangesOfProgram(*program, 0).includes, numbers=numbers)):
                undone.append(program)
        return frozenset(undone)

    return read_undone


async def _ends(
    transaction: Transaction, workspace_id: WorkspaceId, program: ProgramOfAccount, limit: int
) -> list[FileEnds]:
    rows = await transaction.fetch_all(_ENDS, workspace_id, *program, 0, limit + 1)
    return [
        FileEnds(
            None if row[-1] is None else revision_of(row[COUNT:]),
            revision_of(row),
        )
        for row in rows
    ]


async def _numbers(transaction: Transaction, client_id: str) -> frozenset[int]:
    rows = await transaction.fetch_all("SELECT pk FROM oauth_programs WHERE client = $1", client_id)
    return frozenset(row[0] for row in rows)


async def _history(
    transaction: Transaction, workspace_id: WorkspaceId, file: int, first: Position, limit: int
) -> list[Revision]:
    before = await transaction.fetch_all(_BEFORE, workspace_id, file, first)
    following = await transaction.fetch_all(_FROM, workspace_id, file, first, limit + 1)
    return revisions_of_rows([row[:COUNT] for row in (*before, *following)])
