"""A browser with a page of the installation, in which the client of better-auth runs."""

import json
import os
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from threading import Timer
from typing import Any

from tests.e2e.octavo_process import PUBLIC

HERE = Path(__file__).resolve().parent
SECONDS = 60.0


def missing() -> str | None:
    """What must be installed first, for a person; None if nothing."""
    if shutil.which("node") is None:
        return (
            "THE CLIENT OF BETTER-AUTH IS NOT TESTED: there is no Node.js. "
            "Install it (on Debian: apt-get install nodejs npm), then run make test."
        )
    if not (HERE / "node_modules/better-auth/package.json").is_file():
        return (
            "THE CLIENT OF BETTER-AUTH IS NOT TESTED: its package is missing. "
            "Run make test, which installs it, or make better-auth."
        )
    return None


class Browser:
    """Calls methods of the client, which return its ``data`` and ``error``."""

    def __init__(self, process: "subprocess.Popen[str]") -> None:
        assert process.stdin is not None
        assert process.stdout is not None
        self._process = process
        self._stdin, self._stdout = process.stdin, process.stdout

    def call(self, method: str, **given: object) -> dict[str, Any]:
        """Call a method of the client; return what it returns."""
        deadline = Timer(SECONDS, self._process.kill)
        deadline.start()
        try:
            self._stdin.write(json.dumps({"call": method, "given": given}) + "\n")
            self._stdin.flush()
            line = self._stdout.readline()
        finally:
            deadline.cancel()
        assert line, f"the client did not return from {method}"
        found: dict[str, Any] = json.loads(line)
        assert "thrown" not in found, found
        return found


@contextmanager
def browser(server: str) -> Iterator[Browser]:
    """Open a browser for the block; the installation is at the URL ``server``."""
    environment = {**os.environ, "OCTAVO_ORIGIN": PUBLIC, "OCTAVO_SERVER": server.rstrip("/")}
    with subprocess.Popen(
        ["node", HERE / "browser.mjs"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        env=environment,
        text=True,
    ) as process:
        try:
            yield Browser(process)
        finally:
            process.kill()
