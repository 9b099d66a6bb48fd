"""A server that writes how long each step of its event loop took.

A step is what a task does between two checkpoints: everybody else waits for its end. Lines of the
file ``steps`` in the working folder have the processor time in milliseconds, and the task.
"""

import sys
import time
from functools import partial
from pathlib import Path

import trio

from octavo.cli import main

LEAST = 0.005
"""Seconds of the shortest step that is written."""


class Steps(trio.abc.Instrument):
    """Writes the long steps to a file."""

    def __init__(self) -> None:
        self._file = Path("steps").open("a", buffering=1)  # noqa: SIM115 - until the process ends
        self._began = time.thread_time()

    def before_task_step(self, task: trio.lowlevel.Task) -> None:
        """Note the time."""
        self._began = time.thread_time()

    def after_task_step(self, task: trio.lowlevel.Task) -> None:
        """Write the step if it was long."""
        seconds = time.thread_time() - self._began
        if seconds >= LEAST:
            self._file.write(f"{1000 * seconds:.1f} {task.name}\n")


if __name__ == "__main__":
    trio.run = partial(trio.run, instruments=[Steps()])  # type: ignore[assignment]
    sys.exit(main())
