"""Programs get access by the authorization server, over sockets."""

import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from html import unescape
from urllib.parse import parse_qs, urlencode, urlsplit

import httpx
import pytest

from octavo.features.oauth.rules.authorization_request import challenge_of
from tests.e2e.octavo_process import PUBLIC, data_folder, running
from tests.e2e.people import Person, client, settle

CALLBACK = "http://127.0.0.1:3000/callback"
VERIFIER = "v" * 43


@dataclass(frozen=True)
class Flow:
    """A server, a person, and a registered program."""

    http: httpx.Client
    person: Person
    client_id: str

    def query(self, **changed: str) -> str:
        return urlencode(
            {
                "response_type": "code",
                "client_id": self.client_id,
                "redirect_uri": CALLBACK,
                "code_challenge": challenge_of(VERIFIER),
                "code_challenge_method": "S256",
                "resource": f"{PUBLIC}/mcp",
                "scope": "notes:read notes:write",
                "state": "a state",
                **changed,
            }
        )

    def decide(self, choice: dict[str, str], **changed: str) -> httpx.Response:
        """Allow access on the page of consent, or make another choice."""
        path = f"/oauth/authorize?{self.query(**changed)}"
        page = self.http.get(path, headers={"cookie": self.person.cookie})
        assert page.status_code == 200, page.text
        fields = dict(re.findall(r'<input type="hidden" name="([^"]+)" value="([^"]*)"', page.text))
        [action] = re.findall(r'<form class="card" method="post" action="([^"]+)"', page.text)
        return self.http.post(
            unescape(action),
            data={**fields, "decision": "allow", "workspaces": "all", **choice},
            headers={**self.person.by_cookie, "origin": PUBLIC},
        )

    def allow(self, choice: dict[str, str] | None = None, **changed: str) -> dict[str, list[str]]:
        """Allow access; return the response that the program gets."""
        answer = self.decide(choice or {}, **changed)
        assert answer.status_code == 303, answer.text
        assert answer.headers["location"].startswith(CALLBACK)
        return parse_qs(urlsplit(answer.headers["location"]).query)

    def token(self, **fields: str) -> httpx.Response:
        return self.http.post("/oauth/token", data={"client_id": self.client_id, **fields})

    def exchange(self, code: str, **changed: str) -> httpx.Response:
        fields = {
            "grant_type": "authorization_code",
            "code": code,
            "code_verifier": VERIFIER,
            "redirect_uri": CALLBACK,
            "resource": f"{PUBLIC}/mcp",
            **changed,
        }
        return self.token(**fields)


@pytest.fixture(scope="module")
def flow() -> Iterator[Flow]:
    with (
        data_folder() as folder,
        running(folder, "--mcp", "true", "--mcp-write", "true") as octavo,
        client(octavo.url) as http,
    ):
        person = settle(octavo)
        made = http.post(
            "/oauth/register",
            json={
                "client_name": "An assistant",
                "redirect_uris": ["http://127.0.0.1/callback"],
                "token_endpoint_auth_method": "none",
            },
        )
        assert made.status_code == 201, made.text
        yield Flow(http, person, made.json()["client_id"])


def test_program_finds_the_authorization_server(flow: Flow) -> None:
    for path in ("", "/mcp"):
        found = flow.http.get(f"/.well-known/oauth-protected-resource{path}").json()
        assert found["resource"] == f"{PUBLIC}/mcp"
        assert found["authorization_servers"] == [PUBLIC]
    server = flow.http.get("/.well-known/oauth-authorization-server").json()
    assert server["issuer"] == PUBLIC
    assert server["code_challenge_methods_supported"] == ["S256"]
    assert server["token_endpoint"] == f"{PUBLIC}/oauth/token"


def test_program_gets_tokens_for_what_a_person_allowed(flow: Flow) -> None:
    response = flow.allow({"write": "on", "days": "30"})
    assert (response["state"], response["iss"]) == (["a state"], [PUBLIC])
    tokens = flow.exchange(response["code"][0])
    assert tokens.status_code == 200, tokens.text
    found = tokens.json()
    assert (found["token_type"], found["expires_in"]) == ("Bearer", 3600)
    assert found["scope"] == "notes:read notes:write"
    assert tokens.headers["cache-control"] == "no-store"
    renewed = flow.token(grant_type="refresh_token", refresh_token=found["refresh_token"])
    assert renewed.status_code == 200, renewed.text
    assert renewed.json()["refresh_token"] != found["refresh_token"]
    listed = flow.http.get("/api/account/connections", headers=flow.person.by_key).json()["items"]
    assert listed[0]["name"] == "An assistant"
    assert listed[0]["expiresAt"] is not None
    shown = flow.http.get("/account/connections", headers=flow.person.by_cookie).text
    assert "An assistant" in shown


