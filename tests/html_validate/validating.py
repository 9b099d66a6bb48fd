"""html-validate, which checks pages against the HTML standard."""

import json
import shutil
import subprocess
from collections.abc import Mapping
from pathlib import Path

HERE = Path(__file__).resolve().parent
SECONDS = 120


def missing() -> str | None:
    """What must be installed first, for a person; None if nothing."""
    if shutil.which("node") is None:
        return (
            "THE HTML OF THE PAGES IS NOT VALIDATED: there is no Node.js. "
            "Install it (on Debian: apt-get install nodejs npm), then run make test."
        )
    if not (HERE / "node_modules/html-validate/package.json").is_file():
        return (
            "THE HTML OF THE PAGES IS NOT VALIDATED: its package is missing. "
            "Run make test, which installs it, or make html-validate."
        )
    return None


def faults_of(pages: Mapping[str, str]) -> dict[str, list[str]]:
    """Return what is wrong with pages, by their names; valid pages have no entry."""
    done = subprocess.run(
        ["node", HERE / "validate.mjs"],
        input=json.dumps(pages).encode(),
        capture_output=True,
        timeout=SECONDS,
        check=True,
    )
    found: dict[str, list[str]] = json.loads(done.stdout)
    return {name: messages for name, messages in found.items() if messages}
