"""Insert programs that get access, and delete those whose access has ended.

A program whose access has ended stays as long as a revision refers to it. Each one is inserted by a
decision of a person; an account can make only a few of these in an hour.
"""

from __future__ import annotations

from octavo_rules.identity import ProgramNumber

from octavo.features.oauth.rules.client import is_document_address
from octavo.model.access.account import ClientId
from octavo.store.queries.expiry import MAX_ROWS
from octavo.store.transaction import Script, Transaction

_NUMBER = "SELECT pk FROM oauth_programs WHERE client = $1 AND name = $2"
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


def mark_ended(now: int) -> Script[bool]:
    """Mark some programs without a grant as ended; return whether there may be more.

    ``now`` is in milliseconds of Unix time.
    """

    async def update_programs(transaction: Transaction) -> bool:
        return await transaction.execute(_MARK_ENDED, now, MAX_ROWS) == MAX_ROWS

    return update_programs


def expire(ended_before: int) -> Script[bool]:
    """Delete some ended programs that no revision refers to; return whether there may be more.

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
