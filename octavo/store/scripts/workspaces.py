"""Workspaces and who belongs to them."""

from typing import cast

from octavo.model.identity import AccountId, WorkspaceId
from octavo.model.workspace import Role, Workspace
from octavo.store.transaction import Row, Script, Transaction

_SELECT = """
    SELECT workspaces.id, workspaces.name, members.role, workspaces.created_at
    FROM members JOIN workspaces ON workspaces.id = members.workspace_id
    WHERE members.account_id = $1
"""


def create(workspace_id: WorkspaceId, name: str, owner: AccountId, now: int) -> Script[None]:
    """Make a workspace whose one member is ``owner``; ``now`` is in milliseconds."""

    async def script(transaction: Transaction) -> None:
        await transaction.execute(
            "INSERT INTO workspaces (id, name, position, created_at) VALUES ($1, $2, 0, $3)",
            workspace_id,
            name,
            now,
        )
        await transaction.execute(
            "INSERT INTO members (workspace_id, account_id, role) VALUES ($1, $2, 'owner')",
            workspace_id,
            owner,
        )

    return script


def list_of(account_id: AccountId, after: str, limit: int) -> Script[list[Workspace]]:
    """Answer the account's workspaces whose id is greater than ``after``, at most ``limit``."""

    async def script(transaction: Transaction) -> list[Workspace]:
        rows = await transaction.fetch_all(
            f"{_SELECT} AND members.workspace_id > $2 ORDER BY members.workspace_id LIMIT $3",
            account_id,
            after,
            limit,
        )
        return [_workspace(row) for row in rows]

    return script


def seen_by(workspace_id: WorkspaceId, account_id: AccountId) -> Script[Workspace | None]:
    """Answer the workspace as the account sees it; None when it does not belong to it."""

    async def script(transaction: Transaction) -> Workspace | None:
        row = await transaction.fetch_one(
            f"{_SELECT} AND members.workspace_id = $2", account_id, workspace_id
        )
        return None if row is None else _workspace(row)

    return script


def rename(workspace_id: WorkspaceId, name: str) -> Script[bool]:
    """Give the workspace a name; False when there is none."""

    async def script(transaction: Transaction) -> bool:
        changed = await transaction.execute(
            "UPDATE workspaces SET name = $2 WHERE id = $1", workspace_id, name
        )
        return changed == 1

    return script


def delete(workspace_id: WorkspaceId) -> Script[bool]:
    """Delete the workspace with all that it holds; False when there is none."""

    async def script(transaction: Transaction) -> bool:
        deleted = await transaction.execute("DELETE FROM workspaces WHERE id = $1", workspace_id)
        return deleted == 1

    return script


def _workspace(row: Row) -> Workspace:
    return Workspace(WorkspaceId(row[0]), row[1], cast(Role, row[2]), row[3])


def role_of(workspace_id: WorkspaceId, account_id: AccountId) -> Script[Role | None]:
    """Answer the role of a member; None when the account does not belong to the workspace."""

    async def script(transaction: Transaction) -> Role | None:
        row = await transaction.fetch_one(
            "SELECT role FROM members WHERE workspace_id = $1 AND account_id = $2",
            workspace_id,
            account_id,
        )
        return None if row is None else cast(Role, row[0])

    return script
