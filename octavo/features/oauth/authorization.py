"""Let people allow programs access: issue codes, and exchange, renew and revoke tokens."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import NamedTuple

from attrs import define
from octavo_rules.identity import READ, SCOPES, AccountId, Scope

from octavo.access.attempts import GRANTS, Attempts
from octavo.access.audit import Audit
from octavo.access.ports import Clock, NewEntropy, NewId, milliseconds
from octavo.features.oauth.clients import Clients
from octavo.features.oauth.rules import authorization_request
from octavo.features.oauth.rules.client import is_document_address
from octavo.features.oauth.rules.refusal import InvalidGrant, InvalidOAuthRequest, InvalidScope
from octavo.features.oauth.sql import oauth_clients, oauth_grants
from octavo.features.oauth.sql.oauth_grants import NewToken
from octavo.model.access.account import AccessLimits, ClientId, GrantId, parse_scopes
from octavo.model.access.audit import AuditEntry
from octavo.model.access.token import (
    access_token,
    digest_of,
    is_access_token,
    opaque_token,
    refresh_token,
)
from octavo.store import Store
from octavo.store.transaction import Transaction

_UNUSABLE = (
    "This code or token is not valid: it is unknown, expired, revoked, already used, or belongs to"
    " another program. Ask the person for access again."
)


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
        clients: finds programs.
        issuer: this server.
        attempts: counts the grants of each account, on the route `GRANTS`.
        audit: records grants.
        now: the clock.
        new_id: returns an id for a grant.
        new_entropy: returns entropy for a code.
    """

    _clients: Clients
    _issuer: Issuer
    _attempts: Attempts
    _audit: Audit
    _now: Clock
    _new_id: NewId
    _new_entropy: NewEntropy

    async def read(
        self, parameters: Mapping[str, str]
    ) -> authorization_request.AuthorizationRequest:
        """Return the valid request with these parameters.

        Raises `StoreUnavailable`, and `OAuthRefusal`, of which the program is not told.
        """
        client_id = parameters.get("client_id")
        if not client_id:
            raise InvalidOAuthRequest("The request names no client_id.")
        client = await self._clients.find(client_id)
        return authorization_request.read_request(
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
        remote_address: str | None,
        shown: str | None = None,
    ) -> str:
        """Grant a program access; return the address that gives it the code.

        The access never exceeds what the program asked for. ``days`` is how long the grant lasts,
        None until it is revoked; ``remote_address`` is the network address of the caller. ``shown``
        is the fingerprint of the request that the person has seen: another one is refused. Raises
        the errors of `read`, `TooManyAttempts` and `AccountGone`. If cancelled, a grant may exist
        whose code nobody has; it ends with the code.
        """
        request = await self.read(parameters)
        if shown is not None and shown != request.fingerprint:
            raise InvalidOAuthRequest(_CHANGED)
        self._attempts.admit_account(GRANTS, account_id)
        now = milliseconds(self._now())
        allowed = replace(limits, scopes=(limits.scopes & request.scopes) | {READ})
        grant = authorization_request.Grant(
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
            now + authorization_request.CODE_SECONDS * 1000,
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
            remote_address=remote_address,
            detail={"write": "notes:write" in allowed.scopes},
        )

        def entries(ended: tuple[GrantId, ...]) -> list[AuditEntry]:
            return [created, *(self._displaced(account_id, grant_id) for grant_id in ended)]

        # An older grant may end.
        await self._audit.write(grant_access, entries, access_of=account_id)
        return self._response(request, {"code": token})

    def _displaced(self, account_id: AccountId, grant_id: GrantId) -> AuditEntry:
        return self._audit.entry(
            "grant_revoked",
            actor="system",
            subject=grant_id,
            detail={"account": account_id, "reason": "too_many"},
        )

    def _response(
        self, request: authorization_request.AuthorizationRequest, parameters: Mapping[str, str]
    ) -> str:
        return authorization_request.response_address(
            request.redirect_uri, parameters, state=request.state, issuer=self._issuer.url
        )


@dataclass(frozen=True, slots=True)
class IssuedTokens:
    """New tokens of a grant.

    Attributes:
        access: for requests to the MCP endpoint.
        refresh: for new tokens; can be used once.
        seconds: for which the access token is valid.
        scopes: of the access token.
    """

    access: str
    refresh: str
    seconds: int
    scopes: frozenset[Scope]


@define(eq=False)
class Tokens:
    """Exchanges codes and refresh tokens for tokens.

    Args:
        store: the store of grants.
        issuer: this server.
        audit: records grants that end.
        now: the clock.
        new_entropy: returns entropy for a token.
        access_seconds: how long access tokens are valid.
        refresh_seconds: how long refresh tokens are valid.
    """

    _store: Store
    _issuer: Issuer
    _audit: Audit
    _now: Clock
    _new_entropy: NewEntropy
    _access_seconds: int
    _refresh_seconds: int

    async def exchange(
        self,
        client_id: ClientId,
        code: str,
        *,
        verifier: str,
        redirect_uri: str | None,
        resource: str | None,
        remote_address: str | None = None,
    ) -> IssuedTokens:
        """Return the tokens for a code (RFC 6749 section 4.1.3).

        A code that is used again ends its grant with all tokens (section 4.1.2). ``remote_address``
        is the network address of the caller. Raises `OAuthRefusal` and `StoreUnavailable`. If
        cancelled, the code may have been used.
        """
        authorization_request.check_resource(resource, self._issuer.resource)
        digest = digest_of(code.encode())
        stored = await self._store.read(oauth_grants.code_of(digest))
        if stored is None or stored.grant.client_id != client_id:
            raise InvalidGrant(_UNUSABLE)
        if stored.used:
            await self._end(stored.grant, "code_reused", remote_address)
            raise InvalidGrant(_UNUSABLE)
        if stored.redirect_uri != redirect_uri and stored.redirect_uri is not None:
            raise InvalidGrant("The redirect_uri is not that of the request.")
        if not authorization_request.proves(verifier, stored.challenge):
            raise InvalidGrant("The code_verifier does not match its challenge.")
        issued, new = self._issue(stored.grant, stored.grant.limits.scopes)
        now = milliseconds(self._now())
        if stored.expires_at <= now:
            raise InvalidGrant(_UNUSABLE)
        if not await self._store.write(oauth_grants.exchange(digest, new, now)):
            await self._end(stored.grant, "code_reused", remote_address)
            raise InvalidGrant(_UNUSABLE)
        return issued

    async def renew(
        self,
        client_id: ClientId,
        token: str,
        *,
        scope: str | None,
        resource: str | None,
        remote_address: str | None = None,
    ) -> IssuedTokens:
        """Return new tokens for a refresh token, which can't be used again.

        A token that is used twice was stolen: its grant ends with all tokens (RFC 9700 section
        4.14.2). ``scope`` may ask for less. Raises the same errors as `exchange`, and is cancelled
        like it.
        """
        authorization_request.check_resource(resource, self._issuer.resource)
        digest = digest_of(token.encode())
        stored = await self._store.read(oauth_grants.token_of(digest, "refresh"))
        if stored is None or stored.grant.client_id != client_id:
            raise InvalidGrant(_UNUSABLE)
        if stored.used:
            await self._end(stored.grant, "refresh_token_reused", remote_address)
            raise InvalidGrant(_UNUSABLE)
        now = milliseconds(self._now())
        if stored.expires_at <= now or not stored.account.open:
            raise InvalidGrant(_UNUSABLE)
        scopes = _narrowed(scope, stored.grant.limits.scopes & self._issuer.scopes)
        issued, new = self._issue(stored.grant, scopes)
        if not await self._store.write(oauth_grants.rotate(digest, new, now)):
            await self._end(stored.grant, "refresh_token_reused", remote_address)
            raise InvalidGrant(_UNUSABLE)
        return issued

    async def revoke(
        self, client_id: ClientId, token: str, *, remote_address: str | None = None
    ) -> None:
        """End a token of the program: an access token alone, a refresh token with its grant.

        An unknown token is no error (RFC 7009 section 2.2). Raises `StoreUnavailable`. If
        cancelled, it may have ended.
        """
        digest = digest_of(token.encode())
        kind: authorization_request.TokenKind = (
            "access" if is_access_token(token.encode()) else "refresh"
        )
        stored = await self._store.read(oauth_grants.token_of(digest, kind))
        if stored is None or stored.grant.client_id != client_id:
            return
        if kind == "refresh":
            await self._end(stored.grant, "program", remote_address)
            return
        script = oauth_grants.revoke_access(digest)
        await self._audit.write(script, lambda _: (), access_of=stored.grant.account_id)

    async def list(self, account_id: AccountId) -> list[authorization_request.Grant]:
        """Return the grants of an account that have not ended. Raises `StoreUnavailable`."""
        return await self._store.read(oauth_grants.list_of(account_id, milliseconds(self._now())))

    async def end(
        self, account_id: AccountId, grant_id: GrantId, *, remote_address: str | None
    ) -> bool:
        """End a grant of an account; return whether there was one. Raises `StoreUnavailable`.

        If cancelled, it may have ended.
        """
        return await self._revoke(account_id, grant_id, account_id, "person", remote_address)

    async def _end(
        self, grant: authorization_request.Grant, reason: str, remote_address: str | None
    ) -> None:
        await self._revoke(grant.account_id, grant.grant_id, None, reason, remote_address)

    async def _revoke(
        self,
        account_id: AccountId,
        grant_id: GrantId,
        actor: AccountId | None,
        reason: str,
        remote_address: str | None,
    ) -> bool:
        entry = self._audit.entry(
            "grant_revoked",
            actor=actor,
            subject=grant_id,
            remote_address=remote_address,
            detail={"account": account_id, "reason": reason},
        )
        script = oauth_grants.revoke(account_id, grant_id)
        return await self._audit.write(script, entry, access_of=account_id)

    def _issue(
        self, grant: authorization_request.Grant, scopes: frozenset[Scope]
    ) -> tuple[IssuedTokens, tuple[NewToken, ...]]:
        access, refresh = access_token(self._new_entropy()), refresh_token(self._new_entropy())
        now = milliseconds(self._now())
        access_ends = authorization_request.ends_at(now, self._access_seconds, grant)
        new = (
            NewToken(digest_of(access.encode()), "access", scopes, access_ends),
            NewToken(
                digest_of(refresh.encode()),
                "refresh",
                scopes,
                authorization_request.ends_at(now, self._refresh_seconds, grant),
            ),
        )
        seconds = max(0, (access_ends - now) // 1000)
        return IssuedTokens(access, refresh, seconds, scopes), new


def _narrowed(requested: str | None, allowed: frozenset[Scope]) -> frozenset[Scope]:
    if not requested or not requested.split():
        return allowed
    try:
        scopes = parse_scopes(requested.split())
    except ValueError as error:
        raise InvalidScope(f"{error}.") from None
    if not scopes <= allowed:
        raise InvalidScope("The person did not allow this scope.")
    return scopes


class AuthorizationServer(NamedTuple):
    """The use cases of the authorization server."""

    issuer: Issuer
    clients: Clients
    authorization: Authorization
    tokens: Tokens


_DAY = 86_400_000
_CHANGED = "The program has described itself anew since it was shown: nothing was allowed."
