"""The members of a workspace."""

from typing import Annotated

from octavo_rules.identity import AccountId
from octavo_rules.problems import NotFound
from pydantic_core import MISSING

from octavo.access.workspaces import Access
from octavo.features.members.members import Members
from octavo.http.callers import caller_of
from octavo.http.contract.bodies import json_body
from octavo.http.contract.call import Call
from octavo.http.contract.contract_model import (
    IN_PATH,
    REMOVED,
    ContractModel,
    Identifier,
    Removed,
    Timestamp,
    timestamp,
)
from octavo.http.contract.operation import Security, operation
from octavo.http.contract.paging import ListPage, PageQuery, read_cursor, split_page
from octavo.http.file_schemas import WorkspacePath
from octavo.model.workspace import LastOwner, Role, WorkspaceMember, grants

_LONGEST_BODY = 4_096


class MemberPath(WorkspacePath):
    """One member of a workspace."""

    account_id: Annotated[AccountId, IN_PATH]


class MemberUpdateInput(ContractModel):
    """A change of a member."""

    role: Role


class MemberSchema(ContractModel):
    """A member of a workspace."""

    account_id: Identifier
    display_name: str
    address: str | MISSING = MISSING
    """Only for owners and administrators of the workspace."""
    role: Role
    joined_at: Timestamp


class MemberList(ListPage[MemberSchema]):
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

    @operation(
        id="listMembers",
        method="GET",
        path="/api/workspaces/{workspaceId}/members",
        tag="workspaces",
        summary="List the members of a workspace",
        description="Owners and administrators of the workspace also see the addresses. People "
        "join by accepting an invitation.",
        security=Security.SESSION_OR_KEY,
        problems=(NotFound,),
    )
    async def list_members(self, call: Call, path: WorkspacePath, query: PageQuery) -> MemberList:
        """Return a page of members."""
        workspace_id = await self._access.workspace(caller_of(call), path.workspace_id, "read")
        role = (await self._access.seen(caller_of(call), workspace_id)).role
        after = read_cursor(query.after, 2, identifier=1, numbers=(0,))
        start = None if after is None else (int(after[0]), after[1])
        found = await self._members.list(workspace_id, start, query.limit + 1)
        page, following = split_page(
            found, query.limit, lambda each: (str(each.joined_at), each.account_id)
        )
        shown = grants(role, "manage")
        return MemberList(items=[_schema(each, address=shown) for each in page], next=following)

    @operation(
        id="updateMember",
        method="PATCH",
        path="/api/workspaces/{workspaceId}/members/{accountId}",
        tag="workspaces",
        summary="Change the role of a member",
        description="Requires the owner, or an administrator of the workspace, who can neither "
        "make nor change owners. To hand a workspace over, make the other member an owner, and "
        "then change your own role. A workspace always has an owner.",
        security=Security.SESSION_OR_KEY,
        problems=(NotFound, LastOwner),
        body=json_body(MemberUpdateInput, limit=_LONGEST_BODY),
        finish_when_client_leaves=True,
    )
    async def update_member(
        self, call: Call, path: MemberPath, body: MemberUpdateInput
    ) -> MemberSchema:
        """Change the role of a member."""
        caller = caller_of(call)
        workspace_id = await self._access.workspace(caller, path.workspace_id, "manage")
        changed = await self._members.change(
            workspace_id,
            caller.account_id,
            path.account_id,
            body.role,
            client=call.client,
        )
        return _schema(changed, address=True)

    @operation(
        id="removeMember",
        method="DELETE",
        path="/api/workspaces/{workspaceId}/members/{accountId}",
        tag="workspaces",
        summary="Remove a member, or leave a workspace",
        description="Every member can leave, except the last owner. To remove another member "
        "requires the owner, or an administrator of the workspace, who can't remove owners.",
        security=Security.SESSION_OR_KEY,
        problems=(NotFound, LastOwner),
        finish_when_client_leaves=True,
    )
    async def remove_member(self, call: Call, path: MemberPath) -> Removed:
        """End a membership."""
        caller = caller_of(call)
        workspace_id = await self._access.workspace(caller, path.workspace_id, "read")
        account_id = path.account_id
        await self._members.remove(workspace_id, caller.account_id, account_id, client=call.client)
        return REMOVED


def _schema(member: WorkspaceMember, *, address: bool) -> MemberSchema:
    return MemberSchema(
        account_id=member.account_id,
        display_name=member.display_name,
        address=member.address if address else MISSING,
        role=member.role,
        joined_at=timestamp(member.joined_at),
    )
