"""The MCP endpoint over HTTP: what it accepts, and its refusals."""

import json

import pytest
from octavo_rules.problems import RateLimited

from octavo.access.caller import Caller
from octavo.features.mcp.api.mcp import (
    LONGEST_MESSAGE,
    McpOperations,
    accepts_json,
    challenge,
    token_missing,
    token_refused,
)
from octavo.features.mcp.tools import note_uri
from octavo.http.contract.application import Application
from octavo.http.contract.assembly import contract_of
from octavo.http.contract.call import Authenticator, Call
from octavo.http.contract.declared_responses import possible_problems
from octavo.http.contract.operation import Security
from octavo.model.usage import DownloadLimits, InstallationLimits
from tests.fakes.asgi_client import Response, ask
from tests.fakes.mcp_client import LEGACY, McpClient, meta
from tests.fakes.notes_api import NotesApi, opened

STATUSES = {400, 401, 403, 404, 405, 406, 408, 413, 415, 429, 500, 503}
METADATA = "https://notes.example.org/.well-known/oauth-protected-resource/mcp"
CHALLENGE = f'Bearer resource_metadata="{METADATA}", scope="notes:read"'
PING = {"jsonrpc": "2.0", "id": 1, "method": "ping"}


@pytest.fixture
def client(api: NotesApi) -> McpClient:
    return McpClient(api.application, version=LEGACY)


def mcp_error(response: Response, status: int) -> int:
    """The code of an McpError with this status, about no message."""
    assert response.status == status, response.body
    assert response.header("content-type") == "application/json"
    document = response.json()
    assert (document["jsonrpc"], document["id"]) == ("2.0", None)
    assert document["error"]["message"]
    code: int = document["error"]["code"]
    return code


def oauth_error(response: Response, status: int) -> str:
    """The code of an OAuthError with this status."""
    assert response.status == status, response.body
    document = response.json()
    assert set(document) == {"error", "error_description"}
    return str(document["error"])


def test_statuses_are_those_of_the_interface() -> None:
    declared = {each.id: each for each in contract_of([McpOperations])}
    served = {each.status for each in possible_problems(declared["serveMcp"])}
    assert served == STATUSES
    opening = {each.status for each in possible_problems(declared["openMcp"])}
    # Without a body none can stop.
    assert opening == STATUSES - {408}


async def test_session_of_an_earlier_revision(client: McpClient) -> None:
    result = await client.result(
        "initialize",
        protocolVersion="2025-06-18",
        capabilities={},
        clientInfo={"name": "a", "version": "1"},
    )
    assert result["protocolVersion"] == "2025-06-18"
    assert result["serverInfo"]["name"] == "octavo"
    assert set(result["capabilities"]) == {"tools", "resources", "completions"}
    accepted = await client.send({"jsonrpc": "2.0", "method": "notifications/initialized"})
    assert (accepted.status, accepted.body) == (202, b"")
    assert accepted.header("mcp-session-id") is None
    assert await client.result("ping") == {}


async def test_modern_revision_is_discovered(api: NotesApi) -> None:
    result = await McpClient(api.application).result("server/discover")
    assert result["supportedVersions"][0] == "2026-07-28"
    assert (result["resultType"], result["cacheScope"]) == ("complete", "public")
    assert result["_meta"]["io.modelcontextprotocol/serverInfo"]["name"] == "octavo"


@pytest.mark.parametrize(
    ("method", "scope", "is_kept"),
    [
        ("server/discover", "public", True),
        ("resources/templates/list", "public", True),
        # It depends on what the token may do.
        ("tools/list", "private", True),
        ("resources/list", "private", False),
    ],
)
async def test_caches_keep_and_share_what_is_the_same_for_everybody(
    api: NotesApi, method: str, scope: str, is_kept: bool
) -> None:
    result = await McpClient(api.application).result(method)
    assert (result["cacheScope"], result["ttlMs"] > 0) == (scope, is_kept)


async def test_note_is_kept_by_no_cache(api: NotesApi) -> None:
    note = await api.note("a.md", "text")
    uri = note_uri(api.workspace_id, note.id)
    result = await McpClient(api.application).result("resources/read", uri=uri)
    assert (result["cacheScope"], result["ttlMs"]) == ("private", 0)


async def test_response_is_one_json_document(client: McpClient) -> None:
    response = await client.send(PING)
    assert (response.status, response.header("content-type")) == (200, "application/json")
    assert response.header("cache-control") == "no-store"
    assert response.header("x-request-id") == "made-here"


async def test_error_of_a_method_is_an_answer(client: McpClient) -> None:
    response = await client.send({"jsonrpc": "2.0", "id": "a", "method": "prompts/list"})
    assert response.status == 200
    assert response.json()["id"] == "a"
    assert response.json()["error"]["code"] == -32601


