"""Another ASGI server on trio serves the application, but for the stream of notices."""

import os
import re
import subprocess
import sys
from pathlib import Path

import httpx

from octavo.access.entropy import new_id
from tests.e2e.octavo_process import Lines
from tests.e2e.people import NO_TLS, invite, join
from tests.e2e.server import PATIENCE
from tests.project.source import ROOT

HANDSHAKE = {
    "connection": "Upgrade",
    "upgrade": "websocket",
    "sec-websocket-version": "13",
    "sec-websocket-key": "dGhlIHNhbXBsZSBub25jZQ==",
    "sec-websocket-protocol": "octavo.notices.v1",
}


def test_hypercorn_serves_the_application(tmp_path: Path) -> None:
    folder = tmp_path / "data"
    folder.mkdir(mode=0o700)
    command = [sys.executable, "-m", "hypercorn", "-k", "trio", "-b", "127.0.0.1:0"]
    with subprocess.Popen(
        [*command, "tests.e2e.under_hypercorn:app"],
        cwd=ROOT,
        env={**os.environ, "OCTAVO_DATA_DIR": str(folder)},
        stderr=subprocess.PIPE,
        text=True,
    ) as process:
        try:
            assert process.stderr is not None
            url = Lines(process.stderr).find(r"Running on (http://127\.0\.0\.1:[0-9]+)")
            person = join(folder, invitation=invite(folder))
            # It names itself in a header that Octavo's document lacks.
            with httpx.Client(base_url=url, headers=person.by_key, verify=NO_TLS) as http:
                made = http.post("/api/workspaces", json={"name": "Vault"}).json()
                place = f"/api/workspaces/{made['id']}"
                text = "# Tide\n\nHigh at noon.\n"
                note = {"path": "tide.md", "text": text, "mutationId": new_id()}
                created = http.post(f"{place}/files", json=note)
                assert created.status_code == 201, created.text
                read = http.get(f"{place}/files/{created.json()['fileId']}")
                assert read.json()["text"] == text
                page = http.get("/sign-in")
                assert re.search("<h1[^>]*>Sign in</h1>", page.text), page.text
                refused = http.get("/api/sync/notices", headers=HANDSHAKE)
                assert (refused.status_code, refused.json()["code"]) == (503, "notices_unavailable")
        finally:
            process.terminate()
            assert process.wait(PATIENCE) == 0
