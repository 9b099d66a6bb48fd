"""Remove an account with everything that is its own."""

from __future__ import annotations

from itertools import groupby
from operator import itemgetter
from typing import NamedTuple

from octavo_rules.identity import AccountId, WorkspaceId

from octavo.features.accounts.sql.accounts import (
    require_administrator,
    require_administrator_besides,
)
from octavo.features.mail import sql as outbox
from octavo.model.access.account import AccountMissing
from octavo.model.workspace import HeirCandidate, heir_among
from octavo.store.queries import workspaces
from octavo.store.queries.audit import forget_clients
from octavo.store.queries.process_notices import notify_access
from octavo.store.transaction import Script, Transaction

# The workspaces that the account owns. For each: the other members among whom `heir_among` chooses,
# of each role the one that joined first, and the first whose account is disabled. A workspace
# without other members has one row.
_CANDIDATES = """
    SELECT workspace_id, account_id, role, state, joined_at FROM (
        SELECT owned.workspace_id, others.account_id, others.role, accounts.state, others.joined_at,
            ROW_NUMBER() OVER (
                PARTITION BY owned.workspace_id, others.role, accounts.state = 'disabled'
                ORDER BY others.joined_at, others.account_id
            ) AS place
        FROM members AS owned
        LEFT JOIN members AS others ON others.workspace_id = owned.workspace_id
            AND others.account_id <> owned.account_id
        LEFT JOIN accounts ON accounts.id = others.account_id
        WHERE owned.account_id = $1::uuid AND owned.role = 'owner'
    ) AS candidates WHERE place = 1 ORDER BY workspace_id
"""


class Removal(NamedTuple):
    """The effects of the removal of an account on workspaces.

    Attributes:
        deleted: the workspaces that were deleted with it.
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

    A workspace that only the account owns passes to its heir (`heir_among`), and is deleted without
    one.

    Args:
        account_id: which.
        actor: the administrator who removes it; None for itself and the operator.
        verified: its password (encoded) that was proven, which it must still have.
        tombstone: the time of the removal in milliseconds, to be stored; None to store nothing.

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
        rows = await transaction.fetch_all(_CANDIDATES, account_id)
        for workspace_id, others in groupby(rows, key=itemgetter(0)):
            heir = heir_among(HeirCandidate(*other[1:]) for other in others if other[1] is not None)
            if heir is None:
                await workspaces.delete(workspace_id)(transaction)
                deleted.append(workspace_id)
            elif heir.role != "owner":
                await transaction.execute(
                    "UPDATE members SET role = 'owner'"
                    " WHERE workspace_id = $1::uuid AND account_id = $2::uuid",
                    workspace_id,
                    heir.account_id,
                )
                await notify_access(transaction, heir.account_id)
                inherited.append((workspace_id, heir.account_id))
        for before_removal in transaction.listeners.account_removing:
            await before_removal(transaction, account_id)
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
        await forget_clients(transaction, account_id)
        return Removal(tuple(deleted), tuple(inherited))

    return remove_account
