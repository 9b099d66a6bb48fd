"""The script in docs/mcp.md, run by a shell against a real server."""

import os
import re
import subprocess
from pathlib import Path
from urllib.parse import parse_qsl, urlsplit

import httpx

from tests.e2e.octavo_process import LINK_FILE, Lines, invitation_in
from tests.e2e.people import NO_TLS
from tests.e2e.server import PATIENCE, start
from tests.project.source import ROOT

SCRIPT = re.compile(r"<!-- program -->\n```bash\n(.*?)```", re.DOTALL)


def test_script_gets_a_token_and_calls_a_tool(tmp_path: Path) -> None:
    [script] = SCRIPT.findall((ROOT / "docs/mcp.md").read_text())
    options = ("--bind", "127.0.0.1:0", "--mcp", "true")
    with start(*options, folder=tmp_path) as server:
        assert server.stderr is not None
        lines = Lines(server.stderr)
        try:
            port = lines.find(r"listens on http://127\.0\.0\.1:([0-9]+)")
            here = f"http://localhost:{port}"
            with httpx.Client(base_url=here, headers={"origin": here}, verify=NO_TLS) as browser:
                _register(browser, invitation_in(lines.find(LINK_FILE)))
                done = _run(script.replace("http://localhost:8080", here), browser)
        finally:
            server.kill()
            # It reads until the stream is closed.
            lines.finish()
    assert '"isError":false' in done


def _register(browser: httpx.Client, invitation: str) -> None:
    """Create an account, and stay signed in."""
    given = {
        "invitation": invitation,
        "address": "ann@example.org",
        "displayName": "Ann",
        "password": "tulips on the moon",
    }
    made = browser.post("/api/registrations", json=given)
    assert made.status_code == 201, made.text
    # Over plain http, the client withholds the secure cookie.
    browser.headers["cookie"] = made.headers["set-cookie"].partition(";")[0]


def _run(script: str, browser: httpx.Client) -> str:
    """Run the script, and allow what it asks for; return what it prints at last."""
    with subprocess.Popen(
        ["bash", "-eu", "-c", script],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        env={**os.environ, "no_proxy": "localhost"},
    ) as shell:
        assert shell.stdout is not None
        asked = dict(parse_qsl(urlsplit(shell.stdout.readline().strip()).query))
        decision = {"parameters": asked, "allow": True}
        decided = browser.post("/api/account/access-requests", json=decision)
        assert decided.status_code == 200, decided.text
        printed, _ = shell.communicate(f"{decided.json()['redirect']}\n", timeout=PATIENCE)
    assert shell.returncode == 0
    return printed
