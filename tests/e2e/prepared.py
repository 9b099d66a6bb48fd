"""Processes of ``octavo`` that are forked from one that has imported everything.

A server takes a second of processor time to import what it needs, and hundreds are started. Apart
from the imports and the cost of hashes each is a process as any other, and a child of this one.
`server.start` makes those that import everything themselves.
"""

import atexit
import ctypes
import json
import os
import re
import socket
import subprocess
import sys
import tempfile
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from types import MappingProxyType
from typing import Any

from octavo.features.accounts.argon2id import Argon2
from tests.e2e.server import PATIENCE, Server, command_line, environment, first_line

HASH_COST = Argon2(passes=1, memory=32)
"""The cost of the hashes of passwords, of which there are hundreds: with the usual one each takes a
tenth of a second of both processors."""
_PR_SET_CHILD_SUBREAPER = 36
_forking = threading.Lock()


class _Forked(subprocess.Popen[str]):
    """A process that is forked from the template, not executed."""

    # Any: what `subprocess` passes; no argument but those used here is given.
    def _execute_child(self, arguments: Any, *given: Any) -> None:  # noqa: ANN401
        folder, environment, streams = given[4], given[5], given[9:15]
        try:
            self.pid = _fork(arguments, folder, environment, [streams[at] for at in (0, 3, 5)])
            self._child_created = True
        finally:
            self._close_pipe_fds(*streams)  # type: ignore[attr-defined]


def start(
    *options: str,
    folder: Path,
    command: str = "serve",
    stdout: int = subprocess.DEVNULL,
    more: Mapping[str, str] = MappingProxyType({}),
) -> "subprocess.Popen[str]":
    """Start a command of ``octavo`` in ``folder``, as `server.start`, with ``more`` variables."""
    return _Forked(
        (command, *options),
        env={**environment(), **more},
        cwd=folder,
        stdin=subprocess.DEVNULL,
        stdout=stdout,
        stderr=subprocess.PIPE,
        text=True,
    )


@contextmanager
def serving(*options: str) -> Iterator[Server]:
    """Run a server on a free port, in a folder of its own; both are gone at the end."""
    with (
        tempfile.TemporaryDirectory() as name,
        start("--bind", "127.0.0.1:0", *options, folder=Path(name)) as process,
    ):
        try:
            line = first_line(process)
            announced = re.search(r"Octavo listens on https?://127\.0\.0\.1:([0-9]+)", line)
            assert announced is not None, line + process.communicate(timeout=PATIENCE)[1]
            yield Server(process, int(announced[1]), Path(name))
        finally:
            process.kill()


@cache
def _template() -> socket.socket:
    """Start the template; return the socket for requests."""
    ours, its = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    number = str(its.fileno())
    program = ("-m", "tests.e2e.template_process")
    process = subprocess.Popen(
        command_line(number, program),
        env=environment(),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        pass_fds=[its.fileno()],
    )
    its.close()

    def end() -> None:
        ours.close()
        process.wait()

    atexit.register(end)
    return ours


def _fork(
    arguments: tuple[str, ...], folder: Path, env: Mapping[str, str], streams: list[int]
) -> int:
    """Fork a process from the template; return its id."""
    request = {"arguments": arguments, "folder": os.fspath(folder), "env": dict(env)}
    with _forking:
        template = _template()
        _adopt(True)
        try:
            socket.send_fds(template, [json.dumps(request).encode()], streams)
            pid = template.recv(20)
        finally:
            _adopt(False)
    assert pid, "the template has ended"
    return int(pid)


def _adopt(adopts: bool) -> None:
    """Decide whether this process becomes the parent of descendants whose parent has ended."""
    failed = ctypes.CDLL(None).prctl(_PR_SET_CHILD_SUBREAPER, int(adopts), 0, 0, 0)
    assert not failed, f"{sys.platform} has no prctl"
