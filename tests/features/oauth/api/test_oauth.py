"""The operations of the authorization server."""

import re
from base64 import b64encode
from collections.abc import Iterator
from urllib.parse import urlencode

import pytest

from octavo.features.mcp.api.mcp import McpOperations
from octavo.features.oauth.api.connections import ConnectionOperations
from octavo.features.oauth.api.oauth import OAuthOperations
from octavo.features.oauth.settings import OFF
from octavo.http.contract.assembly import contract_of
from tests.fakes.asgi_client import Response, ask
from tests.fakes.identity_fixture import identity_fixture
from tests.fakes.oauth_rig import CALLBACK, PROGRAM, URL, VERIFIER
from tests.fakes.publishing_users import PublishingUsers
from tests.fakes.users_api import UsersApi

FORM = (b"content-type", b"application/x-www-form-urlencoded")


@pytest.fixture
def users() -> Iterator[PublishingUsers]:
    with identity_fixture() as identity:
        yield PublishingUsers(identity)


async def send(
    users: UsersApi, path: str, fields: dict[str, str] | list[tuple[str, str]], *basic: str
) -> Response:
    headers = [FORM]
    if basic:
        headers.append((b"authorization", b"Basic " + b64encode(":".join(basic).encode())))
    body = urlencode(fields).encode()
    return await ask(users.application, "POST", path, headers=headers, body=[body])


async def secret_client(users: PublishingUsers) -> tuple[str, str]:
    made = await users.post("/oauth/register", {"redirect_uris": [CALLBACK]})
    assert made.status == 201
    assert made.header("cache-control") == "no-store"
    return made.json()["client_id"], made.json()["client_secret"]


async def exchange(users: PublishingUsers, program: str, *basic: str, **changed: str) -> Response:
    account_id = (await users.identity.account()).account.account_id
    code = await users.oauth.code(account_id, program)  # type: ignore[arg-type]
    fields = {
        "grant_type": "authorization_code",
        "code": code,
        "code_verifier": VERIFIER,
        "redirect_uri": CALLBACK,
        "unknown": "ignored",
        **changed,
    }
    return await send(users, "/oauth/token", fields, *basic)


async def test_program_authenticates_by_header(users: PublishingUsers) -> None:
    client_id, secret = await secret_client(users)
    response = await exchange(users, client_id, client_id, secret)
    assert (response.status, response.header("pragma")) == (200, "no-cache")
    assert set(response.json()) == {
        "access_token",
        "token_type",
        "expires_in",
        "refresh_token",
        "scope",
    }


async def test_program_authenticates_by_form(users: PublishingUsers) -> None:
    client_id, secret = await secret_client(users)
    changed = {"client_id": client_id, "client_secret": secret}
    assert (await exchange(users, client_id, **changed)).status == 200


@pytest.mark.parametrize(
    ("basic", "fields"),
    [
        ((), {}),
        (("{id}", "wrong"), {}),
        (("{id}",), {}),
        (("{id}", "{secret}"), {"client_id": "other"}),
        (("{id}", "{secret}"), {"client_secret": "{secret}"}),
        ((), {"client_id": "{id}", "client_secret": "wrong"}),
        ((), {"client_id": "{id}"}),
    ],
)
async def test_program_that_does_not_prove_who_it_is_is_refused(
    users: PublishingUsers, basic: tuple[str, ...], fields: dict[str, str]
) -> None:
    client_id, secret = await secret_client(users)

    def filled(text: str) -> str:
        return text.replace("{id}", client_id).replace("{secret}", secret)

    changed = {name: filled(value) for name, value in fields.items()}
    response = await exchange(users, client_id, *map(filled, basic), **changed)
    assert (response.status, response.json()["error"]) == (401, "invalid_client")
    assert response.header("www-authenticate") == 'Basic realm="octavo"'


async def test_repeated_parameter_is_refused(users: PublishingUsers) -> None:
    fields = [("grant_type", "authorization_code"), ("code", "a"), ("code", "b")]
    response = await send(users, "/oauth/token", fields)
    assert (response.status, response.json()["error"]) == (400, "invalid_request")


