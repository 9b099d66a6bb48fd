"""Cases of programs: their registration, their access, and their messages."""

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from urllib.parse import parse_qs, urlencode, urlsplit

import httpx

from octavo.features.oauth.rules.authorization_request import challenge_of
from octavo.model.files.changeset import MAX_OPERATIONS
from tests.e2e.operations.cases import produces
from tests.e2e.operations.common import sent_in_part
from tests.e2e.operations.identity import hasty
from tests.e2e.operations.usage import Limited, person
from tests.e2e.operations.world import UNKNOWN, Json, World, fresh_id

CALLBACK = "http://127.0.0.1:4711/callback"
VERIFIER = "dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk"
PROGRAM = {
    "client_name": "Meal planner",
    "redirect_uris": [CALLBACK],
    "token_endpoint_auth_method": "none",
}
REQUESTS = "/api/account/access-requests"
CONNECTIONS = "/api/account/connections"


def registered(world: World) -> Json:
    """A new program."""
    found: Json = world.anybody("POST", "/oauth/register", json=PROGRAM).json()
    return found


def asked(world: World, **changed: str) -> dict[str, str]:
    """What a new program asks for, by default everything."""
    return {
        "response_type": "code",
        "client_id": registered(world)["client_id"],
        "redirect_uri": CALLBACK,
        "code_challenge": challenge_of(VERIFIER),
        "code_challenge_method": "S256",
        "scope": "notes:read notes:write",
        "state": "af0ifjsldkj",
        **changed,
    }


def decide(
    world: World,
    parameters: dict[str, str],
    ask: Callable[..., httpx.Response] | None = None,
    **more: object,
) -> httpx.Response:
    """Allow access, as the owner or as who asks by ``ask``."""
    body = {"parameters": parameters, "allow": True, **more}
    return (ask or world.ask)("POST", REQUESTS, json=body)


def connected(
    world: World, ask: Callable[..., httpx.Response] | None = None
) -> tuple[str, httpx.Response]:
    """The id of a new program, and the response with its tokens."""
    parameters = asked(world)
    redirect = urlsplit(decide(world, parameters, ask).json()["redirect"])
    fields = {
        "grant_type": "authorization_code",
        "client_id": parameters["client_id"],
        "code": parse_qs(redirect.query)["code"][0],
        "code_verifier": VERIFIER,
        "redirect_uri": CALLBACK,
    }
    return parameters["client_id"], world.anybody("POST", "/oauth/token", data=fields)


@produces("getRootMcpMetadata", "200")
def root_metadata_read(world: World) -> httpx.Response:
    return world.anybody("GET", "/.well-known/oauth-protected-resource")


@produces("getMcpMetadata", "200")
def metadata_read(world: World) -> httpx.Response:
    return world.anybody("GET", "/.well-known/oauth-protected-resource/mcp")


@produces("getAuthorizationServer", "200")
def authorization_server_read(world: World) -> httpx.Response:
    return world.anybody("GET", "/.well-known/oauth-authorization-server")


@produces("registerClient", "201")
def program_registered(world: World) -> httpx.Response:
    return world.anybody("POST", "/oauth/register", json=PROGRAM)


def manage(world: World, method: str, body: Json | None = None) -> httpx.Response:
    """Read, change or remove the registration of a new program."""
    made = registered(world)
    headers = {"authorization": f"Bearer {made['registration_access_token']}"}
    path = urlsplit(made["registration_client_uri"]).path
    given = None if body is None else {"client_id": made["client_id"], **body}
    return world.anybody(method, path, headers=headers, json=given)


@produces("getClient", "200")
def registration_read(world: World) -> httpx.Response:
    return manage(world, "GET")


@produces("updateClient", "200")
def registration_changed(world: World) -> httpx.Response:
    response = manage(world, "PUT", {**PROGRAM, "client_name": "Weekly meal planner"})
    assert response.json()["client_name"] == "Weekly meal planner"
    return response


@produces("removeClient", "204")
def registration_removed(world: World) -> httpx.Response:
    return manage(world, "DELETE")


@produces("issueToken", "200")
def token_issued(world: World) -> httpx.Response:
    return connected(world)[1]


@produces("revokeToken", "200")
def token_revoked(world: World) -> httpx.Response:
    client_id, tokens = connected(world)
    fields = {"client_id": client_id, "token": tokens.json()["refresh_token"]}
    return world.anybody("POST", "/oauth/revoke", data=fields)


@produces("listConnections", "200")
def connections_listed(world: World) -> httpx.Response:
    me = person(world)
    connected(world, me.ask)
    response = me.ask("GET", CONNECTIONS)
    assert response.json()["items"][0]["name"] == "Meal planner"
    return response


