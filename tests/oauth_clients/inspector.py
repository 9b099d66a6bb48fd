"""The command line of the inspector of MCP, with its own authorization."""

import json
import os
import pty
import subprocess
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.oauth_clients.programs import HERE, NODE, SECONDS, environment, finished, own_port

_PROGRAM = HERE / "node_modules/@modelcontextprotocol/inspector/clients/launcher/build/index.js"
_NAVIGATE = "Please navigate to: "


@dataclass(frozen=True)
class Inspected:
    """What the inspector printed.

    Attributes:
        code: its exit code; 6 for a schema with an error.
        result: the result of the method; None if it failed.
        notes: its lines for people, with what it finds in schemas.
    """

    code: int
    result: Any
    notes: str


class Inspector:
    """Calls methods of an endpoint; it keeps its tokens in a folder.

    Args:
        endpoint: the address.
        trust: the file with the authority of the server.
        folder: where it keeps what it knows.
    """

    def __init__(self, endpoint: str, trust: Path, folder: Path) -> None:
        self._command = [str(NODE), str(_PROGRAM), "--cli", "--format", "json"]
        self._command += ["--connect-timeout", "0", "--server-url", endpoint]
        self._environment = environment(trust, HOME=str(folder), MCP_INSPECTOR_SECRET_STORE="file")

    def sign_in(self, allow: Callable[[str], object], *arguments: str) -> Inspected:
        """Call a method for which the inspector first needs access, which ``allow`` gives it."""
        callback = f"http://127.0.0.1:{own_port()}/oauth/callback"
        with (
            _terminal() as terminal,
            subprocess.Popen(
                [*self._command, "--callback-url", callback, *arguments],
                env=self._environment,
                # Without a terminal there is nobody whom it could ask.
                stdin=terminal,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                text=True,
            ) as process,
        ):
            printed, notes = finished(process, process.stderr, _NAVIGATE, allow)
        return _inspected(process.returncode, printed, notes)

    def call(self, *arguments: str) -> Inspected:
        """Call a method with the access that it has."""
        done = subprocess.run(
            [*self._command, "--use-stored-auth", "--stored-auth-only", *arguments],
            env=self._environment,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=SECONDS,
            check=False,
        )
        return _inspected(done.returncode, done.stdout, done.stderr)


def _inspected(code: int, printed: str, notes: str) -> Inspected:
    return Inspected(code, json.loads(printed)["result"] if printed else None, notes)


@contextmanager
def _terminal() -> Iterator[int]:
    ours, theirs = pty.openpty()
    try:
        yield theirs
    finally:
        os.close(theirs)
        os.close(ours)
