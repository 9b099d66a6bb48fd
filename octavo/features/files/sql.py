"""Programs as the history of notes names them: the client, and how it called itself.

When the access of a program has ended, it stays for as long as a revision refers to it. Each is
made by the decision of a person, of which an account can make few in an hour.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from octavo_rules.identity import AccountId, ProgramNumber, WorkspaceId

from octavo.features.oauth.rules.client import is_document_address
from octavo.model.access.account import ClientId
from octavo.store.queries.expiry import MAX_ROWS
from octavo.store.queries.revision_rows import WORKSPACE
from octavo.store.queries.select_in import select_in
from octavo.store.transaction import Script, Transaction

_NUMBER = "SELECT pk FROM oauth_programs WHERE client = $1 AND name = $2"
# Of the names of a client, the one that it had last was recorded last.
_OF_WORKSPACE = f"""
    SELECT oauth_programs.client, oauth_programs.name, found.author_id, found.revisions,
        found.first_at, found.last_at
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
    ) AS found
    JOIN oauth_programs ON oauth_programs.pk = found.pk
    ORDER BY found.last_at DESC, oauth_programs.client, found.author_id LIMIT $2
"""
_HAS_GRANT = "EXISTS (SELECT 1 FROM oauth_grants WHERE program = oauth_programs.pk)"
_MARK_ENDED = f"""
    UPDATE oauth_programs SET ended_at = $1 WHERE pk IN (
        SELECT pk FROM oauth_programs WHERE ended_at IS NULL AND NOT {_HAS_GRANT} LIMIT $2
    )
"""
_EXPIRE = f"""
    DELETE FROM oauth_programs WHERE pk IN (
        SELECT pk FROM oauth_programs WHERE ended_at < $1 AND NOT {_HAS_GRANT}
        AND NOT EXISTS (SELECT 1 FROM files WHERE program = oauth_programs.pk)
        AND NOT EXISTS (SELECT 1 FROM revisions WHERE program = oauth_programs.pk) LIMIT $2
    ) RETURNING client
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


async def number_of(transaction: Transaction, client_id: ClientId, name: str) -> ProgramNumber:
    """Return the number of a program of this name that gets access; insert it if it is new."""
    row = await transaction.fetch_one(_NUMBER, client_id, name)
    if row is None:
        await transaction.execute(
            "INSERT INTO oauth_programs (client, name) VALUES ($1, $2) ON CONFLICT DO NOTHING",
            client_id,
            name,
        )
        row = await transaction.fetch_one(_NUMBER, client_id, name)
    if row is None:
        raise AssertionError("a program that was inserted is missing")
    await transaction.execute(
        "UPDATE oauth_programs SET ended_at = NULL WHERE pk = $1 AND ended_at IS NOT NULL",
        row[0],
    )
    return ProgramNumber(row[0])


def programs_of(numbers: Sequence[ProgramNumber]) -> Script[dict[ProgramNumber, RecordedProgram]]:
    """Return programs by their numbers."""

    async def read_programs(
        transaction: Transaction,
    ) -> dict[ProgramNumber, RecordedProgram]:
        if not numbers:
            return {}
        rows = await select_in(
            transaction,
            # The scope is a client that no program has.
            "SELECT pk, client, name FROM oauth_programs WHERE client <> $1 AND pk IN ($names)",
            "",
            numbers,
        )
        return {ProgramNumber(row[0]): RecordedProgram(ClientId(row[1]), row[2]) for row in rows}

    return read_programs


def mark_ended(now: int) -> Script[bool]:
    """Note that nobody allows some programs anything any more; return whether there may be more.

    ``now`` is in milliseconds of Unix time.
    """

    async def update_programs(transaction: Transaction) -> bool:
        return await transaction.execute(_MARK_ENDED, now, MAX_ROWS) == MAX_ROWS

    return update_programs


def expire(ended_before: int) -> Script[bool]:
    """Delete some programs that had ended and that no revision refers to; return as `mark_ended`.

    The registration of a client is deleted with its last program. ``ended_before`` is in
    milliseconds of Unix time.
    """

    async def delete_programs(transaction: Transaction) -> bool:
        rows = await transaction.fetch_all(_EXPIRE, ended_before, MAX_ROWS)
        for client in sorted({row[0] for row in rows}):
            others = await transaction.fetch_one(
                "SELECT 1 FROM oauth_programs WHERE client = $1 LIMIT 1", client
            )
            if others is None and not is_document_address(client):
                await transaction.execute("DELETE FROM oauth_clients WHERE id = $1::uuid", client)
        return len(rows) == MAX_ROWS

    return delete_programs


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