@produces("revokeConnection", "200")
def connection_revoked(world: World) -> httpx.Response:
    connected(world)
    found = world.ask("GET", CONNECTIONS).json()["items"][0]
    return world.ask("DELETE", f"{CONNECTIONS}/{found['id']}")


@produces("revokeConnection", "not_found")
def unknown_connection_revoked(world: World) -> httpx.Response:
    return world.ask("DELETE", f"{CONNECTIONS}/{UNKNOWN}")


def describe(world: World, parameters: dict[str, str]) -> httpx.Response:
    return world.ask("GET", f"{REQUESTS}?{urlencode(parameters)}")


@produces("describeAccessRequest", "200")
def request_described(world: World) -> httpx.Response:
    return describe(world, asked(world))


@produces("describeAccessRequest", "invalid_oauth_request")
def request_without_a_program_described(world: World) -> httpx.Response:
    return describe(world, {})


@produces("describeAccessRequest", "invalid_redirect_uri")
def request_for_another_address_described(world: World) -> httpx.Response:
    return describe(world, asked(world, redirect_uri="https://elsewhere.example/"))


@produces("describeAccessRequest", "invalid_scope")
def request_for_an_unknown_scope_described(world: World) -> httpx.Response:
    return describe(world, asked(world, scope="everything"))


@produces("describeAccessRequest", "invalid_target")
def request_for_another_target_described(world: World) -> httpx.Response:
    return describe(world, asked(world, resource="https://elsewhere.example/mcp"))


@produces("decideAccessRequest", "200")
def request_allowed(world: World) -> httpx.Response:
    parameters = asked(world)
    decision: Json = {"scopes": ["notes:read"], "workspaceIds": [world.workspace], "days": 90}
    fingerprint = describe(world, parameters).json()["fingerprint"]
    return decide(world, parameters, **decision, fingerprint=fingerprint)


@produces("decideAccessRequest", "invalid_oauth_request")
def request_without_a_program_allowed(world: World) -> httpx.Response:
    return decide(world, {})


@produces("decideAccessRequest", "invalid_redirect_uri")
def request_for_another_address_allowed(world: World) -> httpx.Response:
    return decide(world, asked(world, redirect_uri="https://elsewhere.example/"))


@produces("decideAccessRequest", "invalid_scope")
def request_for_an_unknown_scope_allowed(world: World) -> httpx.Response:
    return decide(world, asked(world, scope="everything"))


@produces("decideAccessRequest", "invalid_target")
def request_for_another_target_allowed(world: World) -> httpx.Response:
    return decide(world, asked(world, resource="https://elsewhere.example/mcp"))


@produces("decideAccessRequest", "rate_limited")
def request_allowed_too_often(world: World) -> httpx.Response:
    body = {"parameters": asked(world), "allow": True}
    return world.ask("POST", REQUESTS, json=body, headers=hasty(world))


def send(world: World, message: Json) -> httpx.Response:
    """A message of a new program with access."""
    return send_as(connected(world)[1].json()["access_token"], world, message)


def send_as(token: str, world: World, message: Json) -> httpx.Response:
    headers = {
        "authorization": f"Bearer {token}",
        "accept": "application/json, text/event-stream",
        "mcp-protocol-version": "2025-11-25",
    }
    return world.anybody("POST", "/mcp", json={"jsonrpc": "2.0", **message}, headers=headers)


@produces("serveMcp", "200")
def message_answered(world: World) -> httpx.Response:
    params = {"name": "list_workspaces", "arguments": {}}
    token = connected(world, person(world).ask)[1].json()["access_token"]
    response = send_as(token, world, {"id": 1, "method": "tools/call", "params": params})
    assert response.json()["result"]["structuredContent"]["workspaces"]
    return response


@produces("serveMcp", "202")
def notification_accepted(world: World) -> httpx.Response:
    return send(world, {"method": "notifications/initialized"})


@produces("serveMcp", "body_timeout")
def message_that_stops(world: World) -> httpx.Response:
    token = connected(world)[1].json()["access_token"]
    sender = {"authorization": f"Bearer {token}"}
    return sent_in_part(world, "POST", "/mcp", "application/json", b"{", sender)


def changed_by_program(world: World, text: str = "By a program.") -> tuple[str, Json]:
    """The client id of a new program, and a note whose text it has replaced."""
    client_id, tokens = connected(world)
    note = world.note("By a person.")
    arguments = {
        "note_id": f"octavo://{world.workspace}/{note['fileId']}",
        "revision_id": note["revision"]["id"],
        "text": text,
    }
    params = {"name": "update_note", "arguments": arguments}
    token = tokens.json()["access_token"]
    message: Json = {"id": 1, "method": "tools/call", "params": params}
    changed = send_as(token, world, message).json()["result"]
    assert not changed["isError"], changed
    return client_id, note


