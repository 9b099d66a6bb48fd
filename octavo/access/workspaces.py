"""Check the permissions of workspace members."""

from collections.abc import Callable

import trio
from octavo_rules.identity import AccountId, WorkspaceId
from octavo_rules.problems import AccountLocked, Forbidden, NotFound, NotSignedIn

from octavo.access.caller import Caller
from octavo.model.files.confinement import Confinement
from octavo.model.workspace import Right, Role, Workspace, grants
from octavo.store import Store
from octavo.store.gathered_reads import GatheredReads
from octavo.store.queries.accounts import state_of
from octavo.store.queries.workspaces import owned_alone, roles_of, seen_by

_REQUIRED_ROLE: dict[Right, str] = {
    "read": "reader or higher",
    "write": "editor or higher",
    "manage": "administrator or higher",
    "own": "owner",
}


class Access:
    """Checks members by their roles.

    A workspace that an account does not belong to does not exist for it: 404, never 403. Neither
    does one outside the limits of its key or token.

    Args:
        store: the store of memberships.
        fresh: seconds that a membership is cached. Code that changes memberships calls `forget`;
            where other processes can change them it must be 0, and each request reads the store.
        maximum: the maximum number of workspaces in the cache.
        elapsed: returns a time in seconds, for the age of what is cached.
    """

    def __init__(
        self,
        store: Store,
        *,
        fresh: float = 0.0,
        maximum: int = 10_000,
        elapsed: Callable[[], float] = trio.current_time,
    ) -> None:
        self._store = store
        self._roles = GatheredReads(store, roles_of)
        self._elapsed = elapsed
        self._fresh = fresh
        self._maximum = maximum
        self._members: dict[WorkspaceId, dict[AccountId, tuple[Role, float]]] = {}
        # Incremented by `forget`: results of reads that began before are not cached.
        self._generation = 0

    async def role(self, workspace_id: WorkspaceId, account_id: AccountId) -> Role | None:
        """Return the role of an account; None when it does not belong to the workspace."""
        members = self._members.get(workspace_id)
        if members is not None:
            known = members.get(account_id)
            if known is not None and known[1] > self._elapsed():
                return known[0]
        generation = self._generation
        role = await self._roles.find((workspace_id, account_id))
        if role is not None and self._fresh > 0 and generation == self._generation:
            self._remember(workspace_id, account_id, role)
        return role

    def forget(self, workspace_id: WorkspaceId) -> None:
        """Remove the workspace from the cache.

        Call it once a changed or removed membership is committed.
        """
        self._generation += 1
        self._members.pop(workspace_id, None)

    def _remember(self, workspace_id: WorkspaceId, account_id: AccountId, role: Role) -> None:
        if workspace_id not in self._members and len(self._members) >= self._maximum:
            del self._members[next(iter(self._members))]
        until = self._elapsed() + self._fresh
        self._members.setdefault(workspace_id, {})[account_id] = (role, until)

    async def check(self, workspace_id: WorkspaceId, caller: Caller, right: Right) -> None:
        """Raise `NotFound` or `Forbidden` unless the caller is a member with ``right``."""
        if caller.limits is not None and not caller.limits.sees(workspace_id):
            raise NotFound
        role = await self.role(workspace_id, caller.account_id)
        if role is None:
            raise NotFound
        if not grants(role, right):
            raise Forbidden(f"Your role here is {role}: this requires {_REQUIRED_ROLE[right]}.")

    async def check_later(self, workspace_id: WorkspaceId, caller: Caller, right: Right) -> None:
        """Check like `check`, for work that continues after its request was authenticated.

        Also raises `NotSignedIn` for an account that was disabled or removed, and `AccountLocked`.
        """
        state = await self._store.read(state_of(caller.account_id))
        if state is None or state == "disabled":
            raise NotSignedIn
        if state == "locked":
            raise AccountLocked
        await self.check(workspace_id, caller, right)

    async def alone(self, workspace_id: WorkspaceId, caller: Caller) -> bool:
        """Return whether the caller owns the workspace alone: nobody else is a member."""
        return await self._store.read(owned_alone(workspace_id, caller.account_id))

    async def workspace(
        self, caller: Caller, workspace_id: WorkspaceId, right: Right
    ) -> WorkspaceId:
        """Return a workspace where the caller has ``right``. Raises `NotFound` or `Forbidden`."""
        await self.check(workspace_id, caller, right)
        return workspace_id

    async def visible(
        self, caller: Caller, workspace_id: WorkspaceId
    ) -> tuple[WorkspaceId, Confinement | None]:
        """Return a workspace that the caller may read, and what is visible of it.

        The caller is limited to the files within the returned folder. Raises `NotFound` or
        `Forbidden`.
        """
        await self.check(workspace_id, caller, "read")
        return workspace_id, caller.confinement

    async def seen(self, caller: Caller, workspace_id: WorkspaceId) -> Workspace:
        """Return the workspace as the caller sees it. Raises `NotFound`."""
        if caller.limits is not None and not caller.limits.sees(workspace_id):
            raise NotFound
        workspace = await self._store.read(seen_by(workspace_id, caller.account_id))
        if workspace is None:
            raise NotFound
        return workspace
