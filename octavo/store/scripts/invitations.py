"""Invitations: make, find and use them."""

from __future__ import annotations

from dataclasses import replace

from octavo.model.accounts.account import Account
from octavo.model.accounts.invitation import Invitation
from octavo.model.accounts.refusal import AddressTaken, InvitationUnusable
from octavo.model.accounts.session import Session
from octavo.store.scripts import accounts, sessions
from octavo.store.transaction import Row, Script, Transaction

_COLUMNS = "id, address, role, created_at, expires_at, used_at, revoked_at, of_start"


def create(invitation: Invitation, digest: bytes) -> Script[None]:
    """Keep an invitation whose token has ``digest``."""

    async def script(transaction: Transaction) -> None:
        await transaction.execute(
            f"INSERT INTO invitations ({_COLUMNS}, digest)"
            " VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9)",
            invitation.invitation_id,
            invitation.address,
            invitation.role,
            invitation.created_at,
            invitation.expires_at,
            invitation.used_at,
            invitation.revoked_at,
            int(invitation.of_start),
            digest,
        )

    return script


def by_digest(digest: bytes) -> Script[Invitation | None]:
    """Answer the invitation whose token has this digest, open or not; None for none."""

    async def script(transaction: Transaction) -> Invitation | None:
        return await _by_digest(transaction, digest)

    return script


def use(
    digest: bytes, account: Account, encoded: str, session: Session, token: bytes
) -> Script[Account]:
    """Make an account from an invitation, with its first session; answer it.

    ``encoded`` is its password, ``token`` the digest of the session's token. Its role becomes
    that of the invitation. Raises `InvitationUnusable`, or `AddressTaken`, and then the
    invitation can still be used.
    """

    async def script(transaction: Transaction) -> Account:
        now = account.created_at
        found = await _by_digest(transaction, digest)
        if found is None or not found.admits(account.address, now):
            raise InvitationUnusable
        used = await transaction.execute(
            "UPDATE invitations SET used_at = $2 WHERE id = $1 AND used_at IS NULL",
            found.invitation_id,
            now,
        )
        if used != 1:
            raise InvitationUnusable
        made = replace(account, role=found.role)
        if not await accounts.insert(transaction, made, encoded):
            raise AddressTaken
        await sessions.insert(transaction, session, token)
        # Those of other starts; nobody is to become the first administrator twice.
        await transaction.execute(
            "UPDATE invitations SET revoked_at = $1"
            " WHERE of_start = 1 AND used_at IS NULL AND revoked_at IS NULL",
            now,
        )
        return made

    return script


async def _by_digest(transaction: Transaction, digest: bytes) -> Invitation | None:
    row = await transaction.fetch_one(
        f"SELECT {_COLUMNS} FROM invitations WHERE digest = $1", digest
    )
    return None if row is None else _invitation(row)


def _invitation(row: Row) -> Invitation:
    *given, of_start = row
    return replace(Invitation(*given), of_start=of_start == 1)