def recently() -> str:
    return (datetime.now(UTC) - timedelta(days=1)).isoformat()


def undo(world: World, client_id: str, **more: object) -> httpx.Response:
    body = {"client": client_id, "since": recently(), **more}
    return world.ask("POST", f"{world.base}/undo", json=body)


@produces("listClientChanges", "200")
def programs_with_changes_listed(world: World) -> httpx.Response:
    client_id, note = changed_by_program(world)
    response = world.ask("GET", f"{world.base}/clients")
    found = {each["client"]: each["name"] for each in response.json()["items"]}
    assert found[client_id] == "Meal planner"
    [newest, _] = world.ask("GET", f"{world.file(note)}/revisions").json()["items"]
    assert (newest["origin"], newest["client"]) == (
        "mcp",
        {"id": client_id, "name": "Meal planner"},
    )
    return response


@produces("listClientChanges", "insufficient_scope")
def programs_listed_with_a_key_of_a_folder(world: World) -> httpx.Response:
    given = {"name": "folder", "scopes": ["notes:read"], "folder": "a"}
    limited = person(world)
    workspace_id = limited.base.rpartition("/")[2]
    body = {**given, "workspaceIds": [workspace_id]}
    key = limited.ask("POST", "/api/account/keys", json=body).json()["secret"]
    headers = {"authorization": f"Bearer {key}"}
    return world.anybody("GET", f"{limited.base}/clients", headers=headers)


@produces("getUndo", "200")
def undo_previewed(world: World) -> httpx.Response:
    client_id, note = changed_by_program(world)
    query = urlencode({"client": client_id, "since": recently()})
    response = world.ask("GET", f"{world.base}/undo?{query}")
    assert [each["fileId"] for each in response.json()["changes"]] == [note["fileId"]]
    return response


@produces("undoClientChanges", "200")
def changes_of_program_undone(world: World) -> httpx.Response:
    client_id, note = changed_by_program(world)
    listed = world.ask("GET", f"{world.base}/clients").json()["items"]
    assert [each["undone"] for each in listed if each["client"] == client_id] == [False]
    response = undo(world, client_id)
    listed = world.ask("GET", f"{world.base}/clients").json()["items"]
    assert [each["undone"] for each in listed if each["client"] == client_id] == [True]
    text = world.ask("GET", world.file(note), params={"content": "text"}).json()["text"]
    assert text == "By a person."
    return response


@produces("undoClientChanges", "mutation_reused")
def changes_undone_with_a_mutation_that_was_used(world: World) -> httpx.Response:
    client_id, note = changed_by_program(world)
    return undo(world, client_id, mutationId=note["revision"]["mutationId"])


@produces("undoClientChanges", "storage_limit")
def changes_undone_without_room(world: World) -> httpx.Response:
    limited = person(world)
    note = limited.note("x" * 10)
    client_id, tokens = connected(world, limited.ask)
    arguments = {
        "note_id": f"octavo://{limited.base.rpartition('/')[2]}/{note['fileId']}",
        "revision_id": note["revision"]["id"],
        "text": "x",
    }
    params = {"name": "update_note", "arguments": arguments}
    message: Json = {"id": 1, "method": "tools/call", "params": params}
    assert send_as(tokens.json()["access_token"], world, message).status_code == 200
    limited.limit(storageBytes=5)
    body = {"client": client_id, "since": recently()}
    return limited.ask("POST", f"{limited.base}/undo", json=body)


def too_many_changed(world: World) -> tuple[Limited, Json]:
    """A person, and the undo of a program that has created more notes than one undo takes back."""
    limited = person(world)
    client_id, _ = connected(world, limited.ask)
    for count in (MAX_OPERATIONS, 1):
        made = [
            {
                "op": "create",
                "fileId": fresh_id(),
                "path": f"{client_id}/{fresh_id()}.md",
                "text": "",
            }
            for _ in range(count)
        ]
        given = {"mutationId": fresh_id(), "operations": made}
        assert limited.ask("POST", f"{limited.base}/changesets", json=given).status_code == 200
    # The helper stores a quoted id as the bytes of the id.
    program = f"(SELECT pk FROM oauth_programs WHERE client LIKE '{client_id}%')"
    world.change(f"UPDATE files SET program = {program} WHERE path LIKE '{client_id}/%'")
    return limited, {"client": client_id, "since": recently()}


@produces("undoClientChanges", "too_many_files")
def too_many_changes_undone(world: World) -> httpx.Response:
    limited, body = too_many_changed(world)
    return limited.ask("POST", f"{limited.base}/undo", json=body)


@produces("getUndo", "too_many_files")
def undo_of_too_many_changes_previewed(world: World) -> httpx.Response:
    limited, body = too_many_changed(world)
    return limited.ask("GET", f"{limited.base}/undo?{urlencode(body)}")
