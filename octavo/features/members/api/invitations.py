"""Invitations to the installation and into workspaces."""

from functools import partial
from typing import Annotated
from urllib.parse import quote

from octavo_rules.identity import WorkspaceId
from octavo_rules.problems import InvalidRequest, NotFound
from octavo_rules.schemas import Workspace
from pydantic import Field

from octavo.access.attempts import GRANTS
from octavo.access.ports import Clock
from octavo.access.workspaces import Access
from octavo.features.accounts.rules.refusal import TooManyInvitations
from octavo.features.members.invitations import Invitations
from octavo.features.members.rules import LONGEST_SECONDS, Invitation, InvitationId, InvitationState
from octavo.http import contract
from octavo.http.callers import caller_of, require_administrator
from octavo.http.file_schemas import EmailAddress, WorkspacePath, workspace_document
from octavo.model import workspace
from octavo.model.access.account import Address, Role, parse_address
from octavo.model.workspace import AlreadyMember

_LONGEST_BODY = 8_192


class InvitationPath(contract.Model):
    """One invitation."""

    invitation_id: Annotated[InvitationId, contract.IN_PATH]


class WorkspaceInvitationPath(WorkspacePath):
    """One invitation into a workspace."""

    invitation_id: Annotated[InvitationId, contract.IN_PATH]


class WorkspaceInvitationInput(contract.Model):
    """A new invitation into a workspace."""

    role: workspace.Role
    """The role in the workspace."""
    address: EmailAddress | None = None
    """The only address that may use it; null for any."""
    expires_at: contract.GivenTime | None = None
    """Within a year; null for a week from now."""


class InvitationInput(contract.Model):
    """A new invitation to the installation."""

    address: EmailAddress | None = None
    """The only address that may use it; null for any."""
    role: Role = "member"
    """The role of the account."""
    workspace_id: contract.Identifier | None = None
    """A workspace that the person joins as well; the caller must manage it."""
    workspace_role: workspace.Role | None = None
    """The role in that workspace; given with `workspaceId` only."""
    expires_at: contract.GivenTime | None = None
    """Within a year; null for a week from now."""


class InvitationSchema(contract.Model):
    """An invitation, without its token."""

    id: contract.Identifier
    address: str | None
    role: Role
    """The role of an account that is registered with it."""
    workspace_id: contract.Identifier | None
    workspace_role: workspace.Role | None
    state: InvitationState
    created_at: contract.Timestamp
    expires_at: contract.Timestamp
    created_by: contract.Identifier | None
    """The account that invites; null for a command on the server."""


class InvitationCreated(InvitationSchema):
    """A new invitation."""

    token: str = Field(repr=False)
    """It cannot be read again."""
    link: str = Field(repr=False)
    """The address to send to the person."""


class InvitationList(contract.ListPage[InvitationSchema]):
    """A page of invitations, newest first."""


class InvitationToken(contract.Model):
    """The token of an invitation."""

    token: str = Field(repr=False, max_length=1_000)


