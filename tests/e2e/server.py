"""A real server in a process of its own, for tests over real sockets."""

import http.client
import os
import signal
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from tests.project.source import ROOT

# Generous for slow machines; a test whose expectation is met never waits this long.
PATIENCE = 30.0
OCTAVO = ("-m", "octavo")
"""The arguments of the interpreter that name the program."""


@dataclass(frozen=True)
class Server:
    """A running server: its process, its port, and its working folder."""

    process: "subprocess.Popen[str]"
    port: int
    folder: Path

    def connect(self) -> http.client.HTTPConnection:
        return http.client.HTTPConnection("127.0.0.1", self.port, timeout=PATIENCE)

    def get(self, path: str) -> int:
        connection = self.connect()
        try:
            connection.request("GET", path)
            return connection.getresponse().status
        finally:
            connection.close()

    def stop(self, signum: int = signal.SIGTERM) -> tuple[int, str]:
        """Signal the server; return its exit code, and its log lines above information level."""
        self.process.send_signal(signum)
        return self.wait()

    def wait(self) -> tuple[int, str]:
        _, output = self.process.communicate(timeout=PATIENCE)
        lines = (
            line
            for line in output.splitlines(keepends=True)
            if " info " not in line and '"level":"info"' not in line
        )
        return self.process.returncode, "".join(lines)


def command_line(command: str, program: Sequence[str] = OCTAVO) -> list[str]:
    """The command line prefix of a command, with warnings as errors.

    Development mode would also have asyncio record where everything was begun: a quarter of the
    time of a server with PostgreSQL.
    """
    return [sys.executable, "-X", "faulthandler", "-W", "error", *program, command]


def environment() -> dict[str, str]:
    """The environment of this process without settings, for a process in any folder."""
    kept = {k: v for k, v in os.environ.items() if not k.startswith("OCTAVO_")}
    # Hundreds of processes are started: without bytecode each would compile what it imports.
    kept.pop("PYTHONDONTWRITEBYTECODE", None)
    return {**kept, "PYTHONPATH": str(ROOT)}


def start(
    *options: str,
    folder: Path,
    command: str = "serve",
    stdout: int = subprocess.DEVNULL,
    program: Sequence[str] = OCTAVO,
) -> "subprocess.Popen[str]":
    """Start a command of ``octavo`` in ``folder``, with warnings as errors.

    Its only settings are ``options`` and those of a file in the folder. ``program`` has the
    arguments of the interpreter that name the program.
    """
    return subprocess.Popen(
        [*command_line(command, program), *options],
        env=environment(),
        cwd=folder,
        stdin=subprocess.DEVNULL,
        stdout=stdout,
        stderr=subprocess.PIPE,
        text=True,
    )


def first_line(process: "subprocess.Popen[str]") -> str:
    """Read the first line of standard error only: `communicate` must find the next one."""
    assert process.stderr is not None
    line = b""
    while not line.endswith(b"\n") and (byte := os.read(process.stderr.fileno(), 1)):
        line += byte
    return line.decode()
