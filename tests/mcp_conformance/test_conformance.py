"""A server passes the checks of the conformance suite that apply to it.

The suite is written for a reference server, with tools, prompts and resources of given names; the
checks that need these fail, and are listed with the reason.
"""

from collections.abc import Iterator
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

import httpx
import pytest

from octavo.features.oauth.rules.authorization_request import challenge_of
from tests.e2e.octavo_process import PUBLIC, data_folder, running
from tests.e2e.people import Person, client, settle
from tests.mcp_conformance import suite
from tests.mcp_conformance.proxy import proxy
from tests.mcp_conformance.suite import NEXT, STABLE, missing, results

CALLBACK = "http://127.0.0.1:3000/callback"
VERIFIER = "v" * 43

NO_SUCH_TOOL = {
    "json-schema-2020-12-tool-found",
    *(
        f"tools-call-{each}"
        for each in ("audio", "embedded-resource", "error", "image", "mixed-content")
    ),
    "tools-call-simple-text",
    "tools-call-with-progress",
}
"""Need tools of the reference server."""
NO_SUCH_RESOURCE = {"resources-read-binary", "resources-read-text", "resources-templates-read"}
"""Need resources of the reference server; notes have URIs of their own."""
NO_PROMPTS = {
    "prompts-list",
    *(f"prompts-get-{each}" for each in ("embedded-resource", "simple", "with-args", "with-image")),
    "completion-complete",
}
"""Need prompts, also to complete their arguments; Octavo has none, and declares none."""
EXPECTED = {
    "2025-11-25": {
        *NO_SUCH_TOOL,
        *NO_SUCH_RESOURCE,
        *NO_PROMPTS,
        # Need tools of the reference server that send requests to the client.
        "elicitation-sep1034-general",
        "elicitation-sep1330-general",
        "tools-call-elicitation",
        "tools-call-sampling",
        # Need log messages and subscriptions: capabilities that Octavo does not declare.
        "logging-set-level",
        "tools-call-with-logging",
        "resources-subscribe",
        "resources-unsubscribe",
    },
    "2026-07-28": {
        *NO_SUCH_TOOL,
        *NO_SUCH_RESOURCE,
        *NO_PROMPTS,
        "sep-2549-prompts-list-caching-hints",
        # Need tools whose arguments are also headers; Octavo has none.
        "sep-2243-server-decode-base64",
        "sep-2243-server-no-xmcp-tool",
        "sep-2243-server-reject-invalid-param-chars",
        "sep-2243-server-reject-param-mismatch",
        "sep-2243-server-validate-param-match",
        # Need tools and prompts of the reference server that ask the client for input.
        "sep-2322-elicitation-incomplete",
        "sep-2322-list-roots-incomplete",
        "sep-2322-multi-round-r1",
        "sep-2322-multiple-inputs-incomplete",
        "sep-2322-non-tool-incomplete",
        "sep-2322-reject-tampered-state",
        "sep-2322-request-state-incomplete",
        "sep-2322-respect-client-capabilities",
        "sep-2322-result-type-included",
        "sep-2322-sampling-incomplete",
        # Need diagnostic tools of the reference server.
        "sep-2575-http-server-no-independent-requests-on-stream",
        "sep-2575-missing-capability-http-400",
        "sep-2575-server-no-log-without-loglevel",
        "sep-2575-server-rejects-undeclared-capability",
    },
}
"""The checks that fail, for each revision: the same ones in both versions of the suite."""
NOT_RUN = {
    "2025-11-25": {
        # Need an event stream and a session, which the protocol leaves to the server.
        "server-sse-multiple-streams-session",
        "server-sse-polling-session",
    },
    "2026-07-28": {
        # Need tools of the reference server that ask the client for input.
        "sep-2322-ignore-unexpected-params",
        "sep-2322-missing-response-rerequests",
        # Need subscriptions: capabilities that Octavo does not declare.
        "sep-2575-server-honors-notification-filter",
        "sep-2575-server-sends-prompts-list-changed-on-subscription",
        "sep-2575-server-sends-subscription-ack",
        "sep-2575-server-sends-tools-list-changed-on-subscription",
        "sep-2575-server-tags-subscription-id",
    },
}
"""The checks that the suite skips or warns of, for each revision."""


@pytest.fixture(scope="module")
def url() -> Iterator[str]:
    reason = missing()
    if reason is not None:
        pytest.skip(reason)
    with (
        data_folder() as folder,
        running(folder, "--mcp", "true", "--mcp-write", "true") as octavo,
        client(octavo.url) as http,
    ):
        person = settle(octavo)
        write_note(http, person)
        with proxy(octavo.port, access_token(http, person)) as served:
            yield f"{served}/mcp"


def write_note(http: httpx.Client, person: Person) -> None:
    """Write a note, so that there is a resource to read."""
    made = http.post("/api/workspaces", json={"name": "The sea"}, headers=person.by_key).json()
    note = {"path": "tide.md", "text": "# The tide"}
    path = f"/api/workspaces/{made['id']}/files"
    assert http.post(path, json=note, headers=person.by_key).status_code == 201


def access_token(http: httpx.Client, person: Person) -> str:
    """Return an access token of a new program that may read and write."""
    made = http.post(
        "/oauth/register",
        json={"redirect_uris": [CALLBACK], "token_endpoint_auth_method": "none"},
    ).json()
    parameters = {
        "response_type": "code",
        "client_id": made["client_id"],
        "redirect_uri": CALLBACK,
        "code_challenge": challenge_of(VERIFIER),
        "code_challenge_method": "S256",
        "resource": f"{PUBLIC}/mcp",
        "scope": "notes:read notes:write",
    }
    decision = http.post(
        "/api/account/access-requests",
        json={"parameters": parameters, "allow": True},
        headers=person.by_cookie,
    )
    assert decision.status_code == 200, decision.text
    code = parse_qs(urlsplit(decision.json()["redirect"]).query)["code"][0]
    tokens = http.post(
        "/oauth/token",
        data={
            "grant_type": "authorization_code",
            "client_id": made["client_id"],
            "code": code,
            "code_verifier": VERIFIER,
            "redirect_uri": CALLBACK,
            "resource": f"{PUBLIC}/mcp",
        },
    )
    token: str = tokens.json()["access_token"]
    return token


@pytest.mark.parametrize(
    ("version", "revision", "passed"),
    [(STABLE, "2025-11-25", 6), (NEXT, "2025-11-25", 36), (NEXT, "2026-07-28", 90)],
    ids=["stable-2025-11-25", "next-2025-11-25", "next-2026-07-28"],
)
def test_server_conforms(
    url: str, version: Path, revision: str, passed: int, tmp_path: Path
) -> None:
    found = results(version, url, revision, tmp_path)
    assert set(found["FAILURE"]) == EXPECTED[revision]
    assert {*found.get("SKIPPED", ()), *found["WARNING"]} == NOT_RUN[revision]
    assert len(found["SUCCESS"]) >= passed


def test_suite_without_its_packages_names_what_to_install(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(suite, "STABLE", tmp_path)
    assert "apt-get install nodejs npm" in (suite.missing() or "")
