"""The session in the README, run by a shell against a real server."""

import os
import re
import subprocess
import sys
from pathlib import Path

from tests.e2e.octavo_process import LINK_FILE, Lines, invitation_in
from tests.e2e.server import PATIENCE, start
from tests.project.source import ROOT

ID = "[0-9a-f-]{36}"
SESSION = re.compile(r"<!-- session -->\n```bash\n(.*?)```", re.DOTALL)


def test_readme_session_prints_what_it_shows(tmp_path: Path) -> None:
    [session] = SESSION.findall((ROOT / "README.md").read_text())
    with start("--bind", "127.0.0.1:0", folder=tmp_path) as server:
        assert server.stderr is not None
        lines = Lines(server.stderr)
        try:
            port = lines.find(r"listens on http://127\.0\.0\.1:([0-9]+)")
            token = invitation_in(lines.find(LINK_FILE))
            session = session.replace("TOKEN=the-token-behind-invitation=", f"TOKEN={token}")
            session = session.replace("://localhost:8080", f"://localhost:{port}")
            session = session.replace(".venv/bin/python", sys.executable)
            done = subprocess.run(
                ["bash", "-eu", "-c", session],
                cwd=tmp_path,
                capture_output=True,
                text=True,
                timeout=PATIENCE,
                env={**os.environ, "no_proxy": "localhost"},
                check=False,
            )
        finally:
            server.kill()
            # It reads until the stream is closed.
            lines.finish()
    assert (done.returncode, done.stderr) == (0, "")
    output = done.stdout
    assert '"displayName":"Ann"' in output
    assert '"emailVerified":false' in output
    assert '"outcome":"updated"' in output
    assert '"status":412' in output
    assert '"text":"Black."' in output
    assert '"snippets":[{"text":"Black.","marks":[{"start":0,"end":5}]}]' in output
    assert '{"kind":"removed","text":"Green"}' in output
    assert '{"type":"hello"' in output
    for kind, position in (("subscribed", 2), ("changed", 3)):
        notice = rf'\{{"type":"{kind}","workspaceId":"{ID}","position":{position},"mark":"{ID}"\}}'
        assert re.search(notice, output)
