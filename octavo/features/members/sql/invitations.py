"""Create, find, list, use and revoke invitations, and register without one where that is open."""

from __future__ import annotations

from dataclasses import replace
from typing import NamedTuple

from octavo_rules.identity import AccountId, WorkspaceId

from octavo.features.accounts.rules import refusal
from octavo.features.accounts.rules.session import Session
from octavo.features.accounts.sql import accounts, sessions
from octavo.features.members import rules
from octavo.features.members.rules import Invitation, InvitationId
from octavo.features.members.sql import members
from octavo.model.access.account import Account, AccountGone, Address
from octavo.model.workspace import AlreadyMember, Role
from octavo.store.identifiers import LAST
from octavo.store.queries.expiry import delete_ended
from octavo.store.queries.workspaces import role_in
from octavo.store.transaction import Row, Script, Transaction

_COLUMNS = (
    "id, address, role, created_at, expires_at, used_at, revoked_at, workspace_id, workspace_role,"
    " created_by_id, bootstrap"
)


def create(invitation: Invitation, digest: bytes) -> Script[None]:
    """Insert an invitation whose token has ``digest``.

    The roles of its creator are checked, unless it is created by a command. Raises
    `NotAdministrator`, `WorkspaceMissing`, `RoleInsufficient` and `TooManyInvitations`.
    """

    async def create_invitation(transaction: Transaction) -> None:
        workspace_id, role = invitation.workspace_id, invitation.workspace_role
        if invitation.created_by is not None:
            if invitation.to_installation:
                await accounts.require_administrator(transaction, invitation.created_by)
            if workspace_id is not None:
                await members.require(transaction, workspace_id, invitation.created_by, None, role)
            await _require_room(transaction, workspace_id, invitation.created_at)
        await transaction.execute(
            f"INSERT INTO invitations ({_COLUMNS}, digest) VALUES ($1::uuid, $2, $3, $4, $5, $6,"
            " $7, $8::uuid, $9, $10::uuid, $11, $12)",
            invitation.invitation_id,
            invitation.address,
            invitation.role,
            invitation.created_at,
            invitation.expires_at,
            invitation.used_at,
            invitation.revoked_at,
            workspace_id,
            role,
            invitation.created_by,
            int(invitation.of_start),
            digest,
        )

    return create_invitation


async def _require_room(
    transaction: Transaction, workspace_id: WorkspaceId | None, now: int
) -> None:
    """Raise `TooManyInvitations` if no other invitation may be open."""
    if workspace_id is None:
        maximum, where, arguments = rules.MAX_OPEN, "IS NULL", []
    else:
        maximum, where, arguments = rules.MAX_OPEN_OF_WORKSPACE, "= $2::uuid", [workspace_id]
    row = await transaction.fetch_one(
        "SELECT COUNT(*) FROM invitations WHERE used_at IS NULL AND revoked_at IS NULL"
        f" AND expires_at > $1 AND workspace_id {where}",
        now,
        *arguments,
    )
    if row is not None and row[0] >= maximum:
        raise refusal.TooManyInvitations(maximum)


def by_digest(digest: bytes) -> Script[Invitation | None]:
    """Return the invitation whose token has this digest, open or not; None without one."""

    async def find_invitation(transaction: Transaction) -> Invitation | None:
        row = await transaction.fetch_one(
            f"SELECT {_COLUMNS} FROM invitations WHERE digest = $1", digest
        )
        return None if row is None else _invitation(row)

    return find_invitation


def list_of(
    workspace_id: WorkspaceId | None, before: str | None, limit: int
) -> Script[list[Invitation]]:
    """Return invitations into a workspace, or all with None, the newest first, at most ``limit``.

    With ``before``, return those that follow the invitation of that id.
    """

    async def read_invitations(transaction: Transaction) -> list[Invitation]:
        where, arguments = "", []
        if workspace_id is not None:
            where, arguments = " AND workspace_id = $3::uuid", [workspace_id]
        rows = await transaction.fetch_all(
            f"SELECT {_COLUMNS} FROM invitations WHERE id < $1::uuid{where}"
            " ORDER BY id DESC LIMIT $2",
            LAST if before is None else before,
            limit,
            *arguments,
        )
        return [_invitation(row) for row in rows]

    return read_invitations


class Joined(NamedTuple):
    """How an account joined a workspace."""

    workspace_id: WorkspaceId
    role: Role
    invitation_id: InvitationId


def revoke(invitation_id: InvitationId, workspace_id: WorkspaceId | None, now: int) -> Script[bool]:
    """Revoke an invitation, with ``workspace_id`` only one into that workspace.

    An invitation that was used or revoked stays as it is; then return False. Raises
    `InvitationMissing`.
    """

    async def revoke_invitation(transaction: Transaction) -> bool:
        where, arguments = "", []
        if workspace_id is not None:
            where, arguments = " AND workspace_id = $2::uuid", [workspace_id]
        row = await transaction.fetch_one(
            f"SELECT 1 FROM invitations WHERE id = $1::uuid{where}", invitation_id, *arguments
        )
        if row is None:
            raise refusal.InvitationMissing
        revoked = await transaction.execute(
            "UPDATE invitations SET revoked_at = $2"
            " WHERE id = $1::uuid AND used_at IS NULL AND revoked_at IS NULL",
            invitation_id,
            now,
        )
        return revoked == 1

    return revoke_invitation


