"""Record, read and expire entries of the audit, and erase the clients of removed accounts."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace
from heapq import merge
from itertools import islice
from operator import itemgetter

from octavo_rules.identity import AccountId

from octavo.model.access.audit import AuditEntry, AuditId, AuditKind, account_of, service_of
from octavo.store.identifiers import LAST
from octavo.store.transaction import Row, Script, Transaction

MAX_ROWS = 500
"""Rows that one step changes or deletes."""
MAX_REFUSALS = 100_000
"""Entries of refused attempts that are stored; the oldest expire first."""

_COLUMNS = "id, at, kind, actor, actor_id, subject_id, client, outcome, detail"


async def record(transaction: Transaction, entry: AuditEntry) -> None:
    """Insert ``entry`` in the transaction of the change that it records."""
    await transaction.execute(
        f"INSERT INTO audit ({_COLUMNS})"
        " VALUES ($1::uuid, $2, $3, $4, $5::uuid, $6::uuid, $7, $8, $9)",
        entry.entry_id,
        entry.at,
        entry.kind,
        service_of(entry.actor),
        account_of(entry.actor),
        entry.subject,
        entry.client,
        entry.outcome,
        json.dumps({**entry.detail}, separators=(",", ":")) if entry.detail else "",
    )


def page(
    before: str | None,
    limit: int,
    *,
    kind: AuditKind | None = None,
    account_id: AccountId | None = None,
) -> Script[list[AuditEntry]]:
    """Return entries, the newest first, at most ``limit``.

    Args:
        before: the id of the entry that they follow; None begins with the newest.
        limit: the maximum number.
        kind: returns only entries of this kind.
        account_id: returns only entries that the account is the actor or the subject of.
    """
    # Each of these reads one index in the order of the result.
    conditions = [""]
    if account_id is not None:
        conditions = [
            " AND actor_id = $3::uuid",
            " AND subject_id = $3::uuid AND (actor_id IS NULL OR actor_id <> $3::uuid)",
        ]
    arguments = [value for value in (account_id, kind) if value is not None]
    of_kind = "" if kind is None else f" AND kind = ${2 + len(arguments)}"

    async def read_entries(transaction: Transaction) -> list[AuditEntry]:
        pages = [
            await transaction.fetch_all(
                f"SELECT {_COLUMNS} FROM audit WHERE id < $1::uuid{condition}{of_kind}"
                " ORDER BY id DESC LIMIT $2",
                before or LAST,
                limit,
                *arguments,
            )
            for condition in conditions
        ]
        rows = merge(*pages, key=itemgetter(0), reverse=True)
        return [_entry(row) for row in islice(rows, limit)]

    return read_entries


def expire(before: int) -> Script[bool]:
    """Delete some entries from before a time (ms); return whether there may be more."""

    async def delete_entries(transaction: Transaction) -> bool:
        # Identifiers sort by time: the oldest entries have the first.
        rows = await transaction.fetch_all(
            "SELECT id, at FROM audit ORDER BY id LIMIT $1", MAX_ROWS
        )
        expired = [(entry_id,) for entry_id, at in rows if at < before]
        await transaction.execute_many("DELETE FROM audit WHERE id = $1::uuid", expired)
        return len(expired) == MAX_ROWS

    return delete_entries


def expire_refusals(maximum: int = MAX_REFUSALS) -> Script[bool]:
    """Delete some of the oldest refused attempts in excess of ``maximum``.

    Returns whether there may be more.
    """

    async def delete_refusals(transaction: Transaction) -> bool:
        oldest = await transaction.fetch_one(
            "SELECT id FROM audit WHERE kind = 'attempt_refused' ORDER BY id DESC"
            " LIMIT 1 OFFSET $1",
            maximum,
        )
        if oldest is None:
            return False
        deleted = await transaction.execute(
            "DELETE FROM audit WHERE id IN (SELECT id FROM audit"
            " WHERE kind = 'attempt_refused' AND id <= $1::uuid ORDER BY id LIMIT $2)",
            oldest[0],
            MAX_ROWS,
        )
        return deleted == MAX_ROWS

    return delete_refusals


def without_clients_of_removed(entries: Sequence[AuditEntry]) -> Script[list[AuditEntry]]:
    """Return ``entries`` without the clients of those whose subject is no longer an account."""

    async def check_subjects(transaction: Transaction) -> list[AuditEntry]:
        checked = []
        for entry in entries:
            if entry.subject is not None:
                account = await transaction.fetch_one(
                    "SELECT 1 FROM accounts WHERE id = $1::uuid", entry.subject
                )
                checked.append(entry if account is not None else replace(entry, client=None))
            else:
                checked.append(entry)
        return checked

    return check_subjects


async def forget_clients(transaction: Transaction, account_id: AccountId) -> None:
    """Schedule the erasure of the clients of a removed account by `erase_clients`."""
    await transaction.execute(
        "INSERT INTO audit_erasures (account_id, after_id) VALUES ($1::uuid, $2::uuid)"
        " ON CONFLICT DO NOTHING",
        account_id,
        "",
    )


def erase_clients() -> Script[bool]:
    """Erase some clients of removed accounts; return whether there may be more.

    They are in the entries of what the account did, and of attempts to sign in to it. The clients
    of others that changed the account are theirs.
    """

    async def erase_some(transaction: Transaction) -> bool:
        row = await transaction.fetch_one(
            "SELECT account_id, after_id FROM audit_erasures ORDER BY account_id LIMIT 1"
        )
        if row is None:
            return False
        account_id, after = row
        pages = [
            await transaction.fetch_all(
                f"SELECT id FROM audit WHERE {condition} AND id > $2::uuid ORDER BY id LIMIT $3",
                account_id,
                after,
                MAX_ROWS,
            )
            for condition in (
                "actor_id = $1::uuid",
                "subject_id = $1::uuid AND actor_id IS NULL AND actor IS NULL",
            )
        ]
        entries = [(row[0],) for row in islice(merge(*pages, key=itemgetter(0)), MAX_ROWS)]
        await transaction.execute_many(
            "UPDATE audit SET client = NULL WHERE id = $1::uuid", entries
        )
        if len(entries) < MAX_ROWS:
            await transaction.execute(
                "DELETE FROM audit_erasures WHERE account_id = $1::uuid", account_id
            )
        else:
            await transaction.execute(
                "UPDATE audit_erasures SET after_id = $2::uuid WHERE account_id = $1::uuid",
                account_id,
                entries[-1][0],
            )
        return True

    return erase_some


def _entry(row: Row) -> AuditEntry:
    entry_id, at, kind, actor, actor_id, subject, client, outcome, detail = row
    return AuditEntry(
        AuditId(entry_id),
        at,
        kind,
        actor or actor_id,
        subject,
        client,
        outcome,
        json.loads(detail) if detail else {},
    )
