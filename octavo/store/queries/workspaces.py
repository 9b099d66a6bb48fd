"""Workspaces and who belongs to them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple, cast

from octavo_rules.identity import AccountId, Cursor, WorkspaceId

from octavo.model.access.account import AccountGone
from octavo.model.workspace import MAX_OWNED, Role, TooManyWorkspaces, Workspace
from octavo.store.queries import accounts as account_rows
from octavo.store.queries.marks import CURSOR, cursor_of_row
from octavo.store.queries.process_notices import notify_deletion
from octavo.store.queries.revision_rows import select_in, select_pairs
from octavo.store.transaction import Row, Script, Transaction, single_statement

_ROLES = """
    SELECT workspace_id, account_id, role FROM members
    WHERE (workspace_id, account_id) IN (VALUES $pairs)
"""
_SELECT = """
    SELECT workspaces.id, workspaces.name, members.role, workspaces.created_at
    FROM members JOIN workspaces ON workspaces.id = members.workspace_id
    WHERE members.account_id = $1::uuid
"""


def create(workspace_id: WorkspaceId, name: str, owner: AccountId, now: int) -> Script[None]:
    """Create a workspace whose only member is ``owner``; ``now`` is in milliseconds.

    Raises `AccountGone`, and `TooManyWorkspaces` when the account owns `MAX_OWNED`.
    """

    async def create_workspace(transaction: Transaction) -> None:
        if not await account_rows.is_open(transaction, owner):
            raise AccountGone
        owned = await transaction.fetch_one(
            "SELECT COUNT(*) FROM members WHERE account_id = $1::uuid AND role = 'owner'", owner
        )
        if owned is not None and owned[0] >= MAX_OWNED:
            raise TooManyWorkspaces
        await transaction.execute(
            "INSERT INTO workspaces (id, name, position, created_at) VALUES ($1::uuid, $2, 0, $3)",
            workspace_id,
            name,
            now,
        )
        await transaction.execute(
            "INSERT INTO members (workspace_id, account_id, role, joined_at)"
            " VALUES ($1::uuid, $2::uuid, 'owner', $3)",
            workspace_id,
            owner,
            now,
        )

    return create_workspace


def list_of(account_id: AccountId, after: str, limit: int) -> Script[list[Workspace]]:
    """Return the account's workspaces whose id is greater than ``after``, at most ``limit``."""

    @single_statement
    async def read_workspaces(transaction: Transaction) -> list[Workspace]:
        rows = await transaction.fetch_all(
            f"{_SELECT} AND members.workspace_id > $2::uuid ORDER BY members.workspace_id LIMIT $3",
            account_id,
            after,
            limit,
        )
        return [_workspace(row) for row in rows]

    return read_workspaces


def chosen_of(
    account_id: AccountId, workspace_ids: Sequence[WorkspaceId]
) -> Script[list[Workspace]]:
    """Return those of the workspaces that the account belongs to, in the order of their ids."""

    async def read_chosen(transaction: Transaction) -> list[Workspace]:
        rows = await select_in(
            transaction,
            f"{_SELECT} AND members.workspace_id IN ($ids)",
            account_id,
            workspace_ids,
        )
        return sorted(map(_workspace, rows), key=lambda workspace: workspace.workspace_id)

    return read_chosen


def seen_by(workspace_id: WorkspaceId, account_id: AccountId) -> Script[Workspace | None]:
    """Return the workspace with the role of a member; None for an account that is not one."""

    @single_statement
    async def read_workspace(transaction: Transaction) -> Workspace | None:
        row = await transaction.fetch_one(
            f"{_SELECT} AND members.workspace_id = $2::uuid", account_id, workspace_id
        )
        return None if row is None else _workspace(row)

    return read_workspace


def rename(workspace_id: WorkspaceId, name: str) -> Script[bool]:
    """Rename the workspace; return False when it does not exist."""

    async def rename_workspace(transaction: Transaction) -> bool:
        changed = await transaction.execute(
            "UPDATE workspaces SET name = $2 WHERE id = $1::uuid", workspace_id, name
        )
        return changed == 1

    return rename_workspace


