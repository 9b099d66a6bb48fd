"""Functions that worker processes call."""

import errno
import os
import signal
import stat
import sys
import time


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
