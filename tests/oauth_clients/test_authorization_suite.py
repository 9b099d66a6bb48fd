"""The authorization server passes the checks of the conformance suite of MCP."""

import subprocess
from pathlib import Path

import pytest

from tests.mcp_conformance.suite import NEXT, checks_in, missing
from tests.oauth_clients.installation import Installation
from tests.oauth_clients.programs import NODE, environment, finished, own_port


def test_authorization_server_conforms(site: Installation, tmp_path: Path) -> None:
    reason = missing()
    if reason is not None:
        pytest.skip(reason)
    program = {
        "client_name": "The suite",
        "redirect_uris": ["http://127.0.0.1/callback"],
        "token_endpoint_auth_method": "none",
    }
    client_id = site.http.post("/oauth/register", json=program).json()["client_id"]
    options = ("--url", site.url, "--client-id", client_id, "--resource", site.endpoint)
    where = ("--port", str(own_port()), "--output-dir", str(tmp_path))
    with subprocess.Popen(
        [str(NODE), str(NEXT / "dist/index.js"), "authorization", *options, *where],
        env=environment(site.trust),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        text=True,
    ) as suite:
        printed = finished(suite, suite.stdout, site.url, site.allow)[0]
    assert suite.returncode == 0, printed
    assert checks_in(tmp_path) == {
        "SUCCESS": [
            "authorization-code-grant",
            "authorization-server-metadata",
            "authorization-server-metadata-cimd",
        ]
    }
