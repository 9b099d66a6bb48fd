"""The programs that an account allowed access, and their requests."""

from collections.abc import Iterator
from urllib.parse import parse_qs, urlencode, urlsplit

import pytest

from octavo.features.oauth.rules.authorization_request import challenge_of
from octavo.model.access.account import State
from tests.fakes.asgi_client import Response
from tests.fakes.identity_fixture import identity_fixture
from tests.fakes.oauth_rig import CALLBACK, PROGRAM, VERIFIER
from tests.fakes.publishing_users import PublishingUsers
from tests.fakes.users_api import FROM_HERE

REQUESTS = "/api/account/access-requests"
CONNECTIONS = "/api/account/connections"
NOBODYS = "01900000-0000-7000-8000-ffffffffffff"


@pytest.fixture
def users() -> Iterator[PublishingUsers]:
    with identity_fixture() as identity:
        yield PublishingUsers(identity)


async def parameters(users: PublishingUsers, **changed: str) -> dict[str, str]:
    return {
        "response_type": "code",
        "client_id": await users.oauth.program(),
        "redirect_uri": CALLBACK,
        "code_challenge": challenge_of(VERIFIER),
        "code_challenge_method": "S256",
        "scope": "notes:read notes:write",
        **changed,
    }


async def test_request_is_described(users: PublishingUsers) -> None:
    _, cookie = await users.account()
    query = urlencode({**await parameters(users), "unknown": "ignored"})
    found = (await users.get(f"{REQUESTS}?{query}", cookie)).json()
    assert len(found.pop("fingerprint")) == 64
    assert found == {
        "name": "An assistant",
        "home": None,
        "redirectUri": CALLBACK,
        "redirectHost": "client.example",
        "leadsToThisDevice": False,
        "scopes": ["notes:read", "notes:write"],
    }


async def test_unknown_program_is_no_challenge_for_the_person(users: PublishingUsers) -> None:
    _, cookie = await users.account()
    given = await parameters(users, client_id=NOBODYS)
    described = await users.get(f"{REQUESTS}?{urlencode(given)}", cookie)
    decided = await users.post(REQUESTS, {"parameters": given, "allow": True}, cookie, FROM_HERE)
    for response in (described, decided):
        assert (response.status, response.json()["code"]) == (400, "invalid_oauth_request")
        assert response.header("www-authenticate") is None


@pytest.mark.parametrize("state", ["enabled", "locked"])
async def test_allowed_program_is_listed_and_revoked(users: PublishingUsers, state: State) -> None:
    account, cookie = await users.account()
    made = await users.post("/api/workspaces", {"name": "Kitchen"}, cookie, FROM_HERE)
    workspace = made.json()["id"]
    body = {
        "parameters": await parameters(users),
        "allow": True,
        "scopes": ["notes:read"],
        "workspaceIds": [workspace],
        "days": 30,
    }
    decided = await users.post(REQUESTS, body, cookie, FROM_HERE)
    assert "code" in parse_qs(urlsplit(decided.json()["redirect"]).query)
    await users.identity.set_state(account.account.account_id, state)
    [found] = (await users.get(CONNECTIONS, cookie)).json()["items"]
    assert (found["name"], found["scopes"]) == ("An assistant", ["notes:read"])
    assert found["workspaceIds"] == [workspace]
    assert found["expiresAt"] == "2027-02-14T08:00:00.000Z"
    place = f"{CONNECTIONS}/{found['id']}"
    _, other = await users.account("bob@example.org")
    assert (await users.delete(place, other, FROM_HERE)).status == 404
    assert (await users.delete(place, cookie, FROM_HERE)).status == 200
    assert (await users.delete(place, cookie, FROM_HERE)).status == 404
    assert (await users.get(CONNECTIONS, cookie)).json() == {"items": []}


async def test_workspace_of_others_can_not_be_chosen(users: PublishingUsers) -> None:
    _, cookie = await users.account()
    body = {
        "parameters": await parameters(users),
        "allow": True,
        "workspaceIds": [NOBODYS],
    }
    refused = await users.post(REQUESTS, body, cookie, FROM_HERE)
    assert (refused.status, refused.json()["errors"][0]["pointer"]) == (400, "/workspaceIds")


