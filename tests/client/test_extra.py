"""Without its extra, the client names what to install."""

import subprocess
import sys

from tests.project.source import ROOT

# This finder simulates an environment in which httpx was never installed.
WITHOUT_HTTPX = """
import sys
class Missing:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] == "httpx":
            raise ModuleNotFoundError(f"No module named {name!r}", name="httpx")
sys.meta_path.insert(0, Missing())
import octavo.client
"""


def test_client_without_its_extra_names_what_to_install() -> None:
    run = subprocess.run(
        [sys.executable, "-c", WITHOUT_HTTPX],
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert run.returncode == 1
    assert run.stderr.count("Error: ") == 1
    assert run.stderr.splitlines()[-1] == (
        "ImportError: octavo.client needs httpx:"
        " run .venv/bin/pip install -e '.[client]' in the clone of Octavo"
    )
