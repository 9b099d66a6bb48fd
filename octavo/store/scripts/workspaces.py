"""Workspaces and who belongs to them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple, cast

from octavo.model.identity import AccountId, Position, WorkspaceId
from octavo.model.workspace import Role, Workspace
from octavo.store.scripts.announcing import announce_gone
from octavo.store.scripts.naming import fetch_named
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
    """Delete the workspace; False when there is none.

    For everybody it is gone at once; what it held is left to `octavo.store.scripts.sweeping`.
    """

    async def script(transaction: Transaction) -> bool:
        deleted = await transaction.execute("DELETE FROM workspaces WHERE id = $1", workspace_id)
        if deleted != 1:
            return False
        await transaction.execute("INSERT INTO deleted_workspaces (id) VALUES ($1)", workspace_id)
        await announce_gone(transaction, workspace_id)
        return True

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


class Standing(NamedTuple):
    """How a workspace stands to an account.

    Attributes:
        position: of its newest changeset.
        member: whether the account belongs to it.
    """

    position: Position
    member: bool


def standings(
    workspace_ids: Sequence[WorkspaceId], account_id: AccountId
) -> Script[dict[WorkspaceId, Standing]]:
    """Answer how those of the workspaces that there are stand to the account."""

    async def script(transaction: Transaction) -> dict[WorkspaceId, Standing]:
        rows = await fetch_named(
            transaction,
            "SELECT workspaces.id, workspaces.position, members.role FROM workspaces"
            " LEFT JOIN members"
            " ON members.workspace_id = workspaces.id AND members.account_id = $1"
            " WHERE workspaces.id IN ($names)",
            account_id,
            workspace_ids,
        )
        return {WorkspaceId(row[0]): Standing(Position(row[1]), row[2] is not None) for row in rows}

    return script
