"""Octavo servers for tests that start, kill and restart them on the same data."""

import os
import re
import signal
import subprocess
import tempfile
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from queue import Empty, SimpleQueue
from typing import IO
from urllib.parse import unquote

from tests.e2e import prepared
from tests.e2e.server import PATIENCE, start

PUBLIC = "https://notes.example.org"
"""The configured origin of every server here, whatever port it listens on."""

LINK_FILE = r'an administrator, within an hour, with the link in ([^\s"]+)'


class Lines:
    """The output lines of a process, read continuously so that it never blocks on its output."""

    def __init__(self, stream: IO[str]) -> None:
        self.all: list[str] = []
        self._stream = stream
        self._new: SimpleQueue[str | None] = SimpleQueue()
        self._thread = threading.Thread(target=self._read, daemon=True)
        self._thread.start()

    def find(self, pattern: str) -> str:
        """Wait for a line after those found before; return its first group."""
        deadline = time.monotonic() + PATIENCE
        try:
            while (line := self._new.get(timeout=max(0, deadline - time.monotonic()))) is not None:
                found = re.search(pattern, line)
                if found is not None:
                    return found[1]
        except Empty:
            pass
        raise AssertionError(f"nothing like {pattern} in:\n{''.join(self.all)}")

    def finish(self) -> None:
        """Wait for the end of the stream."""
        self._thread.join(PATIENCE)
        assert not self._thread.is_alive()

    def _read(self) -> None:
        for line in self._stream:
            self.all.append(line)
            self._new.put(line)
        self._new.put(None)


def invitation_in(path: str) -> str:
    """The token of the link in a file."""
    return unquote(Path(path).read_text().partition("invitation=")[2].strip())


class Octavo:
    """A running server.

    Args:
        process: the server, with pipes for its output.
        folder: its data folder.
        options: those it was started with, in addition to the common ones.
    """

    def __init__(
        self, process: "subprocess.Popen[str]", folder: Path, options: tuple[str, ...]
    ) -> None:
        assert process.stdout is not None
        assert process.stderr is not None
        self.process = process
        self.folder = folder
        self.options = options
        self.port = 0
        self.log = Lines(process.stderr)
        self._printed = Lines(process.stdout)

    def wait_until_listening(self) -> None:
        """Learn the port."""
        self.port = int(self.log.find(r"Octavo listens on https?://127\.0\.0\.1:([0-9]+)"))

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def invitation(self) -> str:
        """The token of the link that the first start of an installation makes."""
        # It may have a file system of its own.
        return invitation_in(f"/proc/{self.process.pid}/root{self.log.find(LINK_FILE)}")

    def kill(self) -> None:
        """Kill it, as a power cut would."""
        self.process.kill()
        self.ended()

    def stop(self) -> tuple[int, list[str]]:
        """Stop it; return its exit code, and its log lines above information level."""
        self.process.send_signal(signal.SIGTERM)
        return self.ended()

    def ended(self) -> tuple[int, list[str]]:
        """Wait for its end; return the same as `stop`."""
        code = self.process.wait(PATIENCE)
        self.log.finish()
        self._printed.finish()
        return code, [line for line in self.log.all if " info " not in line]


@contextmanager
def running(folder: Path, *options: str, program: Sequence[str] | None = None) -> Iterator[Octavo]:
    """Run a server on the data folder ``folder``; it is killed at the end if it still runs.

    ``program`` as in `start`; without it, the server is a process of `prepared`.
    """
    # Relative to the working folder, as the folder that is used without this option.
    given = ("--bind", "127.0.0.1:0", "--public-url", PUBLIC, "--data-dir", folder.name)
    with (
        prepared.start(*given, *options, folder=folder.parent, stdout=subprocess.PIPE)
        if program is None
        else start(*given, *options, folder=folder.parent, stdout=subprocess.PIPE, program=program)
    ) as process:
        octavo = Octavo(process, folder, options)
        try:
            octavo.wait_until_listening()
            yield octavo
        finally:
            octavo.kill()


@contextmanager
def data_folder() -> Iterator[Path]:
    """A new data folder, deleted at the end."""
    with tempfile.TemporaryDirectory(prefix="octavo-") as name:
        folder = Path(name) / "data"
        os.mkdir(folder, 0o700)
        yield folder


def invited(folder: Path, *options: str) -> str:
    """The token of a link that ``octavo invite`` prints."""
    given = ("--public-url", PUBLIC, "--data-dir", str(folder))
    with prepared.start(
        *given, *options, folder=folder.parent, command="invite", stdout=subprocess.PIPE
    ) as process:
        printed, output = process.communicate(timeout=PATIENCE)
    assert (process.returncode, output) == (0, "")
    found = re.fullmatch(re.escape(PUBLIC) + r"/register\?invitation=(\S+)\n", printed)
    assert found is not None, printed
    return unquote(found[1])


def run(command: str, folder: Path, *arguments: str) -> tuple[int, str, str]:
    """The exit code of a command on a data folder, its output, and its errors."""
    given = ("--data-dir", str(folder), *arguments)
    with prepared.start(
        *given, folder=folder.parent, command=command, stdout=subprocess.PIPE
    ) as process:
        printed, errors = process.communicate(timeout=PATIENCE)
    return process.returncode, printed, errors