def test_person_may_allow_less_than_the_program_asks_for(flow: Flow) -> None:
    tokens = flow.exchange(flow.allow()["code"][0]).json()
    assert tokens["scope"] == "notes:read"


def test_program_that_removes_itself_is_refused_at_once(flow: Flow) -> None:
    callback = "http://127.0.0.1/callback"
    document = {"redirect_uris": [callback], "token_endpoint_auth_method": "none"}
    made = flow.http.post("/oauth/register", json=document).json()
    other = replace(flow, client_id=made["client_id"])
    token = other.exchange(other.allow()["code"][0]).json()["access_token"]
    message = {"jsonrpc": "2.0", "id": 1, "method": "tools/list"}
    headers = {"accept": "application/json, text/event-stream"}

    def call() -> int:
        by = {**headers, "authorization": f"Bearer {token}"}
        return flow.http.post("/mcp", json=message, headers=by).status_code

    assert call() == 200
    managed = {"authorization": f"Bearer {made['registration_access_token']}"}
    place = urlsplit(made["registration_client_uri"]).path
    assert flow.http.delete(place, headers=managed).status_code == 204
    assert call() == 401


def test_code_that_is_used_again_ends_the_grant(flow: Flow) -> None:
    code = flow.allow()["code"][0]
    tokens = flow.exchange(code).json()
    again = flow.exchange(code)
    assert (again.status_code, again.json()["error"]) == (400, "invalid_grant")
    renewed = flow.token(grant_type="refresh_token", refresh_token=tokens["refresh_token"])
    assert renewed.json()["error"] == "invalid_grant"


def test_refresh_token_that_is_used_again_ends_the_grant(flow: Flow) -> None:
    tokens = flow.exchange(flow.allow()["code"][0]).json()
    renewed = flow.token(grant_type="refresh_token", refresh_token=tokens["refresh_token"]).json()
    again = flow.token(grant_type="refresh_token", refresh_token=tokens["refresh_token"])
    assert again.json()["error"] == "invalid_grant"
    last = flow.token(grant_type="refresh_token", refresh_token=renewed["refresh_token"])
    assert last.json()["error"] == "invalid_grant"


@pytest.mark.parametrize(
    ("changed", "error"),
    [
        ({"code_verifier": "w" * 43}, "invalid_grant"),
        ({"redirect_uri": "http://127.0.0.1:3001/callback"}, "invalid_grant"),
        ({"resource": "https://other.example/mcp"}, "invalid_target"),
        ({"grant_type": "password"}, "unsupported_grant_type"),
        ({"client_id": "https://other.example/client.json"}, "invalid_grant"),
        ({"client_id": "unknown"}, "invalid_client"),
        ({"client_secret": "a secret"}, "invalid_client"),
    ],
)
def test_stolen_code_is_worth_nothing(flow: Flow, changed: dict[str, str], error: str) -> None:
    code = flow.allow()["code"][0]
    refused = flow.exchange(code, **changed)
    assert refused.json()["error"] == error, refused.text
    assert refused.status_code == (401 if error == "invalid_client" else 400)
    assert refused.headers["content-type"] == "application/json"


def test_cursor_registers_and_gets_tokens(flow: Flow) -> None:
    uri = "cursor://anysphere.cursor-mcp/oauth/callback"
    document = {
        "client_name": "Cursor",
        "redirect_uris": [uri],
        "grant_types": ["authorization_code", "refresh_token"],
        "response_types": ["code"],
        "token_endpoint_auth_method": "none",
    }
    made = flow.http.post("/oauth/register", json=document)
    assert made.status_code == 201, made.text
    cursor = Flow(flow.http, flow.person, made.json()["client_id"])
    answer = cursor.decide({}, redirect_uri=uri)
    assert answer.status_code == 303
    address = answer.headers["location"]
    assert address.startswith(f"{uri}?")
    tokens = cursor.exchange(parse_qs(urlsplit(address).query)["code"][0], redirect_uri=uri)
    assert tokens.status_code == 200, tokens.text


