"""Cases of programs: their registration, their access, and their messages."""

from urllib.parse import parse_qs, urlencode, urlsplit

import httpx

from octavo.model.oauth.pkce import challenge_of
from tests.e2e.operations.cases import produces
from tests.e2e.operations.identity import hasty
from tests.e2e.operations.world import UNKNOWN, Json, World

CALLBACK = "http://127.0.0.1:4711/callback"
VERIFIER = "v" * 43
PROGRAM = {
    "client_name": "A program",
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
    """What a new program asks for."""
    return {
        "response_type": "code",
        "client_id": registered(world)["client_id"],
        "redirect_uri": CALLBACK,
        "code_challenge": challenge_of(VERIFIER),
        "code_challenge_method": "S256",
        **changed,
    }


def decide(world: World, parameters: dict[str, str]) -> httpx.Response:
    return world.ask("POST", REQUESTS, json={"parameters": parameters, "allow": True})


def connected(world: World) -> tuple[str, httpx.Response]:
    """The id of a new program, and the response with its tokens."""
    parameters = asked(world)
    redirect = urlsplit(decide(world, parameters).json()["redirect"])
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
    response = manage(world, "PUT", {**PROGRAM, "client_name": "Renamed"})
    assert response.json()["client_name"] == "Renamed"
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
    connected(world)
    response = world.ask("GET", CONNECTIONS)
    assert response.json()["items"][0]["name"] == "A program"
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


@produces("describeAccessRequest", "invalid_client")
def request_of_nobody_described(world: World) -> httpx.Response:
    return describe(world, asked(world, client_id=UNKNOWN))


@produces("describeAccessRequest", "invalid_oauth_request")
def request_without_a_program_described(world: World) -> httpx.Response:
    return describe(world, {})


@produces("describeAccessRequest", "invalid_redirect_uri")
def request_for_another_address_described(world: World) -> httpx.Response:
    return describe(world, asked(world, redirect_uri="https://elsewhere.example/"))


@produces("describeAccessRequest", "program_refused")
def request_with_a_fault_described(world: World) -> httpx.Response:
    return describe(world, asked(world, response_type="token"))


@produces("decideAccessRequest", "200")
def request_allowed(world: World) -> httpx.Response:
    return decide(world, asked(world))


@produces("decideAccessRequest", "invalid_client")
def request_of_nobody_allowed(world: World) -> httpx.Response:
    return decide(world, asked(world, client_id=UNKNOWN))


@produces("decideAccessRequest", "invalid_oauth_request")
def request_without_a_program_allowed(world: World) -> httpx.Response:
    return decide(world, {})


@produces("decideAccessRequest", "invalid_redirect_uri")
def request_for_another_address_allowed(world: World) -> httpx.Response:
    return decide(world, asked(world, redirect_uri="https://elsewhere.example/"))


@produces("decideAccessRequest", "program_refused")
def request_with_a_fault_allowed(world: World) -> httpx.Response:
    return decide(world, asked(world, response_type="token"))


@produces("decideAccessRequest", "rate_limited")
def request_allowed_too_often(world: World) -> httpx.Response:
    body = {"parameters": asked(world), "allow": True}
    return world.ask("POST", REQUESTS, json=body, headers=hasty(world))


def send(world: World, message: Json) -> httpx.Response:
    """A message of a new program with access."""
    token = connected(world)[1].json()["access_token"]
    headers = {
        "authorization": f"Bearer {token}",
        "accept": "application/json, text/event-stream",
        "mcp-protocol-version": "2025-11-25",
    }
    return world.anybody("POST", "/mcp", json={"jsonrpc": "2.0", **message}, headers=headers)


@produces("serveMcp", "200")
def message_answered(world: World) -> httpx.Response:
    params = {"name": "list_workspaces", "arguments": {}}
    response = send(world, {"id": 1, "method": "tools/call", "params": params})
    assert response.json()["result"]["structuredContent"]["workspaces"]
    return response


@produces("serveMcp", "202")
def notification_accepted(world: World) -> httpx.Response:
    return send(world, {"method": "notifications/initialized"})
