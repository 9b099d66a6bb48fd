"""Remove an account with everything that is its own."""

from __future__ import annotations

from typing import NamedTuple

from octavo.model.accounts.refusal import AccountMissing
from octavo.model.identity import AccountId, WorkspaceId
from octavo.store.scripts import outbox, workspaces
from octavo.store.scripts.accounts import require_administrator, require_administrator_besides
from octavo.store.scripts.process_notices import notify_access
from octavo.store.transaction import Script, Transaction

_OWNED_ALONE = """
    SELECT members.workspace_id FROM members
    WHERE members.account_id = $1::uuid AND members.role = 'owner' AND NOT EXISTS (
        SELECT 1 FROM members AS others WHERE others.workspace_id = members.workspace_id
        AND others.role = 'owner' AND others.account_id <> $1::uuid
    )
"""
# Readers don't inherit: nobody has trusted them with the content.
_HEIR = """
    SELECT members.account_id FROM members JOIN accounts ON accounts.id = members.account_id
    WHERE members.workspace_id = $1::uuid AND members.account_id <> $2::uuid
    AND members.role IN ('administrator', 'editor') AND accounts.state <> 'disabled'
    ORDER BY CASE members.role WHEN 'administrator' THEN 0 ELSE 1 END, members.joined_at,
        members.account_id LIMIT 1
"""


class Removal(NamedTuple):
    """What the removal of an account changed besides it.

    Attributes:
        deleted: the workspaces that went with it.
        inherited: the workspaces that have a new owner, and who that is.
    """

    deleted: tuple[WorkspaceId, ...]
    inherited: tuple[tuple[WorkspaceId, AccountId], ...]


def remove(
    account_id: AccountId,
    *,
    actor: AccountId | None = None,
    verified: str | None = None,
    tombstone: int | None = None,
) -> Script[Removal]:
    """Remove an account with its sessions, keys and memberships.

    A workspace that only the account owns passes to the administrator of the workspace who has been
    a member for the longest time, else to such an editor, and is deleted without either. Disabled
    accounts inherit nothing.

    Args:
        account_id: which.
        actor: the administrator who removes it; None for itself and the operator.
        verified: its password (encoded) that was proven, which it must still have.
        tombstone: the time in milliseconds at which it is recorded as removed; None for no record.

    Raises:
        NotAdministrator: ``actor`` is not an enabled administrator.
        AccountMissing: there is no such account, or it has another password.
        LastAdministrator: it is the last enabled administrator.
    """

    async def remove_account(transaction: Transaction) -> Removal:
        await require_administrator(transaction, actor)
        row = await transaction.fetch_one(
            "SELECT address, role, state, controls_locked, password FROM accounts"
            " WHERE id = $1::uuid",
            account_id,
        )
        if row is None or verified not in (None, row[4]):
            raise AccountMissing
        if tuple(row[1:4]) == ("administrator", "enabled", 0):
            await require_administrator_besides(transaction, account_id)
        deleted: list[WorkspaceId] = []
        inherited: list[tuple[WorkspaceId, AccountId]] = []
        for owned in await transaction.fetch_all(_OWNED_ALONE, account_id):
            workspace_id = WorkspaceId(owned[0])
            heir = await transaction.fetch_one(_HEIR, workspace_id, account_id)
            if heir is None:
                await workspaces.delete(workspace_id)(transaction)
                deleted.append(workspace_id)
                continue
            await transaction.execute(
                "UPDATE members SET role = 'owner'"
                " WHERE workspace_id = $1::uuid AND account_id = $2::uuid",
                workspace_id,
                heir[0],
            )
            await notify_access(transaction, AccountId(heir[0]))
            inherited.append((workspace_id, AccountId(heir[0])))
        # Its sessions, keys and memberships go with it.
        await transaction.execute("DELETE FROM accounts WHERE id = $1::uuid", account_id)
        await transaction.execute("DELETE FROM invitations WHERE address = $1", row[0])
        await outbox.forget_address(transaction, row[0])
        await transaction.execute(
            "DELETE FROM invitations WHERE created_by_id = $1::uuid AND used_at IS NULL", account_id
        )
        if tombstone is not None:
            await transaction.execute(
                "INSERT INTO removed_accounts (id, removed_at) VALUES ($1::uuid, $2)",
                account_id,
                tombstone,
            )
        await notify_access(transaction, account_id)
        return Removal(tuple(deleted), tuple(inherited))

    return remove_account