def delete(workspace_id: WorkspaceId) -> Script[bool]:
    """Delete the workspace; return False when it does not exist.

    It can't be accessed from then on. `octavo.store.queries.sweeping` deletes what it contained.
    """

    async def delete_workspace(transaction: Transaction) -> bool:
        moved = await transaction.execute(
            "INSERT INTO deleted_workspaces (id, pk)"
            " SELECT id, pk FROM workspaces WHERE id = $1::uuid",
            workspace_id,
        )
        if moved != 1:
            return False
        await transaction.execute("DELETE FROM workspaces WHERE id = $1::uuid", workspace_id)
        for after_deletion in transaction.listeners.workspace_deleted:
            await after_deletion(transaction, workspace_id)
        await notify_deletion(transaction, workspace_id)
        return True

    return delete_workspace


def _workspace(row: Row) -> Workspace:
    return Workspace(WorkspaceId(row[0]), row[1], cast(Role, row[2]), row[3])


def role_of(workspace_id: WorkspaceId, account_id: AccountId) -> Script[Role | None]:
    """Return the role of a member; None for an account that is not one."""

    @single_statement
    async def read_role(transaction: Transaction) -> Role | None:
        return await role_in(transaction, workspace_id, account_id)

    return read_role


async def role_in(
    transaction: Transaction, workspace_id: WorkspaceId, account_id: AccountId
) -> Role | None:
    """Return the role of a member; None for an account that is not one."""
    row = await transaction.fetch_one(
        "SELECT role FROM members WHERE workspace_id = $1::uuid AND account_id = $2::uuid",
        workspace_id,
        account_id,
    )
    return None if row is None else cast(Role, row[0])


def roles_of(
    members: Sequence[tuple[WorkspaceId, AccountId]],
) -> Script[Mapping[tuple[WorkspaceId, AccountId], Role]]:
    """Return the roles of at most 100 members; without those of accounts that are not members."""

    @single_statement
    async def read_roles(
        transaction: Transaction,
    ) -> Mapping[tuple[WorkspaceId, AccountId], Role]:
        rows = await select_pairs(transaction, _ROLES, members)
        return {(WorkspaceId(row[0]), AccountId(row[1])): cast(Role, row[2]) for row in rows}

    return read_roles


def owned_alone(workspace_id: WorkspaceId, account_id: AccountId) -> Script[bool]:
    """Return whether the account owns the workspace and is its only member."""

    @single_statement
    async def read_members(transaction: Transaction) -> bool:
        rows = await transaction.fetch_all(
            "SELECT account_id, role FROM members WHERE workspace_id = $1::uuid LIMIT 2",
            workspace_id,
        )
        return [tuple(row) for row in rows] == [(account_id, "owner")]

    return read_members


class WorkspaceAccess(NamedTuple):
    """A workspace, as an account may follow it.

    Attributes:
        cursor: of its newest changeset.
        member: whether the account is a member.
    """

    cursor: Cursor
    member: bool


def access_to(
    workspace_ids: Sequence[WorkspaceId], account_id: AccountId
) -> Script[dict[WorkspaceId, WorkspaceAccess]]:
    """Return those of the workspaces that exist, with whether the account is a member of each."""

    async def read_access(transaction: Transaction) -> dict[WorkspaceId, WorkspaceAccess]:
        rows = await select_in(
            transaction,
            f"SELECT {CURSOR}, workspaces.id, members.role FROM workspaces"
            " LEFT JOIN members"
            " ON members.workspace_id = workspaces.id AND members.account_id = $1::uuid"
            " WHERE workspaces.id IN ($ids)",
            account_id,
            workspace_ids,
        )
        return {
            WorkspaceId(row[2]): WorkspaceAccess(cursor_of_row(row), row[3] is not None)
            for row in rows
        }

    return read_access
