"""The conformance suite of the Model Context Protocol."""

import json
import shutil
import subprocess
from pathlib import Path

HERE = Path(__file__).resolve().parent
SECONDS = 180
_PACKAGE = HERE / "node_modules/@modelcontextprotocol/conformance"


def missing() -> str | None:
    """What must be installed first, for a person; None if nothing."""
    if shutil.which("node") is None:
        return (
            "THE CONFORMANCE SUITE OF MCP IS NOT RUN: there is no Node.js. "
            "Install it (on Debian: apt-get install nodejs npm), then run make test."
        )
    if not (_PACKAGE / "package.json").is_file():
        return (
            "THE CONFORMANCE SUITE OF MCP IS NOT RUN: its package is missing. "
            "Run make test, which installs it, or make mcp-conformance."
        )
    return None


def results(url: str, revision: str, folder: Path) -> dict[str, list[str]]:
    """Run all scenarios of a revision for servers; return the ids of the checks by status."""
    program = ("node", "--import", HERE / "globsync.mjs", _PACKAGE / "dist/index.js", "server")
    subprocess.run(
        [*program, "--url", url, "--suite", "all", "--spec-version", revision, "-o", folder],
        capture_output=True,
        timeout=SECONDS,
        check=False,
    )
    found: dict[str, list[str]] = {}
    for file in sorted(folder.glob("*/checks.json")):
        for check in json.loads(file.read_text()):
            found.setdefault(check["status"], []).append(check["id"])
    return found