@pytest.mark.parametrize(
    ("grant_type", "error"),
    [
        ("", "unsupported_grant_type"),
        ("client_credentials", "unsupported_grant_type"),
        ("authorization_code", "invalid_request"),
        ("refresh_token", "invalid_request"),
    ],
)
async def test_incomplete_request_is_refused(
    users: PublishingUsers, grant_type: str, error: str
) -> None:
    client_id = await users.oauth.program()
    fields = {"grant_type": grant_type, "client_id": client_id}
    response = await send(users, "/oauth/token", fields)
    assert (response.status, response.json()["error"]) == (400, error)


@pytest.mark.parametrize(
    "fields",
    [
        {"grant_type": "authorization_code", "code": "none", "code_verifier": VERIFIER},
        {"grant_type": "refresh_token", "refresh_token": "none"},
    ],
)
async def test_code_or_token_that_is_not_valid_is_an_invalid_grant(
    users: PublishingUsers, fields: dict[str, str]
) -> None:
    # RFC 6749 section 5.2.
    response = await send(
        users, "/oauth/token", {"client_id": await users.oauth.program(), **fields}
    )
    assert (response.status, response.json()["error"]) == (400, "invalid_grant")


async def test_json_is_no_form(users: PublishingUsers) -> None:
    response = await users.post("/oauth/token", {"grant_type": "authorization_code"})
    assert (response.status, response.json()["error"]) == (415, "invalid_request")


@pytest.mark.parametrize(
    ("document", "error"),
    [
        ({}, "invalid_redirect_uri"),
        ({**PROGRAM, "redirect_uris": ["http://client.example/"]}, "invalid_redirect_uri"),
        ({**PROGRAM, "grant_types": ["implicit"]}, "invalid_client_metadata"),
        ([], "invalid_request"),
    ],
)
async def test_program_that_can_not_be_served_is_not_registered(
    users: PublishingUsers, document: object, error: str
) -> None:
    response = await users.post("/oauth/register", document)
    assert (response.status, response.json()["error"]) == (400, error)


@pytest.mark.parametrize(
    ("metadata", "has"),
    [
        ({}, set()),
        ({"client_uri": "https://client.example/about"}, {"client_uri"}),
        (
            {"token_endpoint_auth_method": "client_secret_post"},
            {"client_secret", "client_secret_expires_at"},
        ),
    ],
)
async def test_registration_omits_what_the_program_does_not_have(
    users: PublishingUsers, metadata: dict[str, str], has: set[str]
) -> None:
    made = (await users.post("/oauth/register", {**PROGRAM, **metadata})).json()
    optional = {"client_uri", "client_secret", "client_secret_expires_at"}
    assert optional & set(made) == has
    assert None not in made.values()


async def test_floods_of_registrations_are_limited(users: PublishingUsers) -> None:
    for _ in range(30):
        assert (await users.post("/oauth/register", PROGRAM)).status == 201
    response = await users.post("/oauth/register", PROGRAM)
    assert (response.status, response.json()["error"]) == (429, "temporarily_unavailable")
    assert response.header("retry-after")


async def test_metadata_name_the_scopes_that_are_offered(users: PublishingUsers) -> None:
    found = (await users.get("/.well-known/oauth-protected-resource/mcp")).json()
    assert found["scopes_supported"] == ["notes:read", "notes:write"]
    assert found["resource"] == f"{URL}/mcp"


async def test_operations_are_missing_while_the_endpoint_is_off() -> None:
    methods = ["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"]
    with identity_fixture() as identity:
        application = UsersApi(identity, mcp=False).application
        for declared in contract_of([OAuthOperations, ConnectionOperations, McpOperations]):
            path = re.sub(r"\{\w+\}", "0198c0de-0000-7000-8000-000000000001", declared.path)
            for method in methods:
                response = await ask(application, method, path, body=[b"no document"])
                assert response.status == 404, (method, path)
                if method == "HEAD":
                    assert response.body == b""
                elif declared.errors is None:
                    assert response.json()["detail"] == OFF
                elif path == "/mcp":
                    assert response.json()["error"]["message"] == OFF
                else:
                    assert response.json()["error_description"] == OFF
            refused = await ask(application, "POST", path, headers=[(b"x-request-id", b"")])
            assert refused.status == 400
            problem = refused.header("content-type") == "application/problem+json"
            assert problem == (declared.errors is None), path