class InvitationOperations:
    """Invitations.

    Args:
        invitations: the use case.
        access: checks the caller.
        now: the clock, in seconds of Unix time.
        public_url: the address that links begin with.
    """

    def __init__(
        self, invitations: Invitations, access: Access, *, now: Clock, public_url: str
    ) -> None:
        self._invitations = invitations
        self._access = access
        self._now = now
        self._public_url = public_url

    @contract.operation(
        id="createInvitation",
        method="POST",
        path="/api/invitations",
        tag="administration",
        summary="Invite somebody to the installation",
        description="Requires an administrator of the installation. Only this response contains "
        "the token and the link. The response does not depend on whether an account has the "
        "address. At most 1,000 invitations to the installation may be open, and 100 into a "
        "workspace.",
        status=201,
        problems=(NotFound, TooManyInvitations),
        body=contract.json_body(InvitationInput, limit=_LONGEST_BODY),
        rate=GRANTS,
    )
    async def create_invitation(
        self, call: contract.Call, body: InvitationInput
    ) -> InvitationCreated:
        """Create an invitation."""
        require_administrator(call)
        if (body.workspace_id is None) != (body.workspace_role is None):
            message = "Give workspaceId and workspaceRole together, or neither."
            raise InvalidRequest(errors=[("/workspaceRole", message)])
        address, expires_at = self._checked(body.address, body.expires_at)
        made, token = await self._invitations.create(
            caller_of(call).account_id,
            remote_address=call.remote_address,
            role=body.role,
            address=address,
            expires_at=expires_at,
            workspace_id=None if body.workspace_id is None else WorkspaceId(body.workspace_id),
            workspace_role=body.workspace_role,
        )
        return self._created(made, token)

    @contract.operation(
        id="listInvitations",
        method="GET",
        path="/api/invitations",
        tag="administration",
        summary="List the invitations of the installation",
        description="Requires an administrator of the installation.",
    )
    async def list_invitations(
        self, call: contract.Call, query: contract.PageQuery
    ) -> InvitationList:
        """Return a page of invitations."""
        require_administrator(call)
        return await self._page(None, query)

    @contract.operation(
        id="revokeInvitation",
        method="DELETE",
        path="/api/invitations/{invitationId}",
        tag="administration",
        summary="Revoke an invitation",
        description="Requires an administrator of the installation. One that was used stays used.",
        problems=(NotFound,),
        finish_when_client_leaves=True,
    )
    async def revoke_invitation(
        self, call: contract.Call, path: InvitationPath
    ) -> contract.Removed:
        """Revoke an invitation."""
        caller = require_administrator(call)
        await self._invitations.revoke(
            path.invitation_id,
            None,
            actor=caller.account_id,
            remote_address=call.remote_address,
        )
        return contract.REMOVED

    @contract.operation(
        id="acceptInvitation",
        method="POST",
        path="/api/invitations/accept",
        tag="workspaces",
        summary="Join the workspace that you are invited to",
        description="An invitation that is unknown, used, expired, revoked, for another address or "
        "into no workspace is treated as missing. Without an account, register with it instead.",
        problems=(NotFound, AlreadyMember),
        body=contract.json_body(InvitationToken, limit=_LONGEST_BODY),
        finish_when_client_leaves=True,
    )
    async def accept_invitation(self, call: contract.Call, body: InvitationToken) -> Workspace:
        """Join a workspace."""
        account_id = caller_of(call).account_id
        joined = await self._invitations.accept(
            account_id, body.token, remote_address=call.remote_address
        )
        return workspace_document(await self._access.seen(caller_of(call), joined))

    @contract.operation(
        id="createWorkspaceInvitation",
        method="POST",
        path="/api/workspaces/{workspaceId}/invitations",
        tag="workspaces",
        summary="Invite somebody into a workspace",
        description="Requires the owner, or an administrator of the workspace, who can't invite "
        "owners. The person joins with an account, or registers one. Only this response contains "
        "the token and the link. The response does not depend on whether an account has the "
        "address. An invitation ends when its creator may not invite any more. At most 100 "
        "invitations into a workspace may be open.",
        status=201,
        problems=(NotFound, TooManyInvitations),
        body=contract.json_body(WorkspaceInvitationInput, limit=_LONGEST_BODY),
        rate=GRANTS,
    )
    async def create_workspace_invitation(
        self, call: contract.Call, path: WorkspacePath, body: WorkspaceInvitationInput
    ) -> InvitationCreated:
        """Create an invitation into a workspace."""
        caller = caller_of(call)
        workspace_id = await self._access.workspace(caller, path.workspace_id, "manage")
        address, expires_at = self._checked(body.address, body.expires_at)
        made, token = await self._invitations.create(
            caller.account_id,
            remote_address=call.remote_address,
            address=address,
            expires_at=expires_at,
            workspace_id=workspace_id,
            workspace_role=body.role,
        )
        return self._created(made, token)

    @contract.operation(
        id="listWorkspaceInvitations",
        method="GET",
        path="/api/workspaces/{workspaceId}/invitations",
        tag="workspaces",
        summary="List the invitations into a workspace",
        description="Requires the owner, or an administrator of the workspace.",
        problems=(NotFound,),
    )
    async def list_workspace_invitations(
        self, call: contract.Call, path: WorkspacePath, query: contract.PageQuery
    ) -> InvitationList:
        """Return a page of invitations into a workspace."""
        workspace_id = await self._access.workspace(caller_of(call), path.workspace_id, "manage")
        return await self._page(workspace_id, query)

    @contract.operation(
        id="revokeWorkspaceInvitation",
        method="DELETE",
        path="/api/workspaces/{workspaceId}/invitations/{invitationId}",
        tag="workspaces",
        summary="Revoke an invitation into a workspace",
        description="Requires the owner, or an administrator of the workspace. One that was used "
        "stays used.",
        problems=(NotFound,),
        finish_when_client_leaves=True,
    )
    async def revoke_workspace_invitation(
        self, call: contract.Call, path: WorkspaceInvitationPath
    ) -> contract.Removed:
        """Revoke an invitation into a workspace."""
        caller = caller_of(call)
        workspace_id = await self._access.workspace(caller, path.workspace_id, "manage")
        await self._invitations.revoke(
            path.invitation_id,
            workspace_id,
            actor=caller.account_id,
            remote_address=call.remote_address,
        )
        return contract.REMOVED

    async def _page(
        self, workspace_id: WorkspaceId | None, query: contract.PageQuery
    ) -> InvitationList:
        page, following = await contract.page_by_id(
            query,
            partial(self._invitations.list, workspace_id),
            lambda invitation: invitation.invitation_id,
        )
        return InvitationList(
            items=tuple(self._schema(invitation) for invitation in page), next=following
        )

    def _checked(
        self, address: str | None, expires_at: contract.GivenTime | None
    ) -> tuple[Address | None, int | None]:
        """Return the validated address and expiry. Raises `InvalidRequest`."""
        errors: list[tuple[str, str]] = []
        parsed: Address | None = None
        expires = None if expires_at is None else contract.milliseconds_of(expires_at)
        try:
            parsed = None if address is None else parse_address(address)
        except ValueError as error:
            errors.append(("/address", str(error)))
        now = self._now() * 1000
        if expires is not None and not now < expires <= now + LONGEST_SECONDS * 1000:
            errors.append(("/expiresAt", "Give a time within a year from now, or omit it."))
        if errors:
            raise InvalidRequest(errors=errors)
        return parsed, expires

    def _created(self, invitation: Invitation, token: str) -> InvitationCreated:
        link = f"{self._public_url}/register?invitation={quote(token, safe='')}"
        schema = self._schema(invitation)
        return InvitationCreated(**schema.model_dump(), token=token, link=link)

    def _schema(self, invitation: Invitation) -> InvitationSchema:
        return InvitationSchema(
            id=invitation.invitation_id,
            address=invitation.address,
            role=invitation.role,
            workspace_id=invitation.workspace_id,
            workspace_role=invitation.workspace_role,
            state=self._invitations.state_of(invitation),
            created_at=contract.timestamp(invitation.created_at),
            expires_at=contract.timestamp(invitation.expires_at),
            created_by=invitation.created_by,
        )