def test_person_that_refuses_is_not_redirected(flow: Flow) -> None:
    page = flow.decide({"decision": "deny"})
    assert (page.status_code, "location" in page.headers) == (200, False)
    [address] = re.findall(f'href="({CALLBACK}[^"]*)"', page.text)
    response = parse_qs(urlsplit(unescape(address)).query)
    assert (response["error"], response["iss"]) == (["access_denied"], [PUBLIC])
    assert "code" not in response


def test_page_of_consent_lets_its_form_lead_to_the_program_only(flow: Flow) -> None:
    path = f"/oauth/authorize?{flow.query()}"
    page = flow.http.get(path, headers={"cookie": flow.person.cookie})
    policy = page.headers["content-security-policy"]
    assert "form-action 'self' http://127.0.0.1:3000;" in policy
    assert "frame-ancestors 'none'" in policy
    assert "<script" not in page.text


def test_stranger_signs_in_first(flow: Flow) -> None:
    answer = flow.http.get(f"/oauth/authorize?{flow.query()}")
    assert answer.status_code == 303
    assert answer.headers["location"].startswith("/sign-in?next=/oauth/authorize")


@pytest.mark.parametrize(
    "changed",
    [
        {"redirect_uri": "https://evil.example/"},
        {"redirect_uri": "http://127.0.0.1:3000/other"},
        {"client_id": "0190a0b0-0000-7000-8000-00000000000a"},
        {"client_id": "https://127.0.0.1/client.json"},
        {"code_challenge_method": "plain"},
    ],
)
def test_request_that_can_not_be_answered_is_shown_to_the_person(
    flow: Flow, changed: dict[str, str]
) -> None:
    path = f"/oauth/authorize?{flow.query(**changed)}"
    answer = flow.http.get(path, headers={"cookie": flow.person.cookie})
    assert answer.status_code in (400, 401)
    assert "location" not in answer.headers
    assert "evil" not in answer.text


def test_form_of_another_site_allows_nothing(flow: Flow) -> None:
    answer = flow.http.post(
        f"/oauth/authorize?{flow.query()}",
        data={"decision": "allow", "workspaces": "all"},
        headers={**flow.person.by_cookie, "origin": "https://evil.example"},
    )
    assert answer.status_code == 403
    without = flow.http.post(
        f"/oauth/authorize?{flow.query()}",
        data={"decision": "allow", "workspaces": "all"},
        headers={**flow.person.by_cookie, "origin": PUBLIC},
    )
    assert without.status_code == 403


def test_registration_is_managed_by_its_token(flow: Flow) -> None:
    body = {"redirect_uris": ["https://client.example/cb"], "client_name": "Managed"}
    made = flow.http.post("/oauth/register", json=body).json()
    assert made["client_secret"]
    assert made["client_secret_expires_at"] == 0
    path = urlsplit(made["registration_client_uri"]).path
    by_token = {"authorization": f"Bearer {made['registration_access_token']}"}
    assert flow.http.get(path, headers=by_token).json()["client_name"] == "Managed"
    other = {"authorization": "Bearer " + "x" * 43}
    assert flow.http.get(path, headers=other).json()["error"] == "invalid_client"
    changed = {**body, "client_id": made["client_id"], "client_name": "Renamed"}
    assert flow.http.put(path, json=changed, headers=by_token).json()["client_name"] == "Renamed"
    assert flow.http.delete(path, headers=by_token).status_code == 204
    assert flow.http.get(path, headers=by_token).status_code == 401


def test_token_is_revoked_by_its_program(flow: Flow) -> None:
    tokens = flow.exchange(flow.allow()["code"][0]).json()
    body = {"client_id": flow.client_id, "token": tokens["refresh_token"]}
    assert flow.http.post("/oauth/revoke", data=body).status_code == 200
    renewed = flow.token(grant_type="refresh_token", refresh_token=tokens["refresh_token"])
    assert renewed.json()["error"] == "invalid_grant"
    unknown = {"client_id": flow.client_id, "token": "unknown"}
    assert flow.http.post("/oauth/revoke", data=unknown).status_code == 200


