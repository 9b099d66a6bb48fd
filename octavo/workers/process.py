"""The program of a worker process: it calls functions for the server, one at a time.

A request and its response are lines of JSON. The program imports only the standard library, so that
a process starts fast; the functions bring what they need.
"""

import json
import os
import signal
import sys
from collections.abc import Sequence
from importlib import import_module


def main(preloaded: Sequence[str]) -> None:
    """Serve requests until the server closes the pipe, or ends.

    ``preloaded`` are modules to import first: a new version that is installed meanwhile does not
    mix with the one that runs.
    """
    _lower_priority()
    # A service manager sends it to every process of the service; the server still responds to the
    # requests that it has, and ends this process itself.
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    # What a function prints must not be taken for a response.
    responses = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)
    for name in preloaded:
        import_module(name)
    try:
        responses.write("\n")
        responses.flush()
        for line in sys.stdin.buffer:
            responses.write(f"{json.dumps(_respond(line))}\n")
            responses.flush()
    except BrokenPipeError:
        # The server was killed meanwhile. Python would try to write again, and complain.
        os._exit(0)


def _respond(line: bytes) -> dict[str, object]:
    module, name, arguments = json.loads(line)
    try:
        return {"result": getattr(import_module(module), name)(*arguments)}
    except ValueError as error:
        # The function refuses its arguments.
        return {"refused": str(error), "kind": type(error).__name__}
    except Exception as error:  # noqa: BLE001 - the server is to learn of any
        return {"failed": f"{type(error).__name__}: {error}"}


def _lower_priority() -> None:
    if hasattr(os, "SCHED_IDLE"):
        # Any thread of the server that wakes up takes the processor immediately. With a nice value
        # of 19, it would wait for the next tick of the scheduler now and then.
        os.sched_setscheduler(0, os.SCHED_IDLE, os.sched_param(0))
    else:
        os.setpriority(os.PRIO_PROCESS, 0, 19)
