"""How many Python functions the server calls for one request, by room.

A count has no noise of the machine in it. With one client it is the same each time; with 16, it
depends on how many requests come together. Prints one JSON line a figure, and with ``--rooms`` the
rooms of each.

    python benchmarks/calls.py [--rooms] [--functions N] [--repeat N] [--only NAME]
"""

from __future__ import annotations

import sys
from pathlib import Path

ROOT = Path(__file__).parent.parent
# This script's folder would hide the package http of the standard library.
sys.path[0] = str(ROOT)

import argparse  # noqa: E402
import json  # noqa: E402
import os  # noqa: E402
import random  # noqa: E402
import signal  # noqa: E402
import subprocess  # noqa: E402
import tempfile  # noqa: E402
import time  # noqa: E402
import urllib.request  # noqa: E402
from collections import Counter  # noqa: E402
from collections.abc import Callable, Iterator, Mapping  # noqa: E402
from contextlib import contextmanager  # noqa: E402

from benchmarks.clients.corpus import edited, note  # noqa: E402
from benchmarks.clients.raw import NextRequest, load  # noqa: E402
from benchmarks.http import LISTENS, ORIGIN, Service, announced, make_key, request  # noqa: E402

SIZE, LINKS = 2_000, 10
WARM = 30
REQUESTS = 800


class Counted(Service):
    """A server that counts, and the file that it writes its counts to."""

    file: Path

    def calls(self) -> dict[str, dict[str, int]]:
        """Return the calls since the last time, by room and function."""
        self.file.unlink(missing_ok=True)
        os.kill(self.pid, signal.SIGUSR1)
        deadline = time.monotonic() + 10
        while not self.file.exists():
            if time.monotonic() > deadline:
                raise SystemExit("the server wrote no counts")
            time.sleep(0.01)
        found: dict[str, dict[str, int]] = json.loads(self.file.read_text())
        return found


@contextmanager
def counted(*options: str) -> Iterator[Counted]:
    """Serve from a data folder in a temporary folder, and count."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        command = [sys.executable, "-m", "benchmarks.servers.counted", str(folder / "counts")]
        command += ["serve", "--bind", "127.0.0.1:0", "--data-dir", str(folder / "data")]
        command += ["--public-url", ORIGIN, "--log-format", "json", *options]
        with (folder / "log").open("wb") as log, (folder / "out").open("wb") as out:
            process = subprocess.Popen(command, cwd=ROOT, stderr=log, stdout=out)
        try:
            port = int(announced(process, folder / "log", LISTENS))
            key = make_key(port, announced(process, folder / "out", r"invitation=(\S+)"))
            urllib.request.urlopen(f"http://127.0.0.1:{port}/").close()
            served = Counted(port, process.pid, key)
            object.__setattr__(served, "file", folder / "counts")
            yield served
        finally:
            process.kill()
            process.wait()


def saving(served: Service, workspace: str, seed: int) -> NextRequest:
    """Save edits of a note of real Markdown, each on top of the one before."""
    text, chosen = note(SIZE, LINKS, seed), random.Random(seed)
    body = {"path": f"Tea/{seed}.md", "text": text}
    made = served.ask("POST", f"/api/workspaces/{workspace}/files", body)
    path = f"/api/workspaces/{workspace}/files/{made['fileId']}"

    def following(status: int, tag: bytes) -> bytes:
        if status not in (0, 200):
            raise SystemExit(f"a save got {status}")
        if not status:
            head = served.ask("GET", f"{path}?content=text")["head"]
            tag = b'"%b"' % str(head["id"]).encode()
        body = json.dumps({"text": edited(text, chosen)}).encode()
        return request("PUT", path, served.key, b"if-match: " + tag, body=body)

    return following


def saves(served: Service, writers: int) -> list[NextRequest]:
    """Guarded saves of notes of 2 KB with ten links, in one workspace."""
    workspace = served.workspace()
    return [saving(served, workspace, seed) for seed in range(writers)]


def reads(served: Service, *, known: bool) -> list[NextRequest]:
    """Reads of a note of 2 KB; conditional ones of a client that knows it."""
    workspace = served.workspace()
    body = {"path": "Tea/note.md", "text": note(SIZE, LINKS, 0)}
    made = served.ask("POST", f"/api/workspaces/{workspace}/files", body)
    path = f"/api/workspaces/{workspace}/files/{made['fileId']}?content=text"
    tag = b'if-none-match: "%b"' % str(made["revision"]["id"]).encode()
    sent = request("GET", path, served.key, *([tag] if known else []))
    return [lambda status, tag: sent]


def health(served: Service) -> list[NextRequest]:
    """Requests for the health of the server."""
    sent = request("GET", "/api/health", served.key)
    return [lambda status, tag: sent]


WORK: Mapping[str, Callable[[Counted], list[NextRequest]]] = {
    "save, 1 writer": lambda served: saves(served, 1),
    "save, 16 writers": lambda served: saves(served, 16),
    "304": lambda served: reads(served, known=True),
    "read of 2 KB": lambda served: reads(served, known=False),
    "health": health,
}
"""What is counted, by name."""


def measure(served: Counted, name: str) -> dict[str, Counter[str]]:
    """Return the calls of `REQUESTS` requests, by room and function."""
    clients = WORK[name](served)
    load(served.port, clients, each=WARM)
    served.calls()
    load(served.port, clients, each=REQUESTS // len(clients))
    return {room: Counter(found) for room, found in served.calls().items()}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rooms", action="store_true", help="the calls of each room, too")
    parser.add_argument("--functions", type=int, default=0, help="so many functions")
    parser.add_argument("--repeat", type=int, default=1, help="count so many times")
    parser.add_argument("--only", choices=WORK, help="one figure")
    arguments = parser.parse_args()
    with counted() as served:
        for name in (
            (arguments.repeat * [arguments.only]) if arguments.only else arguments.repeat * [*WORK]
        ):
            found = measure(served, name)
            each = {room: calls.total() / REQUESTS for room, calls in found.items()}
            tell(name, sum(each.values()))
            if arguments.rooms:
                for room in sorted(each, key=each.__getitem__, reverse=True):
                    tell(f"{name}/{room}", each[room])
            functions = sum(found.values(), Counter[str]())
            for function, calls in functions.most_common(arguments.functions):
                tell(f"{name}/{function}", calls / REQUESTS)


def tell(name: str, calls: float) -> None:
    figure = {"name": name, "value": round(calls, 2), "unit": "calls"}
    print(json.dumps(figure), flush=True)


if __name__ == "__main__":
    main()