def test_access_token_is_for_the_endpoint_alone(flow: Flow) -> None:
    tokens = flow.exchange(flow.allow()["code"][0]).json()
    by_token = {"authorization": f"Bearer {tokens['access_token']}"}
    assert flow.http.get("/api/workspaces", headers=by_token).json()["code"] == "key_refused"


def call(flow: Flow, token: str, tool: str, **arguments: object) -> httpx.Response:
    message = {"name": tool, "arguments": arguments}
    return flow.http.post(
        "/mcp",
        json={"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": message},
        headers={
            "authorization": f"Bearer {token}",
            "accept": "application/json, text/event-stream",
            "mcp-protocol-version": "2025-11-25",
        },
    )


def content(response: httpx.Response) -> dict[str, object]:
    assert response.status_code == 200, response.text
    result = response.json()["result"]
    assert not result.get("isError"), result
    found: dict[str, object] = result["structuredContent"]
    return found


def workspace(flow: Flow, name: str) -> str:
    made = flow.http.post("/api/workspaces", json={"name": name}, headers=flow.person.by_key)
    found: str = made.json()["id"]
    return found


def test_program_changes_notes_in_its_own_name(flow: Flow) -> None:
    base = workspace(flow, "Written by a program")
    token = flow.exchange(flow.allow({"write": "on"})["code"][0]).json()["access_token"]
    given = {"workspace_id": base, "path": "tea.md", "text": "# Tea"}
    content(call(flow, token, "create_note", **given))
    listed = flow.http.get(f"/api/workspaces/{base}/files", headers=flow.person.by_key).json()
    [note] = listed["items"]
    path = f"/api/workspaces/{base}/files/{note['id']}/revisions"
    [revision] = flow.http.get(path, headers=flow.person.by_key).json()["items"]
    assert revision["origin"] == "mcp"


def test_program_that_may_read_does_not_write(flow: Flow) -> None:
    base = workspace(flow, "Read by a program")
    token = flow.exchange(flow.allow()["code"][0]).json()["access_token"]
    refused = call(flow, token, "create_note", workspace_id=base, path="tea.md", text="# Tea")
    assert (refused.status_code, refused.json()["error"]) == (403, "insufficient_scope")
    assert "notes:write" in refused.headers["www-authenticate"]


def test_program_sees_the_chosen_workspaces_alone(flow: Flow) -> None:
    chosen, other = workspace(flow, "Chosen"), workspace(flow, "Other")
    choice = {"workspaces": "chosen", f"workspace-{chosen}": "on"}
    token = flow.exchange(flow.allow(choice)["code"][0]).json()["access_token"]
    found = str(content(call(flow, token, "list_workspaces")))
    assert chosen in found
    assert other not in found
    refused = call(flow, token, "list_notes", workspace_id=other).json()["result"]
    assert refused["isError"]


def test_access_that_a_person_ends_is_refused_at_once(flow: Flow) -> None:
    token = flow.exchange(flow.allow()["code"][0]).json()["access_token"]
    content(call(flow, token, "list_workspaces"))
    listed = flow.http.get("/api/account/connections", headers=flow.person.by_key).json()["items"]
    path = f"/api/account/connections/{listed[0]['id']}"
    assert flow.http.delete(path, headers=flow.person.by_key).status_code == 200
    refused = call(flow, token, "list_workspaces")
    assert (refused.status_code, refused.json()["error"]) == (401, "invalid_token")
    assert "resource_metadata=" in refused.headers["www-authenticate"]


def test_key_and_session_are_no_access_tokens(flow: Flow) -> None:
    key = flow.person.by_key["authorization"].removeprefix("Bearer ")
    assert call(flow, key, "list_workspaces").status_code == 401


def test_everything_is_missing_while_the_endpoint_is_off() -> None:
    with data_folder() as folder, running(folder) as octavo, client(octavo.url) as http:
        person = settle(octavo)
        for path in (
            "/.well-known/oauth-protected-resource",
            "/.well-known/oauth-protected-resource/mcp",
            "/.well-known/oauth-authorization-server",
            "/oauth/authorize",
            "/account/connections",
            "/api/account/connections",
        ):
            assert http.get(path, headers=person.by_cookie).status_code == 404, path
        body = {"redirect_uris": ["https://client.example/cb"]}
        assert http.post("/oauth/register", json=body).status_code == 404
        assert http.post("/oauth/token", data={"grant_type": "x"}).status_code == 404
