"""The authorization server of the MCP endpoint: its metadata, registration of programs, tokens.

Programs of any maker use these operations: paths, members and errors are those of the standards.
"""

from base64 import b64decode
from binascii import Error
from typing import TYPE_CHECKING, Annotated
from urllib.parse import unquote_plus

from octavo_rules.problems import STORE_PROBLEMS, NotFound
from pydantic import ConfigDict, Field, JsonValue, RootModel
from pydantic_core import MISSING

from octavo.features.oauth.rules import refusal
from octavo.features.oauth.rules.client import AUTH_METHODS, GRANT_TYPES, OAuthClient
from octavo.http import contract
from octavo.model.access.account import ClientId

if TYPE_CHECKING:
    from octavo.features.oauth.authorization import AuthorizationServer, IssuedTokens
    from octavo.features.oauth.clients import ClientRegistration

AUTHORIZE = "/oauth/authorize"
"""The path of the page on which a person allows a program access."""
REGISTER = "/oauth/register"
TOKEN = "/oauth/token"
REVOKE = "/oauth/revoke"

REGISTRATIONS = "oauth-registration"
TOKENS = "oauth-token"
"""The rate classes."""

_LONGEST_FORM = 16_384
_LONGEST_METADATA = 65_536
_TAG = "mcp"
# RFC 6749 section 5.1.
_PRAGMA = (b"pragma", b"no-cache")
_PRAGMA_HEADER = {"pragma": "Nothing keeps the response."}


class ProtocolModel(contract.Model):
    """A document of a protocol, whose members are in snake_case."""

    model_config = ConfigDict(alias_generator=None)


class McpMetadata(ProtocolModel):
    """The metadata of the MCP endpoint (RFC 9728)."""

    resource: str
    """The identifier of the endpoint."""
    authorization_servers: tuple[str, ...]
    scopes_supported: tuple[str, ...]
    bearer_methods_supported: tuple[str, ...]
    resource_name: str
    resource_documentation: str


class AuthorizationServerMetadata(ProtocolModel):
    """The metadata of the authorization server (RFC 8414)."""

    issuer: str
    authorization_endpoint: str
    token_endpoint: str
    registration_endpoint: str
    revocation_endpoint: str
    scopes_supported: tuple[str, ...]
    response_types_supported: tuple[str, ...]
    response_modes_supported: tuple[str, ...]
    grant_types_supported: tuple[str, ...]
    token_endpoint_auth_methods_supported: tuple[str, ...]
    revocation_endpoint_auth_methods_supported: tuple[str, ...]
    code_challenge_methods_supported: tuple[str, ...]
    authorization_response_iss_parameter_supported: bool
    client_id_metadata_document_supported: bool


class ClientMetadataInput(RootModel[dict[str, JsonValue]]):
    """The metadata of a program (RFC 7591 section 2); unknown members are ignored."""


class RegisteredClient(ProtocolModel):
    """A registered program (RFC 7591 section 3.2.1).

    What it does not have is omitted: clients of others refuse a null.
    """

    client_id: str
    client_id_issued_at: int
    """In seconds of Unix time."""
    client_secret: str | MISSING = Field(default=MISSING, repr=False)
    client_secret_expires_at: int | MISSING = MISSING
    """0 for never."""
    client_name: str
    client_uri: str | MISSING = MISSING
    redirect_uris: tuple[str, ...]
    grant_types: tuple[str, ...]
    response_types: tuple[str, ...]
    token_endpoint_auth_method: str
    registration_access_token: str = Field(repr=False)
    """The token that reads, changes and removes the registration."""
    registration_client_uri: str


class ClientPath(contract.Model):
    """A registered program."""

    client: str


