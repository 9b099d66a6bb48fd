"""Functions that worker processes call."""

import ctypes
import errno
import os
import resource
import signal
import socket
import stat
import sys
import time
from collections.abc import Callable
from contextlib import suppress


def scheduling() -> list[int]:
    return [os.getpid(), os.sched_getscheduler(0), os.getpriority(os.PRIO_PROCESS, 0)]


def surroundings() -> list[object]:
    return [os.getcwd(), dict(os.environ), sys.path]


def imported() -> list[str]:
    return [*sys.modules]


def mode_of_new_file(path: str) -> int:
    with open(path, "wb") as file:
        return stat.S_IMODE(os.fstat(file.fileno()).st_mode)


def double(text: str) -> str:
    return text + text


def printed(text: str) -> str:
    sys.stdout.write(f"{text}\n")
    sys.stdout.flush()
    os.write(1, b"and more\n")
    return text


class Unsuitable(ValueError):
    pass


def refuse(reason: str) -> None:
    raise Unsuitable(reason)


def fail() -> None:
    raise RuntimeError("a bug")


def run_out_of_memory() -> None:
    raise MemoryError


def unspeakable() -> object:
    return object()


def kill_itself() -> None:
    os.kill(os.getpid(), signal.SIGKILL)


def sleep(seconds: float) -> None:
    time.sleep(seconds)


def pid() -> int:
    return os.getpid()


def allocate() -> None:
    """Need 512 MiB."""
    bytearray(512 * 1024 * 1024)


def calculate(seconds: float = 60.0) -> float:
    """Use the processor for a time."""
    end = time.process_time() + seconds
    while time.process_time() < end:
        pass
    return seconds


def crash() -> None:
    """Crash as a decoder may."""
    os.kill(os.getpid(), signal.SIGSEGV)


def fill_the_disk() -> None:
    raise OSError(errno.ENOSPC, "No space left on device")


def refusal(attempt: str, *arguments: object) -> str | None:
    """The name of the error with which the system refuses an attempt; None if it succeeds."""
    try:
        _ATTEMPTS[attempt](*arguments)
    except OSError as error:
        return errno.errorcode[error.errno or 0]
    return None


def _connect(address: object) -> None:
    kind = socket.AF_UNIX if isinstance(address, str) else socket.AF_INET
    with socket.socket(kind) as connecting:
        connecting.connect(address if isinstance(address, str) else ("127.0.0.1", address))


def _listen() -> None:
    with socket.create_server(("127.0.0.1", 0)):
        pass


def _fork() -> None:
    if not os.geteuid():
        # The superuser is not limited.
        os.setuid(65534)
    for _ in range(100):
        if not os.fork():
            os._exit(0)


def _open_many() -> None:
    opened = [os.open(os.__file__, os.O_RDONLY) for _ in range(100)]
    raise AssertionError(opened)


def _execute() -> None:
    os.execv(sys.executable, [sys.executable, "-c", ""])


_ATTEMPTS: dict[str, Callable[..., object]] = {
    "read": lambda path: os.open(path, os.O_RDONLY),
    "list": os.listdir,
    "create": lambda path: os.open(path, os.O_WRONLY | os.O_CREAT),
    "remove": os.unlink,
    "link": os.symlink,
    "connect": _connect,
    "listen": _listen,
    "signal": lambda process: os.kill(process, 0),
    "fork": _fork,
    "open many": _open_many,
    "execute": _execute,
}


def limits() -> dict[str, list[int]]:
    names = ("CORE", "NOFILE", "FSIZE", "NPROC", "AS")
    return {each: [*resource.getrlimit(getattr(resource, f"RLIMIT_{each}"))] for each in names}


def descriptors() -> list[int]:
    """The open ones of the first thousand."""
    found = []
    for each in range(1000):
        with suppress(OSError):
            os.fstat(each)
            found.append(each)
    return found


def gains_no_privileges() -> bool:
    return bool(ctypes.CDLL(None).prctl(39, 0, 0, 0, 0))


def write_much(path: str) -> None:
    """Write a file of 16 GiB, most of which is a hole."""
    with open(path, "wb") as file:
        file.truncate(16 * 1024**3)
