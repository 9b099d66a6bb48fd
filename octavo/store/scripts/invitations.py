"""Create, find and use invitations."""

from __future__ import annotations

from dataclasses import replace

from octavo.model.accounts.account import Account
from octavo.model.accounts.invitation import Invitation
from octavo.model.accounts.refusal import AddressTaken, InvitationUnusable
from octavo.model.accounts.session import Session
from octavo.store.scripts import accounts, sessions
from octavo.store.transaction import Row, Script, Transaction

_COLUMNS = "id, address, role, created_at, expires_at, used_at, revoked_at, bootstrap"


def create(invitation: Invitation, digest: bytes) -> Script[None]:
    """Insert an invitation whose token has ``digest``."""

    async def create_invitation(transaction: Transaction) -> None:
        await transaction.execute(
            f"INSERT INTO invitations ({_COLUMNS}, digest)"
            " VALUES ($1::uuid, $2, $3, $4, $5, $6, $7, $8, $9)",
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

    return create_invitation


def by_digest(digest: bytes) -> Script[Invitation | None]:
    """Return the invitation whose token has this digest, open or not; None without one."""

    async def find_invitation(transaction: Transaction) -> Invitation | None:
        return await _by_digest(transaction, digest)

    return find_invitation


def use(
    digest: bytes, account: Account, encoded: str, session: Session, token: bytes
) -> Script[Account]:
    """Create an account from an invitation, with its first session; return it.

    ``encoded`` is its password, ``token`` the digest of the session's token. Its role becomes
    that of the invitation. Raises `InvitationUnusable`, or `AddressTaken`, after which the
    invitation can still be used.
    """

    async def use_invitation(transaction: Transaction) -> Account:
        now = account.created_at
        found = await _by_digest(transaction, digest)
        if found is None or not found.admits(account.address, now):
            raise InvitationUnusable
        used = await transaction.execute(
            "UPDATE invitations SET used_at = $2 WHERE id = $1::uuid AND used_at IS NULL",
            found.invitation_id,
            now,
        )
        if used != 1:
            raise InvitationUnusable
        made = replace(account, role=found.role)
        if not await accounts.insert(transaction, made, encoded):
            raise AddressTaken
        await sessions.insert(transaction, session, token)
        # Those of other starts of the server: there is only one first administrator.
        await transaction.execute(
            "UPDATE invitations SET revoked_at = $1"
            " WHERE bootstrap = 1 AND used_at IS NULL AND revoked_at IS NULL",
            now,
        )
        return made

    return use_invitation


async def _by_digest(transaction: Transaction, digest: bytes) -> Invitation | None:
    row = await transaction.fetch_one(
        f"SELECT {_COLUMNS} FROM invitations WHERE digest = $1", digest
    )
    return None if row is None else _invitation(row)


def _invitation(row: Row) -> Invitation:
    *given, bootstrap = row
    return replace(Invitation(*given), of_start=bootstrap == 1)