class TokenInput(ProtocolModel):
    """A request for tokens (RFC 6749 sections 4.1.3 and 6)."""

    grant_type: str | None = None
    code: str | None = Field(default=None, repr=False)
    code_verifier: str | None = Field(default=None, repr=False)
    redirect_uri: str | None = None
    refresh_token: str | None = Field(default=None, repr=False)
    scope: str | None = None
    resource: str | None = None
    client_id: str | None = None
    client_secret: str | None = Field(default=None, repr=False)


class TokenResponse(ProtocolModel):
    """New tokens (RFC 6749 section 5.1)."""

    access_token: str = Field(repr=False)
    token_type: str
    expires_in: int
    """Seconds."""
    refresh_token: str = Field(repr=False)
    scope: str


class RevocationInput(ProtocolModel):
    """A token that ends (RFC 7009 section 2.1)."""

    token: Annotated[str, Field(repr=False)]
    token_type_hint: str | None = None
    client_id: str | None = None
    client_secret: str | None = Field(default=None, repr=False)


class OAuthOperations:
    """The authorization server, for programs.

    Args:
        server: issues the tokens.
        public_url: the address of the installation.
    """

    def __init__(self, server: "AuthorizationServer", *, public_url: str) -> None:
        self._server = server
        self._public_url = public_url

    @contract.operation(
        id="getRootMcpMetadata",
        method="GET",
        path="/.well-known/oauth-protected-resource",
        tag=_TAG,
        summary="Describe the MCP endpoint",
        security=contract.Security.NONE,
        problems=(NotFound,),
    )
    @contract.operation(
        id="getMcpMetadata",
        method="GET",
        path="/.well-known/oauth-protected-resource/mcp",
        tag=_TAG,
        summary="Describe the MCP endpoint",
        security=contract.Security.NONE,
        problems=(NotFound,),
    )
    async def get_mcp_metadata(self, call: contract.Call) -> McpMetadata:
        """Return the canonical resource and its authorization server (RFC 9728)."""
        issuer = self._server.issuer
        return McpMetadata(
            resource=issuer.resource,
            authorization_servers=(issuer.url,),
            scopes_supported=tuple(sorted(issuer.scopes)),
            bearer_methods_supported=("header",),
            resource_name="Octavo",
            resource_documentation=f"{self._public_url}/api/docs",
        )

    @contract.operation(
        id="getAuthorizationServer",
        method="GET",
        path="/.well-known/oauth-authorization-server",
        tag=_TAG,
        summary="Describe the authorization server",
        security=contract.Security.NONE,
        problems=(NotFound,),
    )
    async def get_authorization_server(self, call: contract.Call) -> AuthorizationServerMetadata:
        """Return the metadata of the authorization server (RFC 8414)."""
        issuer = self._server.issuer
        return AuthorizationServerMetadata(
            issuer=issuer.url,
            authorization_endpoint=issuer.url + AUTHORIZE,
            token_endpoint=issuer.url + TOKEN,
            registration_endpoint=issuer.url + REGISTER,
            revocation_endpoint=issuer.url + REVOKE,
            scopes_supported=tuple(sorted(issuer.scopes)),
            response_types_supported=("code",),
            response_modes_supported=("query",),
            grant_types_supported=GRANT_TYPES,
            token_endpoint_auth_methods_supported=AUTH_METHODS,
            revocation_endpoint_auth_methods_supported=AUTH_METHODS,
            code_challenge_methods_supported=("S256",),
            authorization_response_iss_parameter_supported=True,
            client_id_metadata_document_supported=True,
        )

    @contract.operation(
        id="registerClient",
        method="POST",
        path=REGISTER,
        tag=_TAG,
        summary="Register a program",
        description="Anybody may register a program (RFC 7591); it gets no access by that. A "
        "program that nobody allowed anything is removed after a day.",
        security=contract.Security.NONE,
        status=201,
        problems=(NotFound, *refusal.REGISTRATION_PROBLEMS, *STORE_PROBLEMS),
        body=contract.json_body(ClientMetadataInput, limit=_LONGEST_METADATA),
        rate=REGISTRATIONS,
        errors=contract.OAUTH_ERROR,
        headers=_PRAGMA_HEADER,
    )
    async def register_client(
        self, call: contract.Call, body: ClientMetadataInput
    ) -> contract.Reply[RegisteredClient]:
        """Register a program."""
        return self._registered(await self._server.clients.register(body.root))

    @contract.operation(
        id="getClient",
        method="GET",
        path=f"{REGISTER}/{{client}}",
        tag=_TAG,
        summary="Read a registration",
        security=contract.Security.NONE,
        problems=(NotFound, *refusal.REGISTRATION_PROBLEMS, *STORE_PROBLEMS),
        errors=contract.OAUTH_ERROR,
        headers=_PRAGMA_HEADER,
    )
    async def get_client(
        self, call: contract.Call, path: ClientPath
    ) -> contract.Reply[RegisteredClient]:
        """Return a registration, without its secret (RFC 7592 section 2.1)."""
        token = _bearer(call)
        client = await self._server.clients.managed(ClientId(path.client), token)
        return self._described(client, None, token)

    @contract.operation(
        id="updateClient",
        method="PUT",
        path=f"{REGISTER}/{{client}}",
        tag=_TAG,
        summary="Change a registration",
        security=contract.Security.NONE,
        problems=(NotFound, *refusal.REGISTRATION_PROBLEMS, *STORE_PROBLEMS),
        body=contract.json_body(ClientMetadataInput, limit=_LONGEST_METADATA),
        rate=REGISTRATIONS,
        errors=contract.OAUTH_ERROR,
        headers=_PRAGMA_HEADER,
    )
    async def update_client(
        self, call: contract.Call, path: ClientPath, body: ClientMetadataInput
    ) -> contract.Reply[RegisteredClient]:
        """Replace the metadata of a program (RFC 7592 section 2.2)."""
        token = _bearer(call)
        return self._registered(
            await self._server.clients.change(ClientId(path.client), token, body.root)
        )

    @contract.operation(
        id="removeClient",
        method="DELETE",
        path=f"{REGISTER}/{{client}}",
        tag=_TAG,
        summary="Remove a registration",
        security=contract.Security.NONE,
        status=204,
        problems=(NotFound, *refusal.REGISTRATION_PROBLEMS, *STORE_PROBLEMS),
        errors=contract.OAUTH_ERROR,
        finish_when_client_leaves=True,
    )
    async def remove_client(self, call: contract.Call, path: ClientPath) -> None:
        """Remove a program with all that people allowed it (RFC 7592 section 2.3)."""
        token = _bearer(call)
        await self._server.clients.remove(
            ClientId(path.client), token, remote_address=call.remote_address
        )

    @contract.operation(
        id="issueToken",
        method="POST",
        path=TOKEN,
        tag=_TAG,
        summary="Exchange a code or a refresh token for tokens",
        security=contract.Security.NONE,
        problems=(NotFound, *refusal.TOKEN_PROBLEMS, *STORE_PROBLEMS),
        body=contract.form_body(TokenInput, limit=_LONGEST_FORM, ignores_others=True),
        rate=TOKENS,
        errors=contract.OAUTH_ERROR,
        headers=_PRAGMA_HEADER,
    )
    async def issue_token(
        self, call: contract.Call, body: TokenInput
    ) -> contract.Reply[TokenResponse]:
        """Return tokens; a code and a refresh token can be used once."""
        if body.grant_type not in GRANT_TYPES:
            raise refusal.UnsupportedGrantType
        client_id = await self._server.clients.authenticate(*_client_of(call, body))
        if body.grant_type == "authorization_code":
            if body.code is None or body.code_verifier is None:
                raise refusal.InvalidOAuthRequest("Send the code and its code_verifier.")
            issued = await self._server.tokens.exchange(
                client_id,
                body.code,
                verifier=body.code_verifier,
                redirect_uri=body.redirect_uri,
                resource=body.resource,
                remote_address=call.remote_address,
            )
        else:
            if body.refresh_token is None:
                raise refusal.InvalidOAuthRequest("Send the refresh_token.")
            issued = await self._server.tokens.renew(
                client_id,
                body.refresh_token,
                scope=body.scope,
                resource=body.resource,
                remote_address=call.remote_address,
            )
        return contract.Reply(_token_response(issued), (_PRAGMA,))

    @contract.operation(
        id="revokeToken",
        method="POST",
        path=REVOKE,
        tag=_TAG,
        summary="End a token",
        description="A refresh token ends with all that the person allowed. An unknown token is no "
        "error (RFC 7009).",
        security=contract.Security.NONE,
        problems=(NotFound, *refusal.TOKEN_PROBLEMS, *STORE_PROBLEMS),
        body=contract.form_body(RevocationInput, limit=_LONGEST_FORM, ignores_others=True),
        rate=TOKENS,
        errors=contract.OAUTH_ERROR,
    )
    async def revoke_token(self, call: contract.Call, body: RevocationInput) -> None:
        """End a token."""
        client_id = await self._server.clients.authenticate(*_client_of(call, body))
        await self._server.tokens.revoke(client_id, body.token, remote_address=call.remote_address)

    def _registered(self, made: "ClientRegistration") -> contract.Reply[RegisteredClient]:
        return self._described(made.client, made.secret, made.management_token)

    def _described(
        self, client: OAuthClient, secret: str | None, token: str
    ) -> contract.Reply[RegisteredClient]:
        metadata = client.metadata
        described = RegisteredClient(
            client_id=client.client_id,
            client_id_issued_at=client.created_at // 1000,
            client_secret=MISSING if secret is None else secret,
            client_secret_expires_at=MISSING if client.secret_digest is None else 0,
            client_name=metadata.name,
            client_uri=MISSING if metadata.home is None else metadata.home,
            redirect_uris=metadata.redirect_uris,
            grant_types=GRANT_TYPES,
            response_types=("code",),
            token_endpoint_auth_method=metadata.auth_method,
            registration_access_token=token,
            registration_client_uri=f"{self._public_url}{REGISTER}/{client.client_id}",
        )
        return contract.Reply(described, (_PRAGMA,))


def _token_response(issued: "IssuedTokens") -> TokenResponse:
    return TokenResponse(
        access_token=issued.access,
        token_type="Bearer",
        expires_in=issued.seconds,
        refresh_token=issued.refresh,
        scope=" ".join(sorted(issued.scopes)),
    )


def _client_of(call: contract.Call, body: TokenInput | RevocationInput) -> tuple[str, str | None]:
    """Return the id and the secret that a program sent (RFC 6749 section 2.3.1).

    Raises `InvalidClient`.
    """
    header = call.header(b"authorization")
    if header is None:
        if not body.client_id:
            raise refusal.InvalidClient("Send the client_id of the program.")
        return body.client_id, body.client_secret
    scheme, _, coded = header.partition(b" ")
    if scheme.lower() != b"basic" or body.client_secret is not None:
        raise refusal.InvalidClient(
            "Authenticate in one way: authorization: Basic, or client_secret."
        )
    try:
        name, colon, secret = b64decode(coded.strip(), validate=True).decode().partition(":")
    except (Error, UnicodeDecodeError):
        raise refusal.InvalidClient("The header authorization is not valid.") from None
    client_id = unquote_plus(name)
    if not colon or (body.client_id is not None and body.client_id != client_id):
        raise refusal.InvalidClient("The header authorization names another program, or none.")
    return client_id, unquote_plus(secret) or None


def _bearer(call: contract.Call) -> str:
    """Return the token that manages a registration. Raises `InvalidClient`."""
    header = call.header(b"authorization") or b""
    if header[:7].lower() != b"bearer ":
        raise refusal.InvalidClient("Send the registration_access_token as authorization: Bearer.")
    return header[7:].decode("latin-1")