def use(
    digest: bytes, account: Account, encoded: str, session: Session, token: bytes
) -> Script[Account]:
    """Create an account from an invitation, with its first session; return it.

    ``encoded`` is its password, ``token`` the digest of the session's token. Its role becomes
    that of the invitation, and it joins the workspace of the invitation. Raises
    `InvitationUnusable`, or `AddressTaken`, after which the invitation can still be used.
    """

    async def use_invitation(transaction: Transaction) -> Account:
        now = account.created_at
        invitation = await _used(transaction, digest, account.address, now)
        made = replace(account, role=invitation.role)
        if not await accounts.insert(transaction, made, encoded, proven=invitation.proves_address):
            raise refusal.AddressTaken
        await sessions.insert(transaction, session, token)
        await _join(transaction, invitation, account.account_id, now)
        # Revoke the invitations of other starts: there is one first administrator.
        await transaction.execute(
            "UPDATE invitations SET revoked_at = $1"
            " WHERE bootstrap = 1 AND used_at IS NULL AND revoked_at IS NULL",
            now,
        )
        return made

    return use_invitation


def accept(digest: bytes, account_id: AccountId, address: Address, now: int) -> Script[Joined]:
    """Let an account join the workspace of an invitation.

    Raises `InvitationUnusable`, also for one into no workspace; `AlreadyMember` and `AccountGone`,
    after which the invitation can still be used.
    """

    async def accept_invitation(transaction: Transaction) -> Joined:
        invitation = await _used(transaction, digest, address, now)
        if invitation.workspace_id is None or invitation.workspace_role is None:
            raise refusal.InvitationUnusable
        decisions = await accounts.decisions_of(transaction, account_id)
        if decisions is None or decisions.effective_state != "enabled":
            raise AccountGone
        if not await _join(transaction, invitation, account_id, now):
            raise AlreadyMember
        return Joined(invitation.workspace_id, invitation.workspace_role, invitation.invitation_id)

    return accept_invitation


def expire(before: int) -> Script[bool]:
    """Delete some invitations that ended before a time (ms); return whether there may be more."""
    ended = "COALESCE(used_at, revoked_at, expires_at) < $1"
    return delete_ended("invitations", "id", ended, before)


async def _used(transaction: Transaction, digest: bytes, address: Address, now: int) -> Invitation:
    """Mark an invitation as used, and return it. Raises `InvitationUnusable`."""
    invitation = await by_digest(digest)(transaction)
    if (
        invitation is None
        or not invitation.admits(address, now)
        or not await _is_granted(transaction, invitation)
    ):
        raise refusal.InvitationUnusable
    used = await transaction.execute(
        "UPDATE invitations SET used_at = $2 WHERE id = $1::uuid AND used_at IS NULL",
        invitation.invitation_id,
        now,
    )
    if used != 1:
        raise refusal.InvitationUnusable
    return invitation


async def _is_granted(transaction: Transaction, invitation: Invitation) -> bool:
    """Return whether the creator of an invitation may still grant what it grants."""
    creator, workspace_id = invitation.created_by, invitation.workspace_id
    if creator is None:
        return True
    decisions = await accounts.decisions_of(transaction, creator)
    role = None if workspace_id is None else await role_in(transaction, workspace_id, creator)
    return invitation.is_granted_by(decisions, role)


async def _join(
    transaction: Transaction, invitation: Invitation, account_id: AccountId, now: int
) -> bool:
    workspace_id, role = invitation.workspace_id, invitation.workspace_role
    if workspace_id is None or role is None:
        return False
    return await members.join(transaction, workspace_id, account_id, role, now)


def _invitation(row: Row) -> Invitation:
    *values, workspace_id, workspace_role, created_by, bootstrap = row
    return replace(
        Invitation(*values),
        workspace_id=workspace_id,
        workspace_role=workspace_role,
        created_by=created_by,
        of_start=bootstrap == 1,
    )


async def chosen_policy(transaction: Transaction) -> rules.RegistrationPolicy:
    """Return the registration policy that administrators chose."""
    row = await transaction.fetch_one("SELECT registration_policy FROM installation")
    return "open" if row is not None and row[0] == "open" else "invitation"


def choose_policy(policy: rules.RegistrationPolicy, actor: AccountId) -> Script[None]:
    """Change the registration policy for an administrator. Raises `NotAdministrator`."""

    async def replace_policy(transaction: Transaction) -> None:
        await accounts.require_administrator(transaction, actor)
        await transaction.execute("UPDATE installation SET registration_policy = $1", policy)

    return replace_policy


def register_openly(
    prerequisites: rules.Prerequisites,
    account: Account,
    encoded: str,
    session: Session,
    token: bytes,
) -> Script[None]:
    """Create an account without an invitation, with its first session.

    ``encoded`` is its password, ``token`` the digest of the session's token. Raises
    `InvitationUnusable` unless the policy is open, and `AddressTaken`.
    """

    async def insert_account(transaction: Transaction) -> None:
        if prerequisites.effective(await chosen_policy(transaction)) != "open":
            raise refusal.InvitationUnusable
        if not await accounts.insert(transaction, account, encoded, proven=False):
            raise refusal.AddressTaken
        await sessions.insert(transaction, session, token)

    return insert_account
