"""The program of a process from which those of ``octavo`` are forked: see `prepared`.

It imports what the commands import, and waits for requests on the socket whose number is its
argument: each has the arguments of ``octavo``, its folder and its environment in JSON, and its
standard streams. The response is the process id.
"""

import gc
import json
import os
import runpy
import socket
import sys
from importlib import import_module
from pathlib import Path
from unittest import mock

import octavo
from octavo.features.accounts import passwords
from tests.e2e.prepared import HASH_COST

MOST_BYTES = 200_000
ROOT = Path(octavo.__file__).parent


def preload() -> None:
    """Import every module, also what is imported when a command or an operation is called."""
    for path in sorted(ROOT.rglob("*.py")):
        name = ".".join(("octavo", *path.relative_to(ROOT).with_suffix("").parts))
        if path.stem not in ("__init__", "__main__"):
            import_module(name)
    mock.patch.object(passwords, "Argon2", return_value=HASH_COST).start()
    # The objects live as long as each process: without this, each would copy their pages.
    gc.collect()
    gc.freeze()
    assert len(os.listdir("/proc/self/task")) == 1, "a fork copies only one thread"


def forked(requests: socket.socket) -> dict[str, object] | None:
    """Fork a process for each request; return it there, and None here after the last one."""
    while True:
        data, streams, _, _ = socket.recv_fds(requests, MOST_BYTES, 3)
        if not data:
            return None
        told, tell = os.pipe()
        between = os.fork()
        if between:
            os.close(tell)
            with open(told, "rb") as said:
                number = said.read()
            os.waitpid(between, 0)
            for each in streams:
                os.close(each)
            requests.send(number)
            continue
        # A process whose parent has ended becomes a child of the tests.
        pid = os.fork()
        if pid:
            os.write(tell, str(pid).encode())
            os._exit(0)
        for each in (told, tell, requests.detach()):
            os.close(each)
        for at, stream in enumerate(streams):
            os.dup2(stream, at)
            os.close(stream)
        request: dict[str, object] = json.loads(data)
        return request


def main() -> None:
    preload()
    with socket.socket(fileno=int(sys.argv[1])) as requests:
        request = forked(requests)
    if request is None:
        return
    arguments, folder, environment = (request[name] for name in ("arguments", "folder", "env"))
    assert isinstance(arguments, list)
    assert isinstance(folder, str)
    assert isinstance(environment, dict)
    os.chdir(folder)
    os.environ.clear()
    os.environ.update(environment)
    sys.path[0] = folder
    sys.argv[1:] = arguments
    runpy.run_module("octavo", run_name="__main__", alter_sys=True)


if __name__ == "__main__":
    main()