@pytest.mark.parametrize(
    "changed",
    [
        {"client_name": "Another assistant"},
        {"redirect_uris": ["https://evil.example/cb"]},
        {"client_uri": "https://elsewhere.example/"},
    ],
)
async def test_program_that_changes_after_it_was_shown_gets_nothing(
    users: PublishingUsers, changed: dict[str, object]
) -> None:
    _, cookie = await users.account()
    document = {**PROGRAM, "redirect_uris": ["https://honest.example/cb"]}
    made = await users.oauth.clients.register(document)
    client_id = made.client.client_id
    # The program names no redirect_uri: it has one.
    asked = await parameters(users, client_id=client_id)
    del asked["redirect_uri"]
    seen = (await users.get(f"{REQUESTS}?{urlencode(asked)}", cookie)).json()
    assert seen["redirectHost"] == "honest.example"
    decision = {"parameters": asked, "allow": True, "fingerprint": seen["fingerprint"]}
    await users.oauth.clients.change(
        client_id, made.management_token, {"client_id": client_id, **document, **changed}
    )
    refused = await users.post(REQUESTS, decision, cookie, FROM_HERE)
    assert (refused.status, refused.code) == (400, "invalid_oauth_request")
    assert (await users.get(CONNECTIONS, cookie)).json() == {"items": []}
    await users.oauth.clients.change(
        client_id, made.management_token, {"client_id": client_id, **document}
    )
    assert (await users.post(REQUESTS, decision, cookie, FROM_HERE)).status == 200


@pytest.mark.parametrize(("state", "status"), [("locked", 423), ("disabled", 401)])
async def test_account_that_is_not_enabled_allows_nothing(
    users: PublishingUsers, state: State, status: int
) -> None:
    made, cookie = await users.account()
    account_id = made.account.account_id
    asked = await parameters(users)
    await users.identity.set_state(account_id, state)
    body = {"parameters": asked, "allow": True}
    assert (await users.post(REQUESTS, body, cookie, FROM_HERE)).status == status
    assert (await users.get(f"{REQUESTS}?{urlencode(asked)}", cookie)).status == status
    assert await users.oauth.tokens.list(account_id) == []


async def test_refusal_of_a_person_is_sent_to_the_program(users: PublishingUsers) -> None:
    _, cookie = await users.account()
    body = {"parameters": await parameters(users), "allow": False}
    decided = await users.post(REQUESTS, body, cookie, FROM_HERE)
    assert "error=access_denied" in decided.json()["redirect"]


@pytest.mark.parametrize("step", ["describe", "decide"])
async def test_response_to_a_fault_leads_nowhere(users: PublishingUsers, step: str) -> None:
    _, cookie = await users.account()

    async def ask(**changed: str) -> Response:
        given = await parameters(users, **changed)
        if step == "describe":
            return await users.get(f"{REQUESTS}?{urlencode(given)}", cookie)
        return await users.post(REQUESTS, {"parameters": given, "allow": True}, cookie, FROM_HERE)

    for changed, code in (
        ({"response_type": "token"}, "invalid_oauth_request"),
        ({"code_challenge_method": "plain"}, "invalid_oauth_request"),
        ({"scope": "everything"}, "invalid_scope"),
        ({"resource": "https://evil.example/mcp"}, "invalid_target"),
        ({"redirect_uri": "https://evil.example/"}, "invalid_redirect_uri"),
    ):
        refused = await ask(**changed)
        assert (refused.status, refused.code) == (400, code)
        assert "redirect" not in refused.json()
        assert "client.example" not in refused.body.decode()


async def test_request_of_another_site_is_refused(users: PublishingUsers) -> None:
    _, cookie = await users.account()
    body = {"parameters": await parameters(users), "allow": True}
    evil = (b"origin", b"https://evil.example")
    assert (await users.post(REQUESTS, body, cookie, evil)).code == "wrong_origin"
