"""Programs as the history of notes names them: the client, and how it called itself.

They are written with the grants of people to them (`octavo.features.oauth.sql.oauth_programs`).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from octavo_rules.identity import AccountId, ProgramNumber, WorkspaceId

from octavo.model.access.account import ClientId
from octavo.store.queries.revision_rows import WORKSPACE, select_in
from octavo.store.transaction import Script, Transaction

# The last name of a client is the one that was recorded last.
_OF_WORKSPACE = f"""
    SELECT oauth_programs.client, oauth_programs.name, totals.author_id, totals.revisions,
        totals.first_at, totals.last_at
    FROM (
        SELECT MAX(oauth_programs.pk) AS pk, changes.author_id,
            SUM(changes.revisions) AS revisions, MIN(changes.first_at) AS first_at,
            MAX(changes.last_at) AS last_at
        FROM (
            SELECT program, author_id, COUNT(*) AS revisions, MIN(changed_at) AS first_at,
                MAX(changed_at) AS last_at
            FROM files WHERE workspace = {WORKSPACE} AND program IS NOT NULL
            GROUP BY program, author_id
            UNION ALL
            SELECT program, author_id, COUNT(*), MIN(changed_at), MAX(changed_at)
            FROM revisions WHERE workspace = {WORKSPACE} AND program IS NOT NULL
            GROUP BY program, author_id
        ) AS changes
        JOIN oauth_programs ON oauth_programs.pk = changes.program
        GROUP BY oauth_programs.client, changes.author_id
    ) AS totals
    JOIN oauth_programs ON oauth_programs.pk = totals.pk
    ORDER BY totals.last_at DESC, oauth_programs.client, totals.author_id LIMIT $2
"""


class RecordedProgram(NamedTuple):
    """A program that made a revision, as it called itself then."""

    client_id: ClientId
    name: str


class ProgramChanges(NamedTuple):
    """What a program changed in a workspace for one account; times are in milliseconds.

    Attributes:
        author: the account that gave the program access.
        revisions: how many revisions of files it made that are still stored.
    """

    program: RecordedProgram
    author: AccountId
    revisions: int
    first_at: int
    last_at: int


def programs_of(numbers: Sequence[ProgramNumber]) -> Script[dict[ProgramNumber, RecordedProgram]]:
    """Return programs by their numbers."""

    async def read_programs(
        transaction: Transaction,
    ) -> dict[ProgramNumber, RecordedProgram]:
        if not numbers:
            return {}
        rows = await select_in(
            transaction,
            # The scope excludes the empty client, which no program has.
            "SELECT pk, client, name FROM oauth_programs WHERE client <> $1 AND pk IN ($names)",
            "",
            numbers,
        )
        return {ProgramNumber(row[0]): RecordedProgram(ClientId(row[1]), row[2]) for row in rows}

    return read_programs


def changes_of(workspace_id: WorkspaceId, limit: int) -> Script[list[ProgramChanges]]:
    """Return what programs changed in a workspace, by client and account, the latest first."""

    async def read_changes(transaction: Transaction) -> list[ProgramChanges]:
        rows = await transaction.fetch_all(_OF_WORKSPACE, workspace_id, limit)
        return [
            ProgramChanges(
                RecordedProgram(ClientId(row[0]), row[1]), AccountId(row[2]), int(row[3]), *row[4:]
            )
            for row in rows
        ]

    return read_changes
