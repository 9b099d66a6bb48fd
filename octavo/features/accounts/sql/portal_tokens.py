"""Create, redeem and expire the tokens that hand a person to the operator's portal."""

from octavo_rules.identity import AccountId

from octavo.features.accounts.rules.portal import PortalTokenUnusable
from octavo.features.accounts.sql.accounts import AccountSummary, summary_of
from octavo.model.access.account import AccountGone
from octavo.model.usage import month_of
from octavo.store.queries.accounts import is_open
from octavo.store.queries.expiry import delete_ended
from octavo.store.transaction import Script, Transaction


def create(digest: bytes, account_id: AccountId, now: int, expires_at: int) -> Script[None]:
    """Insert a token with ``digest``, and delete those of the account that have expired.

    ``now`` and ``expires_at`` are in milliseconds of Unix time. Raises `AccountGone`.
    """

    async def insert_token(transaction: Transaction) -> None:
        if not await is_open(transaction, account_id):
            raise AccountGone
        await transaction.execute(
            "DELETE FROM portal_tokens WHERE account_id = $1::uuid AND expires_at <= $2",
            account_id,
            now,
        )
        await transaction.execute(
            "INSERT INTO portal_tokens (digest, account_id, expires_at) VALUES ($1, $2::uuid, $3)",
            digest,
            account_id,
            expires_at,
        )

    return insert_token


def redeem(digest: bytes, now: int) -> Script[AccountSummary]:
    """Delete the token with ``digest``, and return its account.

    Raises `PortalTokenUnusable` when there is no such token at ``now``, also for an account that
    was disabled meanwhile. ``now`` is in milliseconds of Unix time.
    """
    month = month_of(now / 1000)

    async def redeem_token(transaction: Transaction) -> AccountSummary:
        row = await transaction.fetch_one(
            "DELETE FROM portal_tokens WHERE digest = $1 AND expires_at > $2 RETURNING account_id",
            digest,
            now,
        )
        summary = None if row is None else await summary_of(AccountId(row[0]), month)(transaction)
        if summary is None or not summary.account.open:
            raise PortalTokenUnusable
        return summary

    return redeem_token


def expire(now: int) -> Script[bool]:
    """Delete some tokens that have expired; return whether there may be more."""
    return delete_ended("portal_tokens", "digest", "expires_at <= $1", now)
