"""One worker process: start it, call functions in it, and end it."""

import errno
import json
import os
import signal
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from subprocess import PIPE
from typing import ParamSpec, TypeVar

import trio

from octavo.workers import process

START_SECONDS = 30.0
"""Seconds in which a process has to start: it has the lowest priority."""
_LONGEST_RESPONSE = 1024 * 1024
# Secrets of the server are in its environment.
_INHERITED = ("PATH", "LD_LIBRARY_PATH", "LANG", "LC_ALL", "TMPDIR")
# Run as a file: as a module, it would import the whole package.
_PROGRAM = os.path.abspath(process.__file__)
_FULL = (errno.ENOSPC, errno.EDQUOT)
# Signals that end a decoder that crafted data crashed, or that used too much processor time.
_CAUSED_BY_WORK = frozenset(
    {signal.SIGABRT, signal.SIGBUS, signal.SIGFPE, signal.SIGILL, signal.SIGSEGV, signal.SIGXCPU}
)
# The folder of a program that was started by a relative path may differ later.
_SEARCHED = [os.path.abspath(path) for path in sys.path]

P = ParamSpec("P")
T = TypeVar("T")


class WorkerFailed(Exception):
    """The work was not done: the process could not be started, was killed, or took too long."""


class WorkOutOfSpace(WorkerFailed):
    """The disk that the work writes to is full."""


class WorkTooLarge(WorkerFailed):
    """The work exceeds the memory or the processor time that it may take, or crashes the process.

    The same work fails again.
    """


class WorkRefused(Exception):
    """The function raised a ValueError.

    Attributes:
        kind: the name of its class.
    """

    def __init__(self, kind: str, detail: str) -> None:
        super().__init__(detail)
        self.kind = kind


class Worker:
    """A running process. Create it with `start_worker`.

    Args:
        running: the process.

    Attributes:
        idle_since: when its pool kept it for the next work.
    """

    def __init__(self, running: trio.Process) -> None:
        self.idle_since = 0.0
        self._process = running
        self._received = b""

    @property
    def alive(self) -> bool:
        """Whether the process runs."""
        return self._process.poll() is None

    @property
    def pid(self) -> int:
        """The id of the process."""
        return self._process.pid

    async def call(self, function: Callable[P, T], *arguments: P.args, **named: P.kwargs) -> T:
        """Return the result of ``function``, a function of a module, in the process.

        Arguments and result are JSON; there are no named arguments. Raises `WorkRefused`, and
        `WorkerFailed`: then, and when cancelled, the process must be ended.
        """
        request = json.dumps([function.__module__, function.__qualname__, arguments])
        response = await self.exchange(f"{request}\n".encode())
        if "refused" in response:
            raise WorkRefused(str(response.get("kind")), str(response["refused"]))
        if "exceeded" in response:
            raise WorkTooLarge(str(response["exceeded"]))
        if response.get("errno") == errno.EFBIG:
            raise WorkTooLarge("it writes a larger file than a worker process may")
        if response.get("errno") in _FULL:
            raise WorkOutOfSpace(f"a worker process failed: {response.get('failed')}")
        if "result" not in response:
            raise WorkerFailed(f"a worker process failed: {response.get('failed')}")
        result: T = response["result"]  # type: ignore[assignment]
        return result

    async def exchange(self, request: bytes) -> dict[str, object]:
        """Send a line, and return the response. Raises `WorkerFailed`."""
        stdin, stdout = self._process.stdin, self._process.stdout
        if stdin is None or stdout is None:
            raise RuntimeError("the process has no pipes")
        try:
            await stdin.send_all(request)
            while b"\n" not in self._received:
                chunk = await stdout.receive_some()
                self._received += chunk
                if not chunk:
                    raise await self._ended()
                if len(self._received) > _LONGEST_RESPONSE:
                    raise WorkerFailed("a worker process responded with too much")
        except (trio.BrokenResourceError, trio.ClosedResourceError) as error:
            raise await self._ended() from error
        line, _, self._received = self._received.partition(b"\n")
        try:
            response = json.loads(line or b"{}")
        except ValueError:
            response = None
        if not isinstance(response, dict):
            raise WorkerFailed("a worker process responded with nonsense")
        return response

    async def _ended(self) -> WorkerFailed:
        """Return why the process closed its pipes."""
        with trio.move_on_after(1.0):
            await self._process.wait()
        code = self._process.returncode
        if code is not None and -code in _CAUSED_BY_WORK:
            return WorkTooLarge(f"a worker process ended with {signal.Signals(-code).name}")
        return WorkerFailed("a worker process ended")

    async def end(self) -> None:
        """Kill the process, and wait until it is gone, which nothing can delay."""
        with trio.CancelScope(shield=True):
            self._process.kill()
            await self._process.wait()
            for stream in (self._process.stdin, self._process.stdout):
                if stream is not None:
                    await trio.aclose_forcefully(stream)


async def start_worker(
    preloaded: Sequence[str] = (),
    max_memory: int | None = None,
    max_seconds: int | None = None,
    folder: Path | None = None,
    *,
    threads: bool = False,
) -> Worker:
    """Start a process that has imported the modules ``preloaded``.

    It finds modules where the server does, whatever the present folder. It ends with the server.
    It may have ``max_memory`` bytes of address space, take ``max_seconds`` of processor time for
    each call, use the files in ``folder``, an absolute path, and start ``threads``. Raises
    `WorkerFailed`. If cancelled, no process is left.
    """
    environment = {name: os.environ[name] for name in _INHERITED if name in os.environ}
    place = None if folder is None else str(folder)
    arguments = json.dumps([_SEARCHED, [list(preloaded), max_memory, max_seconds, place, threads]])
    command = [sys.executable, "-I", _PROGRAM, arguments]
    try:
        # Ctrl-C is for the server. In a session of its own, a process would get as much of the
        # processor as the server, whatever its priority (autogroups, sched(7)).
        running = await trio.lowlevel.open_process(
            command, stdin=PIPE, stdout=PIPE, cwd="/", env=environment, process_group=0
        )
    except OSError as error:
        raise WorkerFailed(f"a worker process can't be started: {error}") from error
    worker = Worker(running)
    try:
        with trio.fail_after(START_SECONDS):
            await worker.exchange(b"")
    except trio.TooSlowError:
        await worker.end()
        raise WorkerFailed(f"a worker process did not start in {START_SECONDS:g} s") from None
    except BaseException:
        await worker.end()
        raise
    return worker
