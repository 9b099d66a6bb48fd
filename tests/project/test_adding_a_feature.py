"""Whoever follows the page on adding a feature has one that works, in code as the project's own."""

import re
import shutil
import subprocess
import sys
from pathlib import Path

import httpx
import pytest

from tests.e2e.octavo_process import Octavo, running
from tests.e2e.people import Person, register
from tests.e2e.server import PATIENCE, environment
from tests.project.source import ROOT

BLOCK = re.compile(r"^```(\w+) (\S+)\n(.*?)^```$", re.DOTALL | re.MULTILINE)
BLOCKS = BLOCK.findall((ROOT / "docs/adding-a-feature.md").read_text())
RETENTION = """
import time, trio
from pathlib import Path
from octavo.service.features import LISTENERS, retention_job
from octavo.service.settings import Settings
from octavo.store.sqlite import open_sqlite

async def labels(transaction):
    return [row[0] for row in await transaction.fetch_all("SELECT label FROM bookmarks")]

async def main():
    async with open_sqlite(Path("data"), LISTENERS) as store:
        for days in (364, 366):
            await retention_job(store, lambda: time.time() + days * 86_400, Settings()).round()
            print(days, await store.read(labels))

trio.run(main)
"""


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """A copy of the project, in which the page was followed."""
    shutil.copytree(ROOT / "octavo", tmp_path / "octavo")
    shutil.copy(ROOT / "pyproject.toml", tmp_path)
    (tmp_path / "data").mkdir(0o700)
    for language, name, text in BLOCKS:
        path = tmp_path / name
        if language == "diff":
            path.write_text(changed(path.read_text(), text))
        else:
            assert not path.exists(), path
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)
    return tmp_path


def changed(text: str, diff: str) -> str:
    """Return a text with the lines that a diff adds, each between those around it."""
    for hunk in diff.split("@@\n"):
        lines = hunk.splitlines(keepends=True)
        before = "".join(line[1:] for line in lines if line[0] == " ")
        assert text.count(before) == 1, before
        text = text.replace(before, "".join(line[1:] for line in lines))
    return text


def use(octavo: Octavo, ann: Person) -> None:
    """Bookmark a note, and find it in the list and on the page."""
    with httpx.Client(base_url=octavo.url, headers=ann.by_key, timeout=PATIENCE) as http:
        workspace = http.post("/api/workspaces", json={"name": "Notes"}).json()["id"]
        base = f"/api/workspaces/{workspace}"
        note = http.post(f"{base}/files", json={"path": "tea.md", "text": "Green."}).json()
        place = f"{base}/files/{note['fileId']}/bookmark"
        assert http.put(place, json={"label": "Tea & coffee"}).status_code == 204
        assert http.put(place, json={"label": ""}).status_code == 400
        nowhere = place.replace(note["fileId"], ann.account_id)
        assert http.put(nowhere, json={"label": "Nothing"}).status_code == 404
        bookmark = {"fileId": note["fileId"], "label": "Tea & coffee", "path": "tea.md"}
        assert http.get(f"{base}/bookmarks").json() == {"items": [bookmark]}
        assert (
            f"{base.replace(workspace, '{workspaceId}')}/bookmarks"
            in http.get("/api/openapi.json").json()["paths"]
        )
    with httpx.Client(base_url=octavo.url, headers=ann.by_cookie, timeout=PATIENCE) as browser:
        path = f"/workspaces/{workspace}"
        members = browser.get(f"{path}/members").text
        assert f'<a href="{path}/bookmarks">Bookmarks</a>' in members
        page = browser.get(f"{path}/bookmarks").text
    assert f'<a href="{path}/bookmarks" aria-current="page">Bookmarks</a>' in page
    assert f'<a href="{path}/notes/{note["fileId"]}" dir="auto">Tea &amp; coffee</a>' in page


def test_feature_of_the_page_serves_and_forgets(project: Path) -> None:
    with running(project / "data", program=("-m", "octavo")) as octavo:
        use(octavo, register(octavo.url, octavo.invitation()))
        assert octavo.stop() == (0, [])
    assert run(project, "-c", RETENTION) == "364 ['Tea & coffee']\n366 []\n"


def test_code_of_the_page_is_in_the_style_of_the_project(project: Path) -> None:
    files = [name for language, name, _ in BLOCKS if language == "python"]
    assert len(files) == 7
    files.append("octavo/service/features.py")
    run(project, "-m", "ruff", "check", "--no-cache", *files)
    run(project, "-m", "ruff", "format", "--no-cache", "--diff", *files)


def run(project: Path, *arguments: str) -> str:
    """Run Python in the copy of the project, and return what it prints; it must succeed."""
    done = subprocess.run(
        [sys.executable, *arguments],
        cwd=project,
        env=environment(),
        capture_output=True,
        text=True,
        timeout=PATIENCE,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout
