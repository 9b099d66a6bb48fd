"""How many Python functions the server calls for one request, by room.

A count has little noise of the machine in it. A client that pauses before its next request lets the
server wait for it, and gets nearly the same count each time. Without a pause (``back to back``), it
depends on whether the request has arrived when the server looks for it, and with 16 clients on how
many come together. Prints one JSON line a figure, and with ``--rooms`` the rooms of each. With
``--floor``, `benchmarks/servers/floor.py`, the least that a server on trio can do, is counted, too.
``--write`` writes the counts into docs/performance.md.

    python benchmarks/calls.py [--quick] [--rooms] [--functions N] [--repeat N]
        [--only FIGURE [FIGURE …]] [--floor] [--write]

A figure is one of "health", "304", "read of 2 KB", "save, 1 writer" and "save, 16 writers"; those
of one client also with "back to back/" before the name. A room is a folder of Octavo, a package, or
"python", its standard library.
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
import uuid  # noqa: E402
from collections import Counter  # noqa: E402
from collections.abc import Callable, Iterator, Mapping  # noqa: E402
from contextlib import contextmanager  # noqa: E402

from benchmarks.clients.corpus import edited, note  # noqa: E402
from benchmarks.clients.raw import NextRequest, load  # noqa: E402
from benchmarks.figures import positive, report, write_tables  # noqa: E402
from benchmarks.http import (  # noqa: E402
    LISTENS,
    ORIGIN,
    Floor,
    Service,
    announced,
    announced_invitation,
    editing,
    make_key,
    repeating,
    request,
)

SIZE, LINKS = 2_000, 10
OWN = ("octavo/", "packages/")
"""The folders of the project whose files are counted, but for tests and benchmarks."""
WARM = 30
REQUESTS = 800
QUICKLY = 160
PAUSE = 0.001
"""Seconds of a pause: the server waits for the next request by then, also on a busy machine."""
QUIET = 0.3
QUIET_CALLS = 200
"""The server has finished what follows saves when it calls fewer functions in `QUIET` seconds."""

ClientsOfFloor = Callable[[Floor], list[NextRequest]]


class Counts:
    """The counts of a server that counts.

    Args:
        pid: of the server.
        file: that it writes its counts to.
    """

    def __init__(self, pid: int, file: Path) -> None:
        self._pid, self._file = pid, file

    def taken(self) -> dict[str, dict[str, int]]:
        """Return the calls since the last time, by room and function."""
        self._file.unlink(missing_ok=True)
        os.kill(self._pid, signal.SIGUSR1)
        deadline = time.monotonic() + 10
        while not self._file.exists():
            if time.monotonic() > deadline:
                raise SystemExit("the server wrote no counts")
            time.sleep(0.01)
        found: dict[str, dict[str, int]] = json.loads(self._file.read_text())
        return found


@contextmanager
def counted(*options: str) -> Iterator[tuple[Service, Counts]]:
    """Serve from a data folder in a temporary folder, and count."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        arguments = ["serve", "--bind", "127.0.0.1:0", "--data-dir", str(folder / "data")]
        arguments += ["--public-url", ORIGIN, "--log-format", "json", *options]
        with _counting(folder, "octavo", *arguments) as process:
            port = int(announced(process, folder / "log", LISTENS))
            key = make_key(port, announced_invitation(process, folder / "log"))
            urllib.request.urlopen(f"http://127.0.0.1:{port}/").close()
            yield Service(port, process.pid, key), Counts(process.pid, folder / "counts")


@contextmanager
def counted_floor() -> Iterator[tuple[Floor, Counts]]:
    """Serve `benchmarks/servers/floor.py` from a temporary folder, and count."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        with _counting(folder, "floor", str(folder / "notes.sqlite3")) as process:
            port = int(announced(process, folder / "out", LISTENS))
            yield Floor(port, process.pid), Counts(process.pid, folder / "counts")


@contextmanager
def _counting(folder: Path, program: str, *arguments: str) -> Iterator[subprocess.Popen[bytes]]:
    command = [sys.executable, "-m", "benchmarks.servers.counted", str(folder / "counts")]
    with (folder / "log").open("wb") as log, (folder / "out").open("wb") as out:
        process = subprocess.Popen(
            [*command, program, *arguments], cwd=ROOT, stderr=log, stdout=out
        )
    try:
        yield process
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
    return [repeating(sent)]


def health(served: Service) -> list[NextRequest]:
    """Requests for the health of the server."""
    sent = request("GET", "/api/health", served.key)
    return [repeating(sent)]


def of_floor(least: Floor, writers: int) -> list[NextRequest]:
    """Saves by `benchmarks/servers/floor.py` of the same notes."""
    texts = [note(SIZE, LINKS, seed) for seed in range(writers)]
    names = [uuid.uuid4().hex for _ in texts]
    return [
        editing(f"/notes/{name}", "none", least.note(name, text), text)
        for name, text in zip(names, texts, strict=True)
    ]


def reads_of_floor(least: Floor, *, known: bool) -> list[NextRequest]:
    """Reads of a note of 2 KB by `benchmarks/servers/floor.py`."""
    tag = least.note("read", note(SIZE, LINKS, 0))
    condition = [b"if-none-match: " + tag] if known else []
    return [repeating(request("GET", "/notes/read", "none", *condition))]


WORK: Mapping[str, tuple[Callable[[Service], list[NextRequest]], ClientsOfFloor]] = {
    "health": (health, lambda _: [repeating(request("GET", "/health", "none"))]),
    "304": (
        lambda served: reads(served, known=True),
        lambda least: reads_of_floor(least, known=True),
    ),
    "read of 2 KB": (
        lambda served: reads(served, known=False),
        lambda least: reads_of_floor(least, known=False),
    ),
    "save, 1 writer": (lambda served: saves(served, 1), lambda least: of_floor(least, 1)),
    "save, 16 writers": (lambda served: saves(served, 16), lambda least: of_floor(least, 16)),
}
"""What is counted, by name: the clients of Octavo, and those of the floor.