async def test_unknown_method_is_404_since_the_modern_era(api: NotesApi) -> None:
    status, code, _ = await McpClient(api.application).error("prompts/list")
    assert (status, code) == (404, -32601)


async def test_unknown_tool_is_invalid_params(client: McpClient) -> None:
    assert await client.error("tools/call", name="mend") == (
        200,
        -32602,
        "There is no tool 'mend': list the tools.",
    )


async def test_error_about_a_message_has_its_id(api: NotesApi) -> None:
    client = McpClient(api.application)
    message = {**PING, "method": "tools/list", "params": {"_meta": meta()}}
    response = await client.send(message, mcp_method="tools/call")
    assert response.status == 400
    assert (response.json()["id"], response.json()["error"]["code"]) == (1, -32020)
    message["params"] = {"_meta": meta("2031-01-01")}
    response = await client.send(
        message, mcp_method="tools/list", mcp_protocol_version="2031-01-01"
    )
    assert response.json()["error"]["code"] == -32022
    assert response.json()["error"]["data"]["requested"] == "2031-01-01"


async def test_batch_is_answered_in_one_document(api: NotesApi) -> None:
    client = McpClient(api.application, version="2025-03-26")
    response = await client.send(
        [PING, {"jsonrpc": "2.0", "method": "any"}, {**PING, "id": 2, "method": "mend"}, 3]
    )
    assert response.status == 200
    assert [each["id"] for each in response.json()] == [1, 2, None]
    nothing = await client.send([{"jsonrpc": "2.0", "method": "any"}])
    assert (nothing.status, nothing.body) == (202, b"")


async def test_batch_is_refused_since_it_was_removed(client: McpClient) -> None:
    assert mcp_error(await client.send([PING]), 400) == -32600


@pytest.mark.parametrize("body", [b"", b"{", b"\xff", b'{"a": 1, "a": 2}', b"[NaN]", b"[" * 300])
async def test_body_that_is_no_json_is_a_parse_error(client: McpClient, body: bytes) -> None:
    assert mcp_error(await client.send(body), 400) == -32700


@pytest.mark.parametrize("body", [b"null", b"1", b"{}", b'{"jsonrpc": "2.0", "method": 1}'])
async def test_document_that_is_no_message_is_refused(client: McpClient, body: bytes) -> None:
    assert mcp_error(await client.send(body), 400) == -32600


async def test_invalid_request_id_is_refused(client: McpClient) -> None:
    assert mcp_error(await client.send(PING, x_request_id="an id"), 400) == -32600


async def test_token_is_required(api: NotesApi) -> None:
    response = await McpClient(api.application, token=None).send(PING)
    assert oauth_error(response, 401) == "invalid_token"
    assert response.header("www-authenticate") == CHALLENGE


def test_challenge_names_scope_and_error() -> None:
    assert challenge("https://notes.example.org") == (b"www-authenticate", CHALLENGE.encode())
    _, value = challenge("https://a.example", "a b", "invalid_token")
    assert value.decode() == (
        'Bearer error="invalid_token", '
        'resource_metadata="https://a.example/.well-known/oauth-protected-resource/mcp", '
        'scope="a b"'
    )


@pytest.mark.parametrize("state", ["locked", "due"])
async def test_account_that_is_locked_or_must_consent_is_refused(
    api: NotesApi, client: McpClient, state: str
) -> None:
    getattr(api.tokens, state).add("reader")
    response = await client.send(PING)
    mcp_error(response, 403)
    assert response.json()["error"]["data"] == {"code": "forbidden"}
    opened = await ask(
        api.application, "GET", "/mcp", headers=[(b"authorization", b"Bearer reader")]
    )
    mcp_error(opened, 403)


@pytest.mark.parametrize(
    "origin", ["https://evil.example", "null", "https://notes.example.org:444"]
)
@pytest.mark.parametrize("token", ["reader", None])
async def test_other_origin_is_refused(api: NotesApi, origin: str, token: str | None) -> None:
    client = McpClient(api.application, token=token)
    response = await client.send(PING, origin=origin)
    mcp_error(response, 403)
    assert response.json()["error"]["data"] == {"code": "wrong_origin"}
    opened = await ask(api.application, "GET", "/mcp", headers=[(b"origin", origin.encode())])
    mcp_error(opened, 403)


async def test_own_origin_is_accepted(client: McpClient) -> None:
    assert (await client.send(PING, origin="https://notes.example.org")).status == 200


