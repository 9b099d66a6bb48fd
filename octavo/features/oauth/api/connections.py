"""List and end the access of programs, and decide about their requests.

The page of consent, to which a program sends a person, uses these operations.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Annotated, Literal
from uuid import UUID

from octavo_rules.identity import SCOPES, Scope, WorkspaceId
from octavo_rules.problems import InvalidRequest, NotFound
from pydantic import ConfigDict, Field

from octavo.access.attempts import GRANTS
from octavo.features.oauth.rules.authorization_request import Grant
from octavo.features.oauth.rules.client import host_of, leads_to_this_device
from octavo.features.oauth.rules.refusal import REQUEST_PROBLEMS, InvalidClient, InvalidOAuthRequest
from octavo.http import contract
from octavo.http.callers import caller_of
from octavo.model.access.account import AccessLimits, GrantId
from octavo.store import Store
from octavo.store.queries.workspaces import chosen_of

if TYPE_CHECKING:
    from octavo.features.oauth.authorization import AuthorizationServer

MAX_DAYS = 365
MAX_WORKSPACES = 100
_LONGEST_BODY = 32_768
_TAG = "mcp"


_WorkspaceIds = Annotated[tuple[UUID, ...], Field(min_length=1, max_length=MAX_WORKSPACES)]


@contextmanager
def _request_refusals() -> Iterator[None]:
    """Refuse an unknown program without a challenge.

    A person brings the request: their browser would ask for a password.
    """
    try:
        yield
    except InvalidClient as problem:
        raise InvalidOAuthRequest(problem.detail) from None


class ConnectionPath(contract.Model):
    """A connected program."""

    connection_id: Annotated[GrantId, contract.IN_PATH]


class ConnectionSchema(contract.Model):
    """A program that the account allowed access."""

    id: contract.Identifier
    name: str
    """How the program calls itself; nobody has verified it."""
    client_id: str
    scopes: tuple[Scope, ...]
    workspace_ids: tuple[contract.Identifier, ...] | None
    """Null for all workspaces, also those that the account joins later."""
    created_at: contract.Timestamp
    expires_at: contract.Timestamp | None
    """Null if it lasts until it is revoked, or is unused for too long."""
    last_used_at: contract.Timestamp | None
    """To the minute; null if it was never used."""


class ConnectionList(contract.Model):
    """All connected programs, newest first."""

    items: tuple[ConnectionSchema, ...]


class AccessRequestQuery(contract.Model):
    """A request of a program, as it sent the person with (RFC 6749 section 4.1.1)."""

    model_config = ConfigDict(alias_generator=None, extra="ignore")

    client_id: str | None = None
    response_type: str | None = None
    redirect_uri: str | None = None
    scope: str | None = None
    state: str | None = None
    code_challenge: str | None = None
    code_challenge_method: str | None = None
    resource: str | None = None


class AccessRequest(contract.Model):
    """What a program asks for."""

    name: str
    """How the program calls itself; nobody has verified it."""
    home: str | None
    """The address of a page about it, as it says."""
    redirect_uri: str
    redirect_host: str
    """Where the response is sent to: a host, or the scheme of an application."""
    leads_to_this_device: bool
    """Whether that is a program on the person's device."""
    scopes: tuple[Scope, ...]
    fingerprint: str
    """A digest of the above, for the decision."""


class AccessDecisionInput(contract.Model):
    """The decision of a person."""

    parameters: Annotated[dict[str, str], Field(max_length=30)]
    """The parameters of the request of the program, by their names."""
    allow: bool
    scopes: tuple[Literal["notes:read", "notes:write"], ...] = SCOPES
    """What is allowed of what the program asks for; it can always read."""
    workspace_ids: _WorkspaceIds | None = None
    """The workspaces; null for all."""
    days: Annotated[int, Field(ge=1, le=MAX_DAYS), contract.WHOLE] | None = None
    """How long; null until it is revoked."""
    fingerprint: Annotated[str, Field(max_length=64)] | None = None
    """That of the request that the person has seen: if the program describes itself in another way
    by now, nothing is allowed. Null decides without this check."""


class AccessDecision(contract.Model):
    """Where the person is sent to."""

    redirect: str = Field(repr=False)


