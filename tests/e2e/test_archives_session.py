"""The sessions on the page about archives, run by a shell against a real server."""

import os
import re
import subprocess
from pathlib import Path

from tests.e2e.octavo_process import data_folder, running
from tests.e2e.operations.archives import archive
from tests.e2e.operations.attachments import PNG
from tests.e2e.people import client, settle
from tests.e2e.server import PATIENCE
from tests.e2e.test_readme_session import SESSION
from tests.project.source import ROOT


def test_sessions_about_archives_do_what_the_page_says(tmp_path: Path) -> None:
    session = "".join(SESSION.findall((ROOT / "docs/archives.md").read_text()))
    (tmp_path / "vault.zip").write_bytes(archive({"Tea.md": "# Tea", "plan.pdf": "%PDF"}))
    (tmp_path / "cup.png").write_bytes(PNG)
    with data_folder() as folder, running(folder) as octavo:
        person = settle(octavo)
        with client(octavo.url, person) as http:
            workspace = http.post("/api/workspaces", json={"name": "Notes"}).json()["id"]
        session = session.replace("key=octk_…", f"key={person.key}")
        session = session.replace("http://localhost:8080", octavo.url)
        session = session.replace("/api/workspaces/…", f"/api/workspaces/{workspace}")
        assert "…" not in re.sub(r"#.*", "", session)
        done = subprocess.run(
            ["bash", "-eu", "-o", "pipefail", "-c", session],
            cwd=tmp_path,
            capture_output=True,
            text=True,
            timeout=PATIENCE,
            env={**os.environ, "no_proxy": "localhost,127.0.0.1"},
            check=False,
        )
        with client(octavo.url, person) as http:
            files = http.get(f"/api/workspaces/{workspace}/files").json()["items"]
    assert (done.returncode, done.stderr) == (0, "")
    assert '"notes":1' in done.stdout
    assert '"state":"done"' in done.stdout
    assert sorted(each["path"] for each in files) == ["Tea.md", "attachments/cup.png"]
    content = (tmp_path / "copy.png").read_bytes()
    assert content.startswith(b"\x89PNG")
    assert (tmp_path / "first-100-bytes").read_bytes() == content[:100]
    assert 0 < (tmp_path / "thumbnail").stat().st_size != len(content)
