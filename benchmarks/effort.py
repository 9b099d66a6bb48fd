"""What a server spends on its work: processor time, and instructions where `perf` can count them.

A rate depends on the hour of a shared machine, a count of instructions hardly: it says how much
there is to do for one request, on any machine with the same Python.
"""

import os
import shutil
import signal
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

_SETTLING_SECONDS = 0.1
"""Seconds until `perf` has attached itself to all threads of the server."""


@dataclass
class Effort:
    """What a process has spent within a block.

    Attributes:
        seconds: of processor time, in all its threads.
        instructions: that it has executed outside the kernel, None if they can't be counted.
    """

    seconds: float = 0.0
    instructions: int | None = None


@contextmanager
def effort_of(pid: int) -> Iterator[Effort]:
    """Measure what the process ``pid`` spends within the block; known when the block has ended."""
    effort = Effort()
    before = _processor_seconds(pid)
    counting = _start_counting(pid)
    try:
        yield effort
    finally:
        effort.seconds = _processor_seconds(pid) - before
        effort.instructions = _counted(counting)


def _processor_seconds(pid: int) -> float:
    """Return the processor time of all threads, those that have ended included, to 10 ms."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def _start_counting(pid: int) -> "subprocess.Popen[str] | None":
    if shutil.which("perf") is None:
        return None
    command = ["perf", "stat", "--field-separator=,", "--event=instructions:u", f"--pid={pid}"]
    counting = subprocess.Popen(
        command,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
    )
    try:
        counting.wait(_SETTLING_SECONDS)
    except subprocess.TimeoutExpired:
        return counting
    # It may not count here.
    counting.communicate()
    return None


def _counted(counting: "subprocess.Popen[str] | None") -> int | None:
    if counting is None:
        return None
    counting.send_signal(signal.SIGINT)
    _, report = counting.communicate()
    counts = [line.partition(",")[0] for line in report.splitlines() if "instructions" in line]
    return int(counts[0]) if counts and counts[0].isdigit() else None
