"""Let people allow programs access: describe what a program asks for, and issue codes."""

from collections.abc import Mapping
from dataclasses import dataclass, replace

from attrs import define
from octavo_rules.identity import READ, SCOPES, AccountId, Scope

from octavo.access.attempts import GRANTS, Attempts
from octavo.access.audit import Audit
from octavo.access.ports import Clock, NewEntropy, NewId, milliseconds
from octavo.features.oauth.clients import Clients
from octavo.features.oauth.rules.authorization_request import (
    CODE_SECONDS,
    AuthorizationRequest,
    Grant,
    read_request,
    response_address,
)
from octavo.features.oauth.rules.client import is_document_address
from octavo.features.oauth.rules.refusal import InvalidOAuthRequest
from octavo.features.oauth.sql import oauth_clients, oauth_grants
from octavo.model.access.account import AccessLimits, GrantId
from octavo.model.access.audit import AuditEntry
from octavo.model.access.token import digest_of, opaque_token
from octavo.store import Store
from octavo.store.transaction import Transaction

_DAY = 86_400_000
_CHANGED = "The program has described itself anew since it was shown: nothing was allowed."


@dataclass(frozen=True, slots=True)
class Issuer:
    """This server, and what it grants access to.

    Attributes:
        url: the identifier of the server: its address, without a slash at the end.
        write: whether programs may be allowed to write.
    """

    url: str
    write: bool

    @property
    def resource(self) -> str:
        """The identifier of the MCP endpoint (RFC 8707)."""
        return f"{self.url}/mcp"

    @property
    def scopes(self) -> frozenset[Scope]:
        """The scopes that can be granted."""
        return frozenset(SCOPES) if self.write else frozenset({READ})


@define(eq=False)
class Authorization:
    """Reads the requests of programs, and grants what people allow them.

    Args:
        store: the store of grants.
        clients: finds programs.
        issuer: this server.
        attempts: counts the grants of each account, on the route `GRANTS`.
        audit: records grants.
        now: the clock.
        new_id: returns an id for a grant.
        new_entropy: returns entropy for a code.
    """

    _store: Store
    _clients: Clients
    _issuer: Issuer
    _attempts: Attempts
    _audit: Audit
    _now: Clock
    _new_id: NewId
    _new_entropy: NewEntropy

    async def read(self, parameters: Mapping[str, str]) -> AuthorizationRequest:
        """Return the valid request with these parameters.

        Raises `OAuthRefusal`, of which the program does not learn, and `StoreUnavailable`.
        """
        client_id = parameters.get("client_id")
        if not client_id:
            raise InvalidOAuthRequest("The request names no client_id.")
        client = await self._clients.find(client_id)
        return read_request(
            client,
            parameters,
            resource=self._issuer.resource,
            offered=self._issuer.scopes,
        )

    async def deny(self, parameters: Mapping[str, str]) -> str:
        """Return the address by which the program learns that the person refused.

        Raises the same errors as `read`.
        """
        request = await self.read(parameters)
        refused = {"error": "access_denied", "error_description": "The person refused."}
        return self._response(request, refused)

    async def allow(
        self,
        account_id: AccountId,
        parameters: Mapping[str, str],
        limits: AccessLimits,
        days: int | None,
        *,
        client: str | None,
        shown: str | None = None,
    ) -> str:
        """Grant a program access; return the address that gives it the code.

        The access never exceeds what the program asked for. ``days`` is how long the grant lasts,
        None until it is revoked; ``client`` is the network address of the caller. ``shown`` is the
        fingerprint of the request that the person has seen: another one is refused. Raises as
        `read`, and `TooManyAttempts` and `AccountGone`. If cancelled, a grant may exist that nobody
        has a code for; it ends with the code.
        """
        request = await self.read(parameters)
        if shown is not None and shown != request.fingerprint:
            raise InvalidOAuthRequest(_CHANGED)
        self._attempts.admit_account(GRANTS, account_id)
        now = milliseconds(self._now())
        allowed = replace(limits, scopes=(limits.scopes & request.scopes) | {READ})
        grant = Grant(
            GrantId(self._new_id()),
            account_id,
            request.client.client_id,
            request.client.metadata.name,
            allowed,
            now,
            None if days is None else now + days * _DAY,
        )
        token = opaque_token(self._new_entropy())
        code = oauth_grants.NewCode(
            digest_of(token.encode()),
            request.redirect_uri if request.given_redirect_uri else None,
            request.challenge,
            now + CODE_SECONDS * 1000,
        )

        async def grant_access(transaction: Transaction) -> tuple[GrantId, ...]:
            ended = await oauth_grants.create(grant, code)(transaction)
            if not is_document_address(grant.client_id):
                await oauth_clients.mark_granted(grant.client_id, now)(transaction)
            return ended

        created = self._audit.entry(
            "grant_created",
            actor=account_id,
            subject=grant.grant_id,
            client=client,
            detail={"write": "notes:write" in allowed.scopes},
        )

        def entries(ended: tuple[GrantId, ...]) -> list[AuditEntry]:
            return [created, *(self._displaced(account_id, each) for each in ended)]

        # Another grant may end.
        await self._audit.write(grant_access, entries, access_of=account_id)
        return self._response(request, {"code": token})

    def _displaced(self, account_id: AccountId, grant_id: GrantId) -> AuditEntry:
        return self._audit.entry(
            "grant_revoked",
            actor="system",
            subject=grant_id,
            detail={"account": account_id, "reason": "too_many"},
        )

    def _response(self, request: AuthorizationRequest, parameters: Mapping[str, str]) -> str:
        return response_address(
            request.redirect_uri, parameters, state=request.state, issuer=self._issuer.url
        )
