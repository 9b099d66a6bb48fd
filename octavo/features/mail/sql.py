"""The outbox: messages that wait to be sent, and the budget of each address.

A message is added in the transaction that causes it. A process claims it for a limited time, sends
it, and deletes it. If the process dies, the claim ends, and another process claims the message. The
number of the attempt identifies a claim: a process whose claim has ended changes nothing.
"""

from __future__ import annotations

from octavo.features.mail.rules import QueuedMail
from octavo.model.access.account import Account, Address
from octavo.model.access.rate import Rate, admit
from octavo.store.queries import accounts as account_rows
from octavo.store.queries.expiry import delete_ended
from octavo.store.transaction import Script, Transaction

_COLUMNS = "id, kind, address, created_at, expires_at, attempts"


async def insert(transaction: Transaction, mail: QueuedMail, due_at: int | None = None) -> None:
    """Add a message, due at ``due_at`` (ms); with None, immediately."""
    await transaction.execute(
        f"INSERT INTO outbox ({_COLUMNS}, due_at) VALUES ($1::uuid, $2, $3, $4, $5, $6, $7)",
        mail.mail_id,
        mail.kind,
        mail.address,
        mail.created_at,
        mail.expires_at,
        mail.attempts,
        mail.created_at if due_at is None else due_at,
    )


def add(mail: QueuedMail, due_at: int | None = None) -> Script[None]:
    """Add a message, due at ``due_at`` (ms); with None, immediately."""

    async def add_mail(transaction: Transaction) -> None:
        await insert(transaction, mail, due_at)

    return add_mail


def claim(now: int, until: int) -> Script[QueuedMail | None]:
    """Claim the message that is due for the longest time; None when none is due.

    No other process can claim it before ``until``. Times are in milliseconds.
    """

    async def claim_mail(transaction: Transaction) -> QueuedMail | None:
        row = await transaction.fetch_one(
            "SELECT id FROM outbox WHERE due_at <= $1 ORDER BY due_at, id LIMIT 1", now
        )
        if row is None:
            return None
        claimed = await transaction.fetch_one(
            "UPDATE outbox SET due_at = $2, attempts = attempts + 1"
            f" WHERE id = $1::uuid RETURNING {_COLUMNS}",
            row[0],
            until,
        )
        return None if claimed is None else QueuedMail(*claimed)

    return claim_mail


async def next_due(transaction: Transaction) -> int | None:
    """Return when the next message is due, in milliseconds; None for an empty outbox."""
    row = await transaction.fetch_one("SELECT MIN(due_at) FROM outbox")
    return None if row is None or row[0] is None else int(row[0])


def settle(mail: QueuedMail) -> Script[bool]:
    """Delete a claimed message; return False when the claim has ended and another began."""

    async def delete_mail(transaction: Transaction) -> bool:
        deleted = await transaction.execute(
            "DELETE FROM outbox WHERE id = $1::uuid AND attempts = $2", mail.mail_id, mail.attempts
        )
        return deleted == 1

    return delete_mail


def postpone(mail: QueuedMail, due_at: int) -> Script[bool]:
    """End the claim on a message, which is due again at a time; return as `settle` does."""

    async def postpone_mail(transaction: Transaction) -> bool:
        postponed = await transaction.execute(
            "UPDATE outbox SET due_at = $3 WHERE id = $1::uuid AND attempts = $2",
            mail.mail_id,
            mail.attempts,
            due_at,
        )
        return postponed == 1

    return postpone_mail


def release(now: int) -> Script[None]:
    """End every claim: for a process that knows that no other one is running."""

    async def release_all(transaction: Transaction) -> None:
        await transaction.execute(
            # A message that was never claimed waits for its own time.
            "UPDATE outbox SET due_at = $1 WHERE due_at > $2 AND attempts > 0",
            now,
            now,
        )

    return release_all


async def is_claimed(transaction: Transaction, mail: QueuedMail) -> bool:
    """Return whether ``mail`` is still claimed by the attempt that it names."""
    row = await transaction.fetch_one(
        "SELECT 1 FROM outbox WHERE id = $1::uuid AND attempts = $2", mail.mail_id, mail.attempts
    )
    return row is not None


def open_recipient(mail: QueuedMail) -> Script[Account | None]:
    """Return the account that a claimed message is for.

    None means that the message must not be sent: the claim on it has ended, or no open account has
    the address.
    """

    async def find_recipient(transaction: Transaction) -> Account | None:
        if not await is_claimed(transaction, mail):
            return None
        account = await account_rows.at(transaction, mail.address)
        return account if account is not None and account.open else None

    return find_recipient


async def spend(transaction: Transaction, address: Address, now: int, rate: Rate) -> bool:
    """Count a message to ``address``; return whether ``rate`` admits it."""
    row = await transaction.fetch_one(
        "SELECT theoretical_arrival_at FROM mail_budgets WHERE address = $1", address
    )
    verdict = admit(None if row is None else row[0] / 1000, now / 1000, rate)
    await transaction.execute(
        "INSERT INTO mail_budgets (address, theoretical_arrival_at) VALUES ($1, $2)"
        " ON CONFLICT (address) DO UPDATE"
        " SET theoretical_arrival_at = excluded.theoretical_arrival_at",
        address,
        round(verdict.paid_at * 1000),
    )
    return verdict.retry_after == 0


async def forget_address(transaction: Transaction, address: Address) -> None:
    """Delete the messages to ``address``, and its budget."""
    await transaction.execute("DELETE FROM outbox WHERE address = $1", address)
    await transaction.execute("DELETE FROM mail_budgets WHERE address = $1", address)


def expire_budgets(now: int) -> Script[bool]:
    """Delete some budgets that are unspent again; return whether there may be more."""
    return delete_ended("mail_budgets", "address", "theoretical_arrival_at <= $1", now)