Saves come last: the words of their notes are indexed seconds later.
"""


BACK_TO_BACK = "back to back/"
FIGURES = (
    *("health", "back to back/health"),
    *("304", "back to back/304"),
    *("read of 2 KB", "back to back/read of 2 KB"),
    *("save, 1 writer", "back to back/save, 1 writer", "save, 16 writers"),
)
"""What is reported: single clients with pauses and without, and 16 of them."""


def measure(served: Service, counts: Counts, figure: str, requests: int) -> dict[str, Counter[str]]:
    """Return the calls of ``requests``, by room and function."""
    of_octavo, _ = WORK[figure.removeprefix(BACK_TO_BACK)]
    clients = of_octavo(served)
    return _measured(served.port, counts, clients, clients, figure, requests)


def measure_floor(
    least: Floor, counts: Counts, figure: str, requests: int
) -> dict[str, Counter[str]]:
    """Return the calls of ``requests`` to the floor, by room and function."""
    _, clients_of = WORK[figure.removeprefix(BACK_TO_BACK)]
    return _measured(least.port, counts, clients_of(least), clients_of(least), figure, requests)


def _measured(
    port: int,
    counts: Counts,
    warming: list[NextRequest],
    clients: list[NextRequest],
    figure: str,
    requests: int,
) -> dict[str, Counter[str]]:
    pause = PAUSE if len(clients) == 1 and not figure.startswith(BACK_TO_BACK) else 0.0
    load(port, warming, each=WARM, pause=pause)
    _become_quiet(counts)
    load(port, clients, each=requests // len(clients), pause=pause)
    return {room: Counter(found) for room, found in counts.taken().items()}


def _become_quiet(counts: Counts) -> None:
    deadline = time.monotonic() + 30
    counts.taken()
    while time.monotonic() < deadline:
        time.sleep(QUIET)
        if sum(sum(found.values()) for found in counts.taken().values()) < QUIET_CALLS:
            return
    raise SystemExit("the server does not become quiet")


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--quick", action="store_true", help="fewer requests a figure")
    parser.add_argument("--rooms", action="store_true", help="also print the calls of each room")
    parser.add_argument(
        "--functions", type=positive, metavar="N", help="also print the N functions called most"
    )
    parser.add_argument(
        "--repeat", type=positive, metavar="N", default=1, help="count each figure N times"
    )
    parser.add_argument(
        "--only", choices=FIGURES, nargs="+", metavar="FIGURE", default=FIGURES, help="some figures"
    )
    parser.add_argument("--floor", action="store_true", help="also count those of the least server")
    parser.add_argument("--write", action="store_true", help="also write docs/performance.md")
    arguments = parser.parse_args()
    requests = QUICKLY if arguments.quick else REQUESTS
    names = [each for each in arguments.only for _ in range(arguments.repeat)]
    with counted() as (served, counts):
        for name in names:
            tell_all(name, measure(served, counts, name, requests), requests, arguments)
    if arguments.floor:
        with counted_floor() as (least, counts):
            for name in names:
                found = measure_floor(least, counts, name, requests)
                tell_all(f"floor/{name}", found, requests, arguments)
    if arguments.write:
        write_tables()


def tell_all(
    name: str, found: Mapping[str, Counter[str]], requests: int, asked: argparse.Namespace
) -> None:
    each = {room: calls.total() / requests for room, calls in found.items()}
    report(name, sum(each.values()), "calls")
    # Those of jobs in the background run less often.
    called = (
        function for calls in found.values() for function in calls if calls[function] >= requests
    )
    files = {file for function in called if (file := function.partition(":")[0]).startswith(OWN)}
    report(f"{name}/files", len(files), "files")
    if asked.rooms:
        for room in sorted(each, key=each.__getitem__, reverse=True):
            report(f"{name}/{room}", each[room], "calls")
    if asked.functions is not None:
        functions = sum(found.values(), Counter[str]())
        for function, calls in functions.most_common(asked.functions):
            report(f"{name}/{function}", calls / requests, "calls")


if __name__ == "__main__":
    main()
