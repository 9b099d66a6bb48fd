"""Who may do what in a workspace."""

from octavo.accounts.caller import Caller
from octavo.http.call import Call
from octavo.http.problems import Forbidden, NotFound
from octavo.model.identity import AccountId, WorkspaceId
from octavo.model.workspace import Right, Role, Workspace, grants
from octavo.store import Store
from octavo.store.scripts.workspaces import role_of, seen_by

_NEEDED: dict[Right, str] = {
    "read": "a member",
    "write": "an editor",
    "manage": "an administrator",
    "own": "the owner",
}


class Access:
    """Judges members by their roles.

    A workspace that an account does not belong to is not there for it: 404, never 403.

    Args:
        store: where members are kept; it is asked each time, so a member who is removed is out
            with the next request.
    """

    def __init__(self, store: Store) -> None:
        self._store = store

    async def role(self, workspace_id: WorkspaceId, account_id: AccountId) -> Role | None:
        """Answer the role of an account; None when it does not belong to the workspace."""
        return await self._store.read(role_of(workspace_id, account_id))

    async def require(self, call: Call, workspace_id: WorkspaceId, right: Right) -> Caller:
        """Answer who calls, a member who has ``right``; raises `NotFound` and `Forbidden`."""
        caller = call.principal_as(Caller)
        role = await self.role(workspace_id, caller.account_id)
        if role is None:
            raise NotFound
        if not grants(role, right):
            raise Forbidden(f"Your role here is {role}: this takes {_NEEDED[right]} or more.")
        return caller

    async def seen(self, call: Call, workspace_id: WorkspaceId) -> Workspace:
        """Answer the workspace as the caller sees it; raises `NotFound`."""
        account_id = call.principal_as(Caller).account_id
        found = await self._store.read(seen_by(workspace_id, account_id))
        if found is None:
            raise NotFound
        return found