class ConnectionOperations:
    """The programs that the caller allowed access.

    Args:
        server: the authorization server.
        store: the store of memberships.
    """

    def __init__(self, server: "AuthorizationServer", store: Store) -> None:
        self._server = server
        self._store = store

    @contract.operation(
        id="listConnections",
        method="GET",
        path="/api/account/connections",
        tag=_TAG,
        summary="List the programs that you allowed access",
        locked=contract.Locked.ALLOWED,
        problems=(NotFound,),
    )
    async def list_connections(self, call: contract.Call) -> ConnectionList:
        """Return the connected programs."""
        grants = await self._server.tokens.list(caller_of(call).account_id)
        return ConnectionList(items=tuple(map(_schema, grants)))

    @contract.operation(
        id="revokeConnection",
        method="DELETE",
        path="/api/account/connections/{connectionId}",
        tag=_TAG,
        summary="End the access of a program",
        description="Its next request is refused.",
        locked=contract.Locked.ALLOWED,
        problems=(NotFound,),
        finish_when_client_leaves=True,
    )
    async def revoke_connection(
        self, call: contract.Call, path: ConnectionPath
    ) -> contract.Removed:
        """End a grant with all of its tokens."""
        account_id = caller_of(call).account_id
        grant_id = path.connection_id
        if not await self._server.tokens.end(
            account_id, grant_id, remote_address=call.remote_address
        ):
            raise NotFound
        return contract.REMOVED

    @contract.operation(
        id="describeAccessRequest",
        method="GET",
        path="/api/account/access-requests",
        tag=_TAG,
        summary="Describe what a program asks for",
        problems=(NotFound, *REQUEST_PROBLEMS),
    )
    async def describe_access_request(
        self, call: contract.Call, query: AccessRequestQuery
    ) -> AccessRequest:
        """Return who asks for what."""
        with _request_refusals():
            request = await self._server.authorization.read(query.model_dump(exclude_none=True))
        metadata = request.client.metadata
        return AccessRequest(
            name=metadata.name,
            home=metadata.home,
            redirect_uri=request.redirect_uri,
            redirect_host=host_of(request.redirect_uri),
            leads_to_this_device=leads_to_this_device(request.redirect_uri),
            scopes=tuple(sorted(request.scopes)),
            fingerprint=request.fingerprint,
        )

    @contract.operation(
        id="decideAccessRequest",
        method="POST",
        path="/api/account/access-requests",
        tag=_TAG,
        summary="Allow or refuse what a program asks for",
        problems=(NotFound, *REQUEST_PROBLEMS),
        body=contract.json_body(AccessDecisionInput, limit=_LONGEST_BODY),
        rate=GRANTS,
    )
    async def decide_access_request(
        self, call: contract.Call, body: AccessDecisionInput
    ) -> AccessDecision:
        """Return the address that gives the program its code, or tells it of the refusal."""
        authorization = self._server.authorization
        account_id = caller_of(call).account_id
        with _request_refusals():
            if not body.allow:
                return AccessDecision(redirect=await authorization.deny(body.parameters))
            chosen = None
            if body.workspace_ids is not None:
                chosen = frozenset(
                    WorkspaceId(str(workspace_id)) for workspace_id in body.workspace_ids
                )
                if len(await self._store.read(chosen_of(account_id, [*chosen]))) < len(chosen):
                    raise InvalidRequest(
                        errors=[("/workspaceIds", "You are not a member of one of these.")]
                    )
            limits = AccessLimits(frozenset[Scope]({"notes:read", *body.scopes}), chosen)
            redirect = await authorization.allow(
                account_id,
                body.parameters,
                limits,
                body.days,
                remote_address=call.remote_address,
                shown=body.fingerprint,
            )
        return AccessDecision(redirect=redirect)


def _schema(grant: Grant) -> ConnectionSchema:
    workspaces = grant.limits.workspaces
    return ConnectionSchema(
        id=grant.grant_id,
        name=grant.client_name,
        client_id=grant.client_id,
        scopes=tuple(sorted(grant.limits.scopes)),
        workspace_ids=None if workspaces is None else tuple(sorted(workspaces)),
        created_at=contract.timestamp(grant.created_at),
        expires_at=None if grant.expires_at is None else contract.timestamp(grant.expires_at),
        last_used_at=None if grant.used_at is None else contract.timestamp(grant.used_at),
    )
