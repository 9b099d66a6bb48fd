"""The members of a workspace."""

from typing import Annotated

from octavo_rules.identity import AccountId
from octavo_rules.problems import NotFound
from pydantic_core import MISSING

from octavo.access.workspaces import Access
from octavo.features.members.members import Members
from octavo.http import contract
from octavo.http.callers import caller_of
from octavo.http.file_schemas import WorkspacePath
from octavo.model.workspace import LastOwner, Role, WorkspaceMember, grants

_LONGEST_BODY = 4_096


class MemberPath(WorkspacePath):
    """One member of a workspace."""

    account_id: Annotated[AccountId, contract.IN_PATH]


class MemberUpdateInput(contract.Model):
    """A change of a member."""

    role: Role


class MemberSchema(contract.Model):
    """A member of a workspace."""

    account_id: contract.Identifier
    display_name: str
    address: str | MISSING = MISSING
    """Only for owners and administrators of the workspace."""
    role: Role
    joined_at: contract.Timestamp


class MemberList(contract.ListPage[MemberSchema]):
    """A page of members, in the order in which they joined."""


class MemberOperations:
    """The members of workspaces.

    Args:
        members: the use case.
        access: checks the caller.
    """

    def __init__(self, members: Members, access: Access) -> None:
        self._members = members
        self._access = access

    @contract.operation(
        id="listMembers",
        method="GET",
        path="/api/workspaces/{workspaceId}/members",
        tag="workspaces",
        summary="List the members of a workspace",
        description="Owners and administrators of the workspace also see the addresses. People "
        "join by accepting an invitation.",
        problems=(NotFound,),
    )
    async def list_members(
        self, call: contract.Call, path: WorkspacePath, query: contract.PageQuery
    ) -> MemberList:
        """Return a page of members."""
        workspace_id = await self._access.workspace(caller_of(call), path.workspace_id, "read")
        role = (await self._access.seen(caller_of(call), workspace_id)).role
        after = contract.read_cursor(query.after, 2, identifier=1, numbers=(0,))
        start = None if after is None else (int(after[0]), after[1])
        members = await self._members.list(workspace_id, start, query.limit + 1)
        page, following = contract.split_page(
            members, query.limit, lambda member: (str(member.joined_at), member.account_id)
        )
        shown = grants(role, "manage")
        return MemberList(
            items=tuple(_schema(member, address=shown) for member in page), next=following
        )

    @contract.operation(
        id="updateMember",
        method="PATCH",
        path="/api/workspaces/{workspaceId}/members/{accountId}",
        tag="workspaces",
        summary="Change the role of a member",
        description="Requires the owner, or an administrator of the workspace, who can neither "
        "make nor change owners. To hand a workspace over, make the other member an owner, and "
        "then change your own role. A workspace always has an owner.",
        problems=(NotFound, LastOwner),
        body=contract.json_body(MemberUpdateInput, limit=_LONGEST_BODY),
        finish_when_client_leaves=True,
    )
    async def update_member(
        self, call: contract.Call, path: MemberPath, body: MemberUpdateInput
    ) -> MemberSchema:
        """Change the role of a member."""
        caller = caller_of(call)
        workspace_id = await self._access.workspace(caller, path.workspace_id, "manage")
        changed = await self._members.change(
            workspace_id,
            caller.account_id,
            path.account_id,
            body.role,
            remote_address=call.remote_address,
        )
        return _schema(changed, address=True)

    @contract.operation(
        id="removeMember",
        method="DELETE",
        path="/api/workspaces/{workspaceId}/members/{accountId}",
        tag="workspaces",
        summary="Remove a member, or leave a workspace",
        description="Every member can leave, except the last owner. To remove another member "
        "requires the owner, or an administrator of the workspace, who can't remove owners.",
        problems=(NotFound, LastOwner),
        finish_when_client_leaves=True,
    )
    async def remove_member(self, call: contract.Call, path: MemberPath) -> contract.Removed:
        """End a membership."""
        caller = caller_of(call)
        workspace_id = await self._access.workspace(caller, path.workspace_id, "read")
        account_id = path.account_id
        await self._members.remove(
            workspace_id, caller.account_id, account_id, remote_address=call.remote_address
        )
        return contract.REMOVED


def _schema(member: WorkspaceMember, *, address: bool) -> MemberSchema:
    return MemberSchema(
        account_id=member.account_id,
        display_name=member.display_name,
        address=member.address if address else MISSING,
        role=member.role,
        joined_at=contract.timestamp(member.joined_at),
    )
