"""The slots of imports and exports: one for an account, and a few for the installation.

A slot is taken for a short time, and renewed while the job runs: a process that dies frees it. The
keys of the table allow no second job in a slot, or of an account, whatever other processes do.
"""

from __future__ import annotations

from typing import Literal

from octavo_rules.identity import AccountId

from octavo.store.transaction import Script, Transaction

Taken = Literal["taken", "account", "installation"]
"""``taken``, or what has too many jobs."""

_INSERT = """
    INSERT INTO archive_jobs (slot, account_id, job_id, renewed_until)
    VALUES ($1, $2::uuid, $3::uuid, $4) ON CONFLICT DO NOTHING
"""


def take_slot(account_id: AccountId, job_id: str, now: int, until: int, most: int) -> Script[Taken]:
    """Take a slot for a job of an account until a time, unless there are ``most`` jobs.

    Times are in ms. Slots that were not renewed are free.
    """

    async def take(transaction: Transaction) -> Taken:
        await transaction.execute("DELETE FROM archive_jobs WHERE renewed_until < $1", now)
        verdict, free = await _free_slots(transaction, account_id, now, most)
        for slot in free:
            if await transaction.execute(_INSERT, slot, account_id, job_id, until):
                return "taken"
            # Another process has taken the slot, or a slot for the account.
            mine = await transaction.fetch_one(
                "SELECT 1 FROM archive_jobs WHERE account_id = $1::uuid", account_id
            )
            if mine is not None:
                return "account"
        return "installation" if verdict == "taken" else verdict

    return take


def free_slot_for(account_id: AccountId, now: int, most: int) -> Script[Taken]:
    """Return what `take_slot` would return at a time (ms), and take nothing."""

    async def look(transaction: Transaction) -> Taken:
        return (await _free_slots(transaction, account_id, now, most))[0]

    return look


async def _free_slots(
    transaction: Transaction, account_id: AccountId, now: int, most: int
) -> tuple[Taken, list[int]]:
    """Return whether a job of an account may take a slot at a time (ms), and the free ones."""
    rows = await transaction.fetch_all(
        "SELECT slot, account_id FROM archive_jobs WHERE renewed_until >= $1", now
    )
    if any(row[1] == account_id for row in rows):
        return "account", []
    free = sorted(set(range(most)) - {row[0] for row in rows})
    return ("taken" if free else "installation"), free


def renew_slot(job_id: str, until: int) -> Script[bool]:
    """Keep the slot of a job until a time (ms); return False if it was lost."""

    async def renew(transaction: Transaction) -> bool:
        sql = "UPDATE archive_jobs SET renewed_until = $2 WHERE job_id = $1::uuid"
        return await transaction.execute(sql, job_id, until) > 0

    return renew


def free_slot(job_id: str) -> Script[None]:
    """Free the slot of a job."""

    async def free(transaction: Transaction) -> None:
        await transaction.execute("DELETE FROM archive_jobs WHERE job_id = $1::uuid", job_id)

    return free


def free_all_slots() -> Script[None]:
    """Free the slots of jobs that no process runs any more."""

    async def free(transaction: Transaction) -> None:
        await transaction.execute("DELETE FROM archive_jobs")

    return free
