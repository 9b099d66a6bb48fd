"""The conformance suite of the Model Context Protocol."""

import json
import subprocess
from pathlib import Path

from tests.oauth_clients.programs import NODE

HERE = Path(__file__).resolve().parent
SECONDS = 180
NEXT = HERE / "node_modules/@modelcontextprotocol/conformance"
"""The coming version of the suite, for every revision."""
STABLE = HERE / "node_modules/conformance-stable"
"""The present one, for revisions up to 2025-11-25."""


def missing() -> str | None:
    """What must be installed first, for a person; None if nothing."""
    if not all((each / "package.json").is_file() for each in (NEXT, STABLE)):
        return (
            "THE CONFORMANCE SUITE OF MCP IS NOT RUN: its packages are missing. Install npm (on "
            "Debian: apt-get install nodejs npm), then run make test, which installs them."
        )
    return None


def results(suite: Path, url: str, revision: str, folder: Path) -> dict[str, list[str]]:
    """Run all scenarios of a revision for servers; return the ids of the checks by status."""
    program = (NODE, suite / "dist/index.js", "server")
    subprocess.run(
        [*program, "--url", url, "--suite", "all", "--spec-version", revision, "-o", folder],
        capture_output=True,
        timeout=SECONDS,
        check=False,
    )
    return checks_in(folder)


def checks_in(folder: Path) -> dict[str, list[str]]:
    """Return the ids of the checks that the suite wrote to a folder, by their status."""
    found: dict[str, list[str]] = {}
    for file in sorted(folder.glob("*/checks.json")):
        for check in json.loads(file.read_text()):
            found.setdefault(check["status"], []).append(check["id"])
    return found
