"""The authorization server over the use cases of identity, and a program that uses it."""

from collections.abc import Awaitable, Callable
from urllib.parse import parse_qs, urlsplit

from octavo_rules.identity import READ, WRITE, AccountId, Scope

from octavo.features.oauth.access_tokens import add_access_tokens
from octavo.features.oauth.authorization import (
    Authorization,
    AuthorizationServer,
    IssuedTokens,
    Issuer,
    Tokens,
)
from octavo.features.oauth.clients import ClientDocuments, Clients
from octavo.features.oauth.rules.authorization_request import challenge_of
from octavo.features.oauth.rules.refusal import InvalidClient
from octavo.model.access.account import AccessLimits, ClientId
from tests.fakes.identity_fixture import IdentityFixture

URL = "https://notes.example"
CALLBACK = "https://client.example/cb"
VERIFIER = "v" * 43
PROGRAM = {
    "client_name": "An assistant",
    "redirect_uris": [CALLBACK],
    "token_endpoint_auth_method": "none",
}
ALL: frozenset[Scope] = frozenset({READ, WRITE})


async def nothing_there(_: str) -> bytes:
    """Fetch no document."""
    raise InvalidClient("Nothing is there.")


class OAuthRig:
    """An authorization server."""

    def __init__(
        self,
        identity: IdentityFixture,
        *,
        write: bool = True,
        fetch: Callable[[str], Awaitable[bytes]] = nothing_there,
    ) -> None:
        sources = identity.sources
        self.identity = identity
        self.issuer = Issuer(URL, write=write)
        self.access_tokens = add_access_tokens(identity.credentials, identity.store)
        self.clients = Clients(
            identity.store,
            ClientDocuments(fetch),
            self.access_tokens,
            audit=identity.audit,
            now=sources.now,
            new_id=sources.new_id,
            new_entropy=sources.new_entropy,
        )
        self.authorization = Authorization(
            self.clients,
            self.issuer,
            identity.attempts,
            audit=identity.audit,
            now=sources.now,
            new_id=sources.new_id,
            new_entropy=sources.new_entropy,
        )
        self.tokens = Tokens(
            identity.store,
            self.issuer,
            audit=identity.audit,
            now=sources.now,
            new_entropy=sources.new_entropy,
            access_seconds=3600,
            refresh_seconds=30 * 86_400,
        )
        self.server = AuthorizationServer(
            self.issuer, self.clients, self.authorization, self.tokens
        )

    async def program(self) -> ClientId:
        """Register a program."""
        return (await self.clients.register(PROGRAM)).client.client_id

    async def code(
        self,
        account_id: AccountId,
        client_id: ClientId,
        limits: AccessLimits | None = None,
        days: int | None = 90,
        remote_address: str | None = None,
    ) -> str:
        """Allow a program access; return its code."""
        parameters = {
            "response_type": "code",
            "client_id": client_id,
            "redirect_uri": CALLBACK,
            "code_challenge": challenge_of(VERIFIER),
            "code_challenge_method": "S256",
            "scope": "notes:read notes:write",
        }
        address = await self.authorization.allow(
            account_id, parameters, limits or AccessLimits(ALL), days, remote_address=remote_address
        )
        return parse_qs(urlsplit(address).query)["code"][0]

    async def exchange(
        self, client_id: ClientId, code: str, remote_address: str | None = None
    ) -> IssuedTokens:
        """Exchange a code as the program does."""
        return await self.tokens.exchange(
            client_id,
            code,
            verifier=VERIFIER,
            redirect_uri=CALLBACK,
            resource=f"{URL}/mcp",
            remote_address=remote_address,
        )

    async def renew(
        self,
        client_id: ClientId,
        token: str,
        scope: str | None = None,
        remote_address: str | None = None,
    ) -> IssuedTokens:
        """Renew tokens as the program does."""
        return await self.tokens.renew(
            client_id, token, scope=scope, resource=None, remote_address=remote_address
        )

    async def connected(self, account_id: AccountId) -> tuple[ClientId, IssuedTokens]:
        """Register a program and give it access."""
        client_id = await self.program()
        return client_id, await self.exchange(client_id, await self.code(account_id, client_id))
