"""The members of workspaces: list, join, change and remove them."""

from __future__ import annotations

from octavo_rules.identity import AccountId, WorkspaceId

from octavo.model import workspace
from octavo.model.workspace import Role, WorkspaceMember
from octavo.store.queries.process_notices import notify_access
from octavo.store.queries.workspaces import role_in
from octavo.store.transaction import Row, Script, Transaction

_SELECT = """
    SELECT members.account_id, accounts.display_name, accounts.address, members.role,
        members.joined_at
    FROM members JOIN accounts ON accounts.id = members.account_id
    WHERE members.workspace_id = $1::uuid
"""


def list_of(
    workspace_id: WorkspaceId, after: tuple[int, str] | None, limit: int
) -> Script[list[WorkspaceMember]]:
    """Return members in the order in which they joined, at most ``limit``.

    ``after`` has the time and the account of the last one before.
    """

    async def read_members(transaction: Transaction) -> list[WorkspaceMember]:
        joined_at, account_id = after or (-1, "")
        rows = await transaction.fetch_all(
            f"{_SELECT} AND (members.joined_at, members.account_id) > ($2, $3::uuid)"
            " ORDER BY members.joined_at, members.account_id LIMIT $4",
            workspace_id,
            joined_at,
            account_id,
            limit,
        )
        return [_member(row) for row in rows]

    return read_members


async def join(
    transaction: Transaction,
    workspace_id: WorkspaceId,
    account_id: AccountId,
    role: Role,
    now: int,
) -> bool:
    """Insert a membership; return False, and do nothing, when there is one."""
    inserted = await transaction.execute(
        "INSERT INTO members (workspace_id, account_id, role, joined_at)"
        " VALUES ($1::uuid, $2::uuid, $3, $4) ON CONFLICT DO NOTHING",
        workspace_id,
        account_id,
        role,
        now,
    )
    await notify_access(transaction, account_id)
    return inserted == 1


def change(
    workspace_id: WorkspaceId, actor: AccountId, account_id: AccountId, role: Role, now: int
) -> Script[WorkspaceMember]:
    """Give a member another role on behalf of the member ``actor``; ``now`` is in milliseconds.

    The invitations of one who may not invite any more are revoked.

    Raises `WorkspaceMissing`, `MemberMissing`, `RoleInsufficient` and `LastOwner`.
    """

    async def change_role(transaction: Transaction) -> WorkspaceMember:
        member = await _one(transaction, workspace_id, account_id)
        await require(transaction, workspace_id, actor, member.role, role)
        if role != "owner":
            await _require_another_owner(transaction, workspace_id, member)
        await transaction.execute(
            "UPDATE members SET role = $3 WHERE workspace_id = $1::uuid AND account_id = $2::uuid",
            workspace_id,
            account_id,
            role,
        )
        if not workspace.grants(role, "manage"):
            await _revoke_invitations(transaction, workspace_id, account_id, now)
        return await _one(transaction, workspace_id, account_id)

    return change_role


def remove(
    workspace_id: WorkspaceId, actor: AccountId, account_id: AccountId, now: int
) -> Script[None]:
    """End a membership on behalf of the member ``actor``, who may be the one that leaves.

    The invitations of the member into the workspace are revoked.

    Raises `WorkspaceMissing`, `MemberMissing`, `RoleInsufficient` and `LastOwner`.
    """

    async def remove_member(transaction: Transaction) -> None:
        member = await _one(transaction, workspace_id, account_id)
        if actor != account_id:
            await require(transaction, workspace_id, actor, member.role, None)
        await _require_another_owner(transaction, workspace_id, member)
        await transaction.execute(
            "DELETE FROM members WHERE workspace_id = $1::uuid AND account_id = $2::uuid",
            workspace_id,
            account_id,
        )
        await _revoke_invitations(transaction, workspace_id, account_id, now)

    return remove_member


async def _revoke_invitations(
    transaction: Transaction, workspace_id: WorkspaceId, created_by: AccountId, now: int
) -> None:
    await transaction.execute(
        "UPDATE invitations SET revoked_at = $3 WHERE workspace_id = $1::uuid"
        " AND created_by_id = $2::uuid AND used_at IS NULL AND revoked_at IS NULL",
        workspace_id,
        created_by,
        now,
    )


async def require(
    transaction: Transaction,
    workspace_id: WorkspaceId,
    actor: AccountId,
    present: Role | None,
    wanted: Role | None,
) -> None:
    """Raise `WorkspaceMissing` or `RoleInsufficient` unless ``actor`` may change a role.

    The change is from ``present`` to ``wanted``; None stands for no membership.
    """
    role = await role_in(transaction, workspace_id, actor)
    if role is None:
        raise workspace.WorkspaceMissing
    if not workspace.may_change_role(role, present, wanted):
        raise workspace.RoleInsufficient(role)


async def _require_another_owner(
    transaction: Transaction, workspace_id: WorkspaceId, member: WorkspaceMember
) -> None:
    if member.role != "owner":
        return
    # At most one row for each state, however many owners there are.
    others = await transaction.fetch_all(
        "SELECT DISTINCT members.role, accounts.state FROM members"
        " JOIN accounts ON accounts.id = members.account_id"
        " WHERE members.workspace_id = $1::uuid AND members.role = 'owner'"
        " AND members.account_id <> $2::uuid",
        workspace_id,
        member.account_id,
    )
    if not any(workspace.counts_as_owner(role, state) for role, state in others):
        raise workspace.LastOwner


async def _one(
    transaction: Transaction, workspace_id: WorkspaceId, account_id: AccountId
) -> WorkspaceMember:
    row = await transaction.fetch_one(
        f"{_SELECT} AND members.account_id = $2::uuid", workspace_id, account_id
    )
    if row is None:
        raise workspace.MemberMissing
    return _member(row)


def _member(row: Row) -> WorkspaceMember:
    return WorkspaceMember(*row)
