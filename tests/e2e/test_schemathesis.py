"""Requests that schemathesis generates from the served document get documented responses only.

The seconds of a run come from ``OCTAVO_SCHEMATHESIS_SECONDS``. A failing run shows the seed and
each request, as a command line of curl.
"""

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.e2e.octavo_process import Octavo, data_folder, running
from tests.e2e.people import Person, client, settle

SECONDS = int(os.environ.get("OCTAVO_SCHEMATHESIS_SECONDS", "15"))
SEED = os.environ.get("OCTAVO_SCHEMATHESIS_SEED", "1")
CHECKS = (
    "not_a_server_error",
    "status_code_conformance",
    "content_type_conformance",
    "response_headers_conformance",
    "response_schema_conformance",
    "negative_data_rejection",
    "unsupported_method",
    "allow_header_conformance",
    "use_after_free",
    "ensure_resource_availability",
)
# An upload to an account without storage, which the run may have made so, is refused with 413
# before its form is read, and a target or a head that is too long before anything else.
CONFIGURATION = """
[checks.negative_data_rejection]
expected-statuses = [400, 401, 403, 404, 405, 406, 409, 413, 414, 415, 422, 428, 429, 431, "5xx"]
"""
# It would find the key of the run in the list, and revoke it.
LEFT_OUT = ("revokeApiKey",)


@pytest.fixture
def octavo() -> Iterator[Octavo]:
    with data_folder() as folder, running(folder, "--mcp", "true") as octavo:
        yield octavo
        assert octavo.stop() == (0, [])


@pytest.fixture
def person(octavo: Octavo) -> Person:
    """An account with a workspace and a note in it, for the run to find."""
    person = settle(octavo)
    with client(octavo.url, person) as http:
        made = http.post("/api/workspaces", json={"name": "Notes"})
        files = f"/api/workspaces/{made.json()['id']}/files"
        assert http.post(files, json={"path": "a.md", "text": "a"}).status_code == 201
    return person


def run(
    octavo: Octavo, person: Person, folder: Path, seconds: int
) -> "subprocess.CompletedProcess[str]":
    """Run schemathesis on the document in ``folder``."""
    command = [
        *(str(Path(sys.executable).with_name("schemathesis")), "run"),
        *("openapi.json", "--url", octavo.url),
        *("--header", f"Authorization: Bearer {person.key}"),
        *("--checks", ",".join(CHECKS)),
        *(part for each in LEFT_OUT for part in ("--exclude-operation-id", each)),
        # More would hit https://github.com/python/cpython/issues/106905 in Python 3.11.
        *("--max-time", str(seconds), "--seed", SEED, "--workers", "1"),
        *("--continue-on-failure", "--no-color", "--generation-database", "none"),
    ]
    return subprocess.run(
        command,
        cwd=folder,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=seconds * 2 + 60,
        check=False,
    )


def test_schemathesis_finds_no_undocumented_response(
    octavo: Octavo, person: Person, tmp_path: Path
) -> None:
    with client(octavo.url) as http:
        document = http.get("/api/openapi.json")
    # From a file: the operation that it is loaded from would be left out.
    (tmp_path / "openapi.json").write_bytes(document.content)
    (tmp_path / "schemathesis.toml").write_text(CONFIGURATION)
    documented = sum(len(each) for each in document.json()["paths"].values())
    tested = f"Tested: {documented - len(LEFT_OUT)}\n"
    done = run(octavo, person, tmp_path, SECONDS)
    if done.returncode == 0 and tested not in done.stdout:
        # A slow machine, or one that does something else, gets to all operations later.
        done = run(octavo, person, tmp_path, 4 * SECONDS)
    assert done.returncode == 0, done.stdout[-20_000:] + done.stderr
    with client(octavo.url, person) as http:
        assert http.get("/api/account").status_code == 200
    assert tested in done.stdout
