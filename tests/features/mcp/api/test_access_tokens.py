"""Access tokens authenticate the operations of the MCP endpoint, and nothing else does."""

import pytest

from octavo.features.mcp.api.mcp import AccessTokens
from octavo.features.oauth.access_tokens import add_access_tokens
from octavo.http.contract.application import Application
from octavo.http.contract.call import Call
from octavo.http.contract.operation import Security, operation
from tests.fakes.asgi_client import Response, ask
from tests.fakes.identity_fixture import IdentityFixture, identity_fixture
from tests.fakes.oauth_rig import URL, OAuthRig

WHERE = f'resource_metadata="{URL}/.well-known/oauth-protected-resource/mcp", scope="notes:read"'


class McpOperation:
    @operation(
        id="serve",
        method="GET",
        path="/mcp",
        tag="mcp",
        summary="Serve",
        security=Security.MCP,
        scope="notes:read",
    )
    async def serve(self, call: Call) -> str:
        assert call.principal is not None
        return call.principal.name


async def get(identity: IdentityFixture, token: str | None, *, writes: bool = False) -> Response:
    kind = add_access_tokens(identity.credentials, identity.store)
    tokens = AccessTokens(kind, public_url=URL, writes=writes)
    application = Application(
        [McpOperation()],
        new_id=lambda: "an-id",
        log_request=lambda _: None,
        authenticators={Security.MCP: tokens},
        strict=True,
    )
    headers = [] if token is None else [(b"authorization", f"Bearer {token}".encode())]
    return await ask(application, "GET", "/mcp", headers=headers)


async def test_access_token_names_its_account() -> None:
    with identity_fixture() as identity:
        account_id = (await identity.account()).account.account_id
        _, tokens = await OAuthRig(identity).connected(account_id)
        response = await get(identity, tokens.access)
        assert (response.status, response.json()) == (200, account_id)


@pytest.mark.parametrize("kind", ["refresh token", "API key", "session", "garbage"])
async def test_other_credentials_are_refused(kind: str) -> None:
    with identity_fixture() as identity:
        made = await identity.account()
        account_id = made.account.account_id
        _, tokens = await OAuthRig(identity).connected(account_id)
        _, key = await identity.own_keys.create(account_id, "a", None, remote_address=None)
        given = {
            "refresh token": tokens.refresh,
            "API key": key,
            "session": made.token,
            "garbage": "octa_" + "0" * 36,
        }
        response = await get(identity, given[kind])
        assert (response.status, response.code) == (401, "credential_refused")
        assert response.header("www-authenticate") == f'Bearer error="invalid_token", {WHERE}'


async def test_request_without_a_token_learns_where_to_get_one() -> None:
    with identity_fixture() as identity:
        response = await get(identity, None)
        assert (response.status, response.code) == (401, "not_signed_in")
        assert response.header("www-authenticate") == f"Bearer {WHERE}"


@pytest.mark.parametrize("token", [None, "octa_" + "0" * 36])
async def test_challenge_names_every_scope_that_can_be_granted(token: str | None) -> None:
    with identity_fixture() as identity:
        response = await get(identity, token, writes=True)
        challenge = response.header("www-authenticate") or ""
        assert challenge.endswith(', scope="notes:read notes:write"')
