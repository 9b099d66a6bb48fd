"""The members of workspaces: who they are, and what they may do."""

from octavo_rules.identity import AccountId, WorkspaceId

from octavo.access.audit import Audit
from octavo.access.ports import Clock, milliseconds
from octavo.features.members.sql import members
from octavo.model.workspace import Role, WorkspaceMember
from octavo.store import Store


class Members:
    """Lists, changes and removes members, who join by invitation.

    Every change is checked against the roles at the moment of its commit.

    Args:
        store: the store of memberships.
        audit: records changes.
        now: the clock.
    """

    def __init__(self, store: Store, *, audit: Audit, now: Clock) -> None:
        self._store = store
        self._audit = audit
        self._now = now

    async def list(
        self, workspace_id: WorkspaceId, after: tuple[int, str] | None, limit: int
    ) -> list[WorkspaceMember]:
        """Return members in the order in which they joined, at most ``limit``.

        ``after`` has the time and the account of the last one before. Raises `StoreUnavailable`.
        """
        return await self._store.read(members.list_of(workspace_id, after, limit))

    async def change(
        self,
        workspace_id: WorkspaceId,
        actor: AccountId,
        account_id: AccountId,
        role: Role,
        *,
        remote_address: str | None,
    ) -> WorkspaceMember:
        """Give a member another role on behalf of ``actor``; ``remote_address`` is its address.

        Raises `WorkspaceMissing`, `MemberMissing`, `RoleInsufficient`, `LastOwner` and
        `StoreUnavailable`. If cancelled, the role may have changed.
        """
        now = milliseconds(self._now())
        script = members.change(workspace_id, actor, account_id, role, now)
        entry = self._audit.entry(
            "member_changed",
            actor=actor,
            subject=account_id,
            remote_address=remote_address,
            detail={"workspaceId": workspace_id, "role": role},
        )
        return await self._audit.write(script, entry, access_of=account_id, within=workspace_id)

    async def remove(
        self,
        workspace_id: WorkspaceId,
        actor: AccountId,
        account_id: AccountId,
        *,
        remote_address: str | None,
    ) -> None:
        """End a membership on behalf of ``actor``, who may be the one that leaves.

        ``remote_address`` is the address of the actor. Raises the same errors as `change`. If
        cancelled, the membership may have ended.
        """
        now = milliseconds(self._now())
        entry = self._audit.entry(
            "member_removed",
            actor=actor,
            subject=account_id,
            remote_address=remote_address,
            detail={"workspaceId": workspace_id},
        )
        script = members.remove(workspace_id, actor, account_id, now)
        await self._audit.write(script, entry, access_of=account_id, within=workspace_id)