@pytest.mark.parametrize("method", ["GET", "HEAD", "DELETE", "PUT"])
async def test_there_is_no_event_stream_and_no_session(api: NotesApi, method: str) -> None:
    headers = [(b"authorization", b"Bearer reader"), (b"accept", b"text/event-stream")]
    response = await ask(api.application, method, "/mcp", headers=headers)
    assert response.status == 405
    assert "POST" in str(response.header("allow"))
    if method != "HEAD":
        mcp_error(response, 405)


@pytest.mark.parametrize("accept", ["text/event-stream", "text/html", "application/json;q=0"])
async def test_client_that_accepts_no_json_is_refused(client: McpClient, accept: str) -> None:
    mcp_error(await client.send(PING, accept=accept), 406)


@pytest.mark.parametrize(
    ("accept", "accepted"),
    [
        ("application/json, text/event-stream", True),
        ("Application/JSON ; q=0.5", True),
        ("*/*", True),
        ("application/*", True),
        ("text/*, */*;q=0.1", True),
        ("*/*;q=0", False),
        ("application/json;q=0.000, */*", False),
        ("application/*;q=0, application/json", True),
        ("text/event-stream", False),
        ("", False),
        (";;,", False),
    ],
)
def test_accept_is_read(accept: str, accepted: bool) -> None:
    assert accepts_json(accept.encode()) is accepted


async def test_accept_may_be_omitted(client: McpClient) -> None:
    assert (await client.send(PING, accept=None)).status == 200


async def test_message_of_the_largest_size_is_accepted(client: McpClient) -> None:
    body = json.dumps(PING).encode()
    body += b" " * (LONGEST_MESSAGE - len(body))
    assert (await client.send(body)).status == 200
    mcp_error(await client.send(body + b" "), 413)


@pytest.mark.parametrize("media_type", ["text/plain", "application/x-www-form-urlencoded", None])
async def test_other_media_type_is_refused(client: McpClient, media_type: str | None) -> None:
    mcp_error(await client.send(PING, content_type=media_type), 415)


async def test_used_up_download_limit_is_429() -> None:
    async with opened(InstallationLimits(DownloadLimits(size=1))) as api:
        note = await api.note("a.md", "longer than one byte")
        uri = f"octavo://{api.workspace_id}/{note.id}"
        client = McpClient(api.application)
        response = await client.request("tools/call", name="fetch", arguments={"id": uri})
        mcp_error(response, 429)
        assert response.header("service-limit") == "installation-download-bytes"
        assert response.header("retry-after")
        mcp_error(await client.request("resources/read", uri=uri), 429)


async def test_database_that_is_away_is_503(api: NotesApi, client: McpClient) -> None:
    api.store.away = True
    response = await client.request("tools/call", name="list_workspaces", arguments={})
    assert mcp_error(response, 503) == -32603
    assert response.header("retry-after")


class Refusing:
    def __init__(self, error: Exception) -> None:
        self.error = error

    async def authenticate(self, call: Call) -> Caller:
        raise self.error


def application(authenticator: Authenticator) -> Application:
    async def never() -> None:
        raise AssertionError("nothing is loaded")

    return Application(
        [McpOperations(never)],  # type: ignore[arg-type]
        new_id=lambda: "made-here",
        log_request=lambda _: None,
        authenticators={Security.MCP: authenticator},
    )


async def test_failure_is_500() -> None:
    client = McpClient(application(Refusing(RuntimeError("a bug"))))
    assert mcp_error(await client.send(PING), 500) == -32603


async def test_too_many_attempts_are_429() -> None:
    client = McpClient(application(Refusing(RateLimited(retry_after=7))))
    response = await client.send(PING)
    mcp_error(response, 429)
    assert response.header("retry-after") == "7"


async def test_refused_token_is_told_apart() -> None:
    client = McpClient(application(Refusing(token_refused("https://notes.example.org"))))
    response = await client.send(PING)
    assert oauth_error(response, 401) == "invalid_token"
    expected = CHALLENGE.replace("Bearer ", 'Bearer error="invalid_token", ')
    assert response.header("www-authenticate") == expected


@pytest.mark.parametrize("method", ["POST", "GET"])
async def test_request_without_a_token_learns_where_to_get_one(method: str) -> None:
    response = await ask(
        application(Refusing(token_missing("https://notes.example.org"))), method, "/mcp"
    )
    assert oauth_error(response, 401) == "invalid_token"
    assert response.header("www-authenticate") == CHALLENGE


async def test_message_with_too_many_values_is_told_so(client: McpClient) -> None:
    values = b'{"jsonrpc": "2.0", "params": [' + b"0," * 25_000 + b"0]}"
    response = await client.send(values)
    assert mcp_error(response, 400) == -32700
    assert "more than 20,000 values" in response.json()["error"]["message"]
