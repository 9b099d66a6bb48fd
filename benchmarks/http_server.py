"""The requests per second of the HTTP server, next to hypercorn and uvicorn, and its idle memory.

Prints one JSON line a figure: ``{"name": …, "value": …, "unit": …}``. The servers run on one core;
the load comes from wrk on another, and alternates between the servers in short rounds, so that a
slow moment of the machine affects all of them. A figure is the median of the rounds.

    python benchmarks/http_server.py [--quick]
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
from itertools import groupby
from pathlib import Path
from statistics import median

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
    """One kind of request to one server."""

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
    # (b) an operation with a JSON body of 2 KB and a response of the same size
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
    """The prefix that pins a command to one core."""
    return ["taskset", "-c", str(core)]


@contextmanager
def running(server: str, core: int) -> Iterator[tuple[int, int]]:
    """Start a server on one core; return its port and its process."""
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


@dataclass(frozen=True)
class Round:
    """The results of one round of load."""

    rate: float
    """Responses per second."""
    p50: float
    """Milliseconds; so is ``p99``."""
    p99: float
    errors: int


def wrk(load: Load, port: int, connections: int, seconds: int, core: int, script: str) -> Round:
    """Send requests for some seconds."""
    command = [*pinned(core), "wrk", "-t", "1", "-c", str(connections), "-d", str(seconds)]
    # A server that delays some requests shows it in its p99 and its errors.
    command += ["--latency", "--timeout", "10s"]
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
    [rate] = re.findall(r"Requests/sec:\s+([0-9.]+)", found)
    errors = re.findall(r"(?:connect|read|write|timeout) ([0-9]+)", found)
    return Round(
        float(rate), latency(found, "50"), latency(found, "99"), sum(int(count) for count in errors)
    )


def latency(found: str, percent: str) -> float:
    """The value of one percentile in wrk's output, in milliseconds."""
    [(value, unit)] = re.findall(rf"^\s+{percent}%\s+([0-9.]+)(us|ms|s)\s*$", found, re.MULTILINE)
    return float(value) * {"us": 1e-3, "ms": 1.0, "s": 1e3}[unit]


def compare(loads: list[Load], counts: tuple[int, ...], rounds: int) -> None:
    """Report the figures of each server for one kind of request, in alternating rounds."""
    cores = sorted(os.sched_getaffinity(0))
    with ExitStack() as stack:
        script = stack.enter_context(tempfile.NamedTemporaryFile("w", suffix=".lua"))
        script.write(
            'wrk.method = "POST"\n'
            'wrk.headers["Content-Type"] = "application/json"\n'
            f"wrk.body = [==[{BODY}]==]\n"
        )
        script.flush()
        ports = {load: stack.enter_context(running(load.server, cores[0]))[0] for load in loads}
        for load, port in ports.items():
            wrk(load, port, 16, 1, cores[-1], script.name)  # warm up
        for count in counts:
            seconds = 1 if count < 1000 else 4  # a thousand connections take a while to open
            found: dict[Load, list[Round]] = {load: [] for load in loads}
            for _ in range(rounds):
                for load, port in ports.items():
                    found[load].append(wrk(load, port, count, seconds, cores[-1], script.name))
            for load, results in found.items():
                name = f"{load.name}/{count}"
                report(f"{name}/errors", sum(one.errors for one in results), "requests")
                report(f"{name}/rate", median(one.rate for one in results), "answers/s")
                report(f"{name}/p50", median(one.p50 for one in results), "ms")
                report(f"{name}/p99", median(one.p99 for one in results), "ms")


def idle_memory(server: str, core: int, connections: int) -> None:
    """Report the resident memory per idle connection."""
    request = b"GET /api/health HTTP/1.1\r\nhost: a\r\n\r\n"
    with ExitStack() as stack:
        port, pid = stack.enter_context(running(server, core))

        def open_one() -> None:
            client = stack.enter_context(socket.create_connection(("127.0.0.1", port)))
            client.sendall(request)
            if not client.recv(4096).startswith(b"HTTP/1.1 200"):
                raise SystemExit(f"{server} did not respond")

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
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    counts, rounds = ((64,), 1) if arguments.quick else ((1, 16, 64, 1000), 3)
    chosen = [load for load in LOADS if load.name.startswith(arguments.only)]
    for _, loads in groupby(chosen, key=lambda load: load.path):
        compare(list(loads), counts, rounds)
    if "idle".startswith(arguments.only):
        connections = 500 if arguments.quick else IDLE_CONNECTIONS
        for server in ("wire", "octavo", "hypercorn", "uvicorn"):
            idle_memory(server, min(os.sched_getaffinity(0)), min(connections, hard - 500))


if __name__ == "__main__":
    main()
