"""Tokens to choose a new password: created, looked up and used once. Only digests are stored."""

from __future__ import annotations

from octavo_rules.identity import AccountId

from octavo.features.accounts.rules.refusal import InvalidResetToken
from octavo.features.accounts.sql import api_keys, sessions
from octavo.features.mail import sql as outbox
from octavo.features.mail.rules import QueuedMail
from octavo.model.access.account import Account, Address
from octavo.model.access.rate import Rate
from octavo.store.queries import accounts as account_rows
from octavo.store.queries.expiry import delete_ended
from octavo.store.transaction import Script, Transaction


def create_at(address: Address, digest: bytes, expires_at: int) -> Script[Account | None]:
    """Create a token for the account with ``address``, and return the account.

    The account is returned as it is. For a disabled one, no token is created. Returns None without
    an account.
    """

    async def create_token(transaction: Transaction) -> Account | None:
        account = await account_rows.at(transaction, address)
        if account is not None and account.open:
            await _insert(transaction, digest, account.account_id, expires_at)
        return account

    return create_token


def create_for_mail(
    mail: QueuedMail, digest: bytes, expires_at: int, now: int, budget: Rate
) -> Script[Account | None]:
    """Create the token that a claimed message contains; return the account that it is for.

    None means that the message must not be sent: the claim on it has ended, no open account has the
    address, or the budget of the address is spent. The first attempt counts against the budget.
    """

    async def create_token(transaction: Transaction) -> Account | None:
        if not await outbox.is_claimed(transaction, mail):
            return None
        account = await account_rows.at(transaction, mail.address)
        if account is None or not account.open:
            return None
        if mail.attempts == 1 and not await outbox.spend(transaction, mail.address, now, budget):
            return None
        await _insert(transaction, digest, account.account_id, expires_at)
        return account

    return create_token


async def _insert(
    transaction: Transaction, digest: bytes, account_id: AccountId, expires_at: int
) -> None:
    await transaction.execute(
        "INSERT INTO password_resets (digest, account_id, expires_at) VALUES ($1, $2::uuid, $3)",
        digest,
        account_id,
        expires_at,
    )


def account_of(digest: bytes, now: int) -> Script[Account | None]:
    """Return the open account of a token that is valid at ``now``; None without one."""

    async def find_account(transaction: Transaction) -> Account | None:
        row = await transaction.fetch_one(
            f"SELECT {account_rows.COLUMNS} FROM accounts"
            " JOIN password_resets ON password_resets.account_id = accounts.id"
            " WHERE password_resets.digest = $1 AND password_resets.expires_at > $2"
            " AND accounts.state <> 'disabled'",
            digest,
            now,
        )
        return None if row is None else account_rows.account_of(row)

    return find_account


def use(digest: bytes, encoded: str, notice: QueuedMail, now: int) -> Script[bool]:
    """Replace the password of the account of a token by ``encoded``.

    Every token and session of the account ends, and ``notice`` is added to the outbox. The token
    proves the address. If the address was not proven before, somebody else may have registered it,
    created keys and given programs access; these end as well. Returns whether any key was revoked.
    Raises `InvalidResetToken`.
    """

    async def use_token(transaction: Transaction) -> bool:
        account = await account_of(digest, now)(transaction)
        if account is None:
            raise InvalidResetToken
        account_id = account.account_id
        first = await transaction.execute(
            "UPDATE accounts SET address_proven = 1 WHERE id = $1::uuid AND address_proven = 0",
            account_id,
        )
        await transaction.execute(
            "UPDATE accounts SET password = $2, updated_at = $3 WHERE id = $1::uuid",
            account_id,
            encoded,
            now,
        )
        await end_all(transaction, account_id)
        await sessions.end_all(account_id)(transaction)
        await outbox.insert(transaction, notice)
        if first != 1:
            return False
        for end_access in transaction.listeners.access_ended:
            await end_access(transaction, account_id)
        return await api_keys.revoke_all(account_id)(transaction) > 0

    return use_token


async def end_all(transaction: Transaction, account_id: AccountId) -> None:
    """Invalidate every token of an account."""
    await transaction.execute("DELETE FROM password_resets WHERE account_id = $1::uuid", account_id)


def expire(now: int) -> Script[bool]:
    """Delete some tokens that have expired; return whether there may be more."""
    return delete_ended("password_resets", "digest", "expires_at <= $1", now)
