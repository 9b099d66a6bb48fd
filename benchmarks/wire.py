"""What the HTTP server answers a second, beside hypercorn and uvicorn, and what it holds idle.

Prints one JSON line a figure: ``{"name": …, "value": …, "unit": …}``. Each server runs by itself
on one core; the load comes from wrk on another. All in one run: absolute figures depend on the
machine, their ratios much less.

    python benchmarks/wire.py [--quick]
"""

from __future__ import annotations

import argparse
import json
import os
import re
import resource
import shutil
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parent.parent
NOTE = "0190a0b0-0000-7000-8000-00000000000a"
BODY = json.dumps(
    {
        "noteId": NOTE,
        "text": "A line of a note, as people write them, about so long.\n" * 35,
        "title": "A note",
        "revision": 7,
    },
    separators=(",", ":"),
)
IDLE_CONNECTIONS = 10_000


@dataclass(frozen=True)
class Load:
    """One way to ask one server."""

    name: str
    server: str
    path: str
    saves: bool = False


LOADS = (
    # (a) a trivial operation
    Load("trivial/wire", "wire", "/api/health"),
    Load("trivial/octavo", "octavo", "/api/health"),
    Load("trivial/hypercorn", "hypercorn", "/api/health"),
    Load("trivial/uvicorn", "uvicorn", "/api/health"),
    # (b) an operation with a JSON body of 2 KB and an answer as large
    Load("json/wire", "wire", f"/api/notes/{NOTE}/saves", saves=True),
    Load("json/octavo", "octavo", f"/api/notes/{NOTE}/saves", saves=True),
    Load("json/hypercorn", "hypercorn", f"/api/notes/{NOTE}/saves", saves=True),
    Load("json/uvicorn", "uvicorn", f"/api/notes/{NOTE}/saves", saves=True),
    # (c) a page of Quart
    Load("page/octavo", "octavo", "/"),
    Load("page/wire-quart", "wire-quart", "/"),
    Load("page/hypercorn-quart", "hypercorn-quart", "/"),
    Load("page/uvicorn-quart", "uvicorn-quart", "/"),
)


def report(name: str, value: float, unit: str) -> None:
    print(json.dumps({"name": name, "value": round(value, 3), "unit": unit}), flush=True)


def pinned(core: int) -> list[str]:
    """The words before a command that keep it on one core."""
    return ["taskset", "-c", str(core)]


@contextmanager
def running(server: str, core: int) -> Iterator[tuple[int, int]]:
    """Start a server on one core; give its port and its process."""
    with socket.create_server(("127.0.0.1", 0)) as probe:
        port = probe.getsockname()[1]
    process = subprocess.Popen(
        [*pinned(core), sys.executable, "-m", "benchmarks.servers", server, str(port)],
        cwd=ROOT,
        stderr=subprocess.DEVNULL,
    )
    try:
        deadline = time.monotonic() + 30
        while True:
            try:
                socket.create_connection(("127.0.0.1", port), timeout=1).close()
                break
            except OSError:
                if time.monotonic() > deadline or process.poll() is not None:
                    raise SystemExit(f"the server {server} did not start") from None
                time.sleep(0.05)
        yield port, process.pid
    finally:
        process.kill()
        process.wait()


def wrk(load: Load, port: int, connections: int, seconds: int, core: int, script: str) -> None:
    """Ask for some seconds, and report answers a second and how long they took."""
    command = [
        *pinned(core),
        "wrk",
        "-t",
        "1",
        "-c",
        str(connections),
        "-d",
        str(seconds),
        "--latency",
        # A server that lets some wait for longer shows it in its p99 and its errors.
        "--timeout",
        "10s",
    ]
    if load.saves:
        command += ["-s", script]
    found = subprocess.run(
        [*command, f"http://127.0.0.1:{port}{load.path}"],
        capture_output=True,
        text=True,
        check=True,
    ).stdout
    if "Non-2xx" in found:
        raise SystemExit(f"{load.name} at {connections} connections went wrong:\n{found}")
    name = f"{load.name}/{connections}"
    errors = re.findall(r"(?:connect|read|write|timeout) ([0-9]+)", found)
    report(f"{name}/errors", sum(map(int, errors)), "requests")
    [rate] = re.findall(r"Requests/sec:\s+([0-9.]+)", found)
    report(f"{name}/rate", float(rate), "answers/s")
    for percent in ("50", "99"):
        [(value, unit)] = re.findall(rf"^\s+{percent}%\s+([0-9.]+)(us|ms|s)\s*$", found, re.MULTILINE)
        scale = {"us": 1e-3, "ms": 1.0, "s": 1e3}[unit]
        report(f"{name}/p{percent}", float(value) * scale, "ms")


def idle_memory(server: str, core: int, connections: int) -> None:
    """Report the resident memory that each idle connection holds."""
    request = b"GET /api/health HTTP/1.1\r\nhost: a\r\n\r\n"
    with ExitStack() as stack:
        port, pid = stack.enter_context(running(server, core))

        def open_one() -> None:
            client = stack.enter_context(socket.create_connection(("127.0.0.1", port)))
            client.sendall(request)
            if not client.recv(4096).startswith(b"HTTP/1.1 200"):
                raise SystemExit(f"{server} did not answer")

        for _ in range(100):
            open_one()
        before = resident(pid)
        for _ in range(connections):
            open_one()
        grown = resident(pid) - before
    report(f"idle/{server}/{connections}", grown / connections, "bytes/connection")


def resident(pid: int) -> int:
    [kilobytes] = re.findall(r"VmRSS:\s+([0-9]+) kB", Path(f"/proc/{pid}/status").read_text())
    return int(kilobytes) * 1024


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="a second a figure, fewer figures")
    parser.add_argument("--only", default="", help="loads whose name begins like this")
    arguments = parser.parse_args()
    if shutil.which("wrk") is None:
        raise SystemExit("wrk makes the load: install it (apt-get install wrk), and try again")
    cores = sorted(os.sched_getaffinity(0))
    server_core, client_core = cores[0], cores[-1]
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    seconds, counts = (1, (64,)) if arguments.quick else (4, (1, 16, 64, 1000))
    with tempfile.NamedTemporaryFile("w", suffix=".lua") as script:
        script.write(
            'wrk.method = "POST"\n'
            'wrk.headers["Content-Type"] = "application/json"\n'
            f"wrk.body = [==[{BODY}]==]\n"
        )
        script.flush()
        for load in LOADS:
            if load.name.startswith(arguments.only):
                with running(load.server, server_core) as (port, _):
                    for count in counts:
                        wrk(load, port, count, seconds, client_core, script.name)
    if "idle".startswith(arguments.only):
        connections = 500 if arguments.quick else IDLE_CONNECTIONS
        for server in ("wire", "octavo", "hypercorn", "uvicorn"):
            idle_memory(server, server_core, min(connections, hard - 500))


if __name__ == "__main__":
    main()
