"""The whole service over HTTP: durable saves, reads, contention, notices, memory.

Prints one JSON line a figure: ``{"name": …, "value": …, "unit": …}``. The server has one core, the
clients another. SQLite writes with ``synchronous=FULL``: an acknowledged save is on the disk.
The first figures show what the client does alone, against a server that does nothing.

    python benchmarks/http.py [--quick] [--postgres URL] [--write]
        [--only client|floor|saves|reads|contention|notices]

The group ``floor`` compares it with `benchmarks/servers/floor.py`, the least that a server on trio
can do, in alternating rounds: for each work the two rates, and their ratio. With ``--postgres`` the
saves are also measured on an empty PostgreSQL database, where all processes share all cores.
``--write`` writes the figures into docs/performance.md (`benchmarks.figures`).
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
import re  # noqa: E402
import socket  # noqa: E402
import statistics  # noqa: E402
import subprocess  # noqa: E402
import tempfile  # noqa: E402
import threading  # noqa: E402
import time  # noqa: E402
import urllib.request  # noqa: E402
import uuid  # noqa: E402
from collections.abc import Callable, Iterator  # noqa: E402
from contextlib import contextmanager  # noqa: E402
from dataclasses import dataclass  # noqa: E402
from itertools import cycle  # noqa: E402
from typing import Any  # noqa: E402

from benchmarks.clients import corpus  # noqa: E402
from benchmarks.clients.listeners import Listeners  # noqa: E402
from benchmarks.clients.raw import Found, NextRequest, load  # noqa: E402
from benchmarks.effort import effort_of  # noqa: E402
from benchmarks.figures import report, write_tables  # noqa: E402

ORIGIN = "http://localhost"
LISTENS = r"listens on http://127\.0\.0\.1:([0-9]+)"
LINK = r'with the link in ([^\s"]+)'
SIZE, LINKS = 2_000, 10
"""Of a note, in characters: real Markdown with links and code."""
TEXT = corpus.note(SIZE, LINKS, 0)
ROUNDS = 5
LISTENERS = 1_000
SCATTERED, CHANGESET = 4_000, 500
"""Notes that are read in turn, and how many of them are made at once."""


def pinned(core: int) -> list[str]:
    return ["taskset", "-c", str(core)]


@dataclass(frozen=True)
class Service:
    """A running server, and an account on it."""

    port: int
    pid: int
    key: str

    def ask(self, method: str, path: str, body: object = None) -> dict[str, Any]:
        data = None if body is None else json.dumps(body).encode()
        headers = {"authorization": f"Bearer {self.key}", "content-type": "application/json"}
        request = urllib.request.Request(
            f"http://127.0.0.1:{self.port}{path}", data, headers, method=method
        )
        with urllib.request.urlopen(request) as response:
            return dict(json.load(response))

    def workspace(self) -> str:
        return str(self.ask("POST", "/api/workspaces", {"name": "Bench"})["id"])

    def note(self, workspace: str, name: str, text: str = TEXT) -> tuple[str, str]:
        """Create a note; return its id and its revision."""
        body = {"path": f"{name}.md", "text": text}
        made = self.ask("POST", f"/api/workspaces/{workspace}/files", body)
        return str(made["fileId"]), str(made["revision"]["id"])

    def memory(self) -> float:
        """Resident memory of the server, in megabytes."""
        status = Path(f"/proc/{self.pid}/status").read_text()
        [kilobytes] = re.findall(r"VmRSS:\s+([0-9]+) kB", status)
        return int(kilobytes) / 1024


@contextmanager
def service(core: int | None, *options: str, root: Path = ROOT) -> Iterator[Service]:
    """Serve the checkout ``root`` on one core, with a data folder in a temporary folder.

    None stands for every core.
    """
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        command = [] if core is None else [*pinned(core)]
        command += [sys.executable, "-m", "octavo", "serve", "--bind"]
        command += ["127.0.0.1:0", "--data-dir", str(folder / "data"), "--public-url", ORIGIN]
        command += ["--connections-per-client", "5000", "--log-format", "json"]
        command += ["--requests-per-connection", "1000000000", *options]
        with (folder / "log").open("wb") as log, (folder / "out").open("wb") as out:
            environment = {**os.environ, "PYTHONPATH": str(root)}
            process = subprocess.Popen(command, cwd=folder, stderr=log, stdout=out, env=environment)
        try:
            port = int(announced(process, folder / "log", LISTENS))
            key = make_key(port, announced_invitation(process, folder / "log"))
            # The pages are loaded after the start, in a thread that delays every request meanwhile.
            urllib.request.urlopen(f"http://127.0.0.1:{port}/").close()
            yield Service(port, process.pid, key)
        finally:
            process.kill()
            process.wait()


def announced(process: subprocess.Popen[bytes], file: Path, pattern: str) -> str:
    deadline = time.monotonic() + 30
    while time.monotonic() < deadline and process.poll() is None:
        found = re.search(pattern, file.read_text())
        if found is not None:
            return found[1]
        time.sleep(0.05)
    raise SystemExit(f"the server did not start:\n{file.read_text()}")


def announced_invitation(process: subprocess.Popen[bytes], log: Path) -> str:
    """Return the invitation of the first administrator."""
    link = Path(announced(process, log, LINK)).read_text()
    return link.partition("invitation=")[2].strip()


def make_key(port: int, invitation: str) -> str:
    def post(path: str, body: object, cookie: str) -> Any:  # noqa: ANN401  # a response of urllib
        headers = {"origin": ORIGIN, "content-type": "application/json", "cookie": cookie}
        data = json.dumps(body).encode()
        url = f"http://127.0.0.1:{port}{path}"
        return urllib.request.urlopen(urllib.request.Request(url, data, headers))

    account = {"invitation": invitation, "address": "bench@example.org", "displayName": "Bench"}
    with post("/api/registrations", {**account, "password": "orange lanterns at dusk"}, "") as made:
        cookie = made.headers["set-cookie"].partition(";")[0]
    with post("/api/account/keys", {"name": "bench"}, cookie) as response:
        return str(json.load(response)["secret"])


def request(method: str, path: str, key: str, *headers: bytes, body: bytes = b"") -> bytes:
    lines = [
        f"{method} {path} HTTP/1.1".encode(),
        b"host: localhost",
        b"authorization: Bearer " + key.encode(),
        *headers,
    ]
    if body:
        lines += [b"content-type: application/json", b"content-length: %d" % len(body)]
    return b"\r\n".join(lines) + b"\r\n\r\n" + body


def saving(
    served: Service, workspace: str, file_id: str, revision: str, text: str = TEXT
) -> NextRequest:
    """Save one note again and again, each time on top of the previous save."""
    path = f"/api/workspaces/{workspace}/files/{file_id}"
    return editing(path, served.key, b'"%b"' % revision.encode(), text)


def editing(path: str, key: str, known: bytes, text: str) -> NextRequest:
    """Save edits of a text at random places, the first on top of the entity tag ``known``."""
    chosen = random.Random(path)
    last = known

    def following(status: int, tag: bytes) -> bytes:
        nonlocal last
        if status not in (0, 200):
            raise SystemExit(f"a save got {status}")
        last = tag or last
        body = json.dumps({"text": corpus.edited(text, chosen)}).encode()
        return request("PUT", path, key, b"if-match: " + last, body=body)

    return following


def contending(served: Service, workspace: str, file_id: str, revision: str) -> NextRequest:
    """Save a note that others save too; after a conflict, on top of the winning save."""
    path = f"/api/workspaces/{workspace}/files/{file_id}"
    return repeated_save(path, served.key, b'"%b"' % revision.encode())


def repeated_save(path: str, key: str, known: bytes) -> NextRequest:
    """Save a note that others save too; after a conflict, on top of the tag that it tells."""
    name = uuid.uuid4().hex
    count = 0
    last = known

    def following(status: int, tag: bytes) -> bytes:
        nonlocal count, last
        if status not in (0, 200, 412):
            raise SystemExit(f"got {status}")
        count += 1
        last = tag or last
        body = json.dumps({"text": f"{name} {count}\n{TEXT}"}).encode()
        return request("PUT", path, key, b"if-match: " + last, body=body)

    return following


def tell(name: str, found: Found, status: int, unit: str) -> None:
    report(f"{name}/rate", found.rate(status), unit)
    report(f"{name}/p50", found.percentile(50), "ms")
    report(f"{name}/p99", found.percentile(99), "ms")


def client_alone(server_core: int, seconds: float) -> None:
    """Measure the client alone, to show that it is not the limit."""
    with socket.create_server(("127.0.0.1", 0)) as probe:
        port = probe.getsockname()[1]
    command = [*pinned(server_core), sys.executable, "-m", "benchmarks.clients.canned", str(port)]
    process = subprocess.Popen(command, cwd=ROOT)
    try:
        while True:
            try:
                socket.create_connection(("127.0.0.1", port)).close()
                break
            except OSError:
                time.sleep(0.05)
        nobody = Service(port, process.pid, "none")
        for count in (1, 16, 64):
            writers = [saving(nobody, "w", "f", "r") for _ in range(count)]
            tell(f"client/saves/{count}", load(port, writers, seconds), 200, "answers/s")
    finally:
        process.kill()
        process.wait()


def saves(served: Service, counts: tuple[int, ...], seconds: float, engine: str = "") -> None:
    for count in counts:
        workspace = served.workspace()
        notes = [served.note(workspace, str(number)) for number in range(count)]
        writers = [saving(served, workspace, *note) for note in notes]
        found = load(served.port, writers, seconds)
        tell(f"{engine}saves/one workspace/{count}", found, 200, "saves/s")
    writers = []
    for _ in range(64):
        workspace = served.workspace()
        writers.append(saving(served, workspace, *served.note(workspace, "note")))
    tell(f"{engine}saves/64 workspaces/64", load(served.port, writers, seconds), 200, "saves/s")


def reads(served: Service, seconds: float) -> None:
    workspace = served.workspace()
    file_id, revision = served.note(workspace, "note")
    path = f"/api/workspaces/{workspace}/files/{file_id}?content=text"
    known = request("GET", path, served.key, b'if-none-match: "%b"' % revision.encode())
    whole = request("GET", path, served.key)
    for name, status, sent in (("304", 304, known), ("2 KB", 200, whole)):
        for count in (16, 64):
            found = load(served.port, [repeating(sent)] * count, seconds)
            tell(f"reads/{name}/{count}", found, status, "reads/s")


def repeating(sent: bytes) -> NextRequest:
    return lambda status, tag: sent


def contention(served: Service, seconds: float) -> None:
    workspace = served.workspace()
    file_id, revision = served.note(workspace, "note")
    before = position(served, workspace)
    writers = [contending(served, workspace, file_id, revision) for _ in range(16)]
    found = load(served.port, writers, seconds)
    accepted = position(served, workspace) - before
    report("contended/16/accepted", accepted / found.seconds, "saves/s")
    report("contended/16/refused", found.rate(412), "saves/s")
    revisions = 0
    after: str | None = ""
    while after is not None:
        page = served.ask(
            "GET",
            f"/api/workspaces/{workspace}/files/{file_id}/revisions?limit=500"
            + (f"&after={after}" if after else ""),
        )
        revisions += len(page["items"])
        after = page["next"]
    report("contended/16/lost", accepted + 1 - revisions, "saves")


@dataclass(frozen=True)
class Floor:
    """The server that does the least."""

    port: int
    pid: int

    def note(self, name: str, text: str) -> bytes:
        """Save a new note; return its entity tag."""
        body = json.dumps({"text": text}).encode()
        sent = request("PUT", f"/notes/{name}", "none", body=body)
        with socket.create_connection(("127.0.0.1", self.port)) as client:
            client.sendall(sent)
            return client.recv(65536).partition(b"etag: ")[2].partition(b"\r")[0]


@contextmanager
def floor(core: int) -> Iterator[Floor]:
    """Serve `benchmarks/servers/floor.py` on one core."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        command = [*pinned(core), sys.executable, "-m", "benchmarks.servers.floor"]
        with (folder / "out").open("wb") as out:
            process = subprocess.Popen(
                [*command, str(folder / "notes.sqlite3")], cwd=ROOT, stdout=out, stderr=out
            )
        try:
            yield Floor(int(announced(process, folder / "out", LISTENS)), process.pid)
        finally:
            process.kill()
            process.wait()


Clients = Callable[[], list[NextRequest]]


@dataclass(frozen=True)
class Side:
    """One of two servers that are compared, and what makes its clients for a round."""

    server: Floor | Service
    clients: Clients

    def round(self, status: int) -> Round:
        """Serve the clients for two seconds."""
        clients = self.clients()
        with effort_of(self.server.pid) as effort:
            found = load(self.server.port, clients, 2.0)
        rate = found.rate(status)
        count = rate * found.seconds
        if not count:
            raise SystemExit(f"no response had the status {status}")
        instructions = None if effort.instructions is None else effort.instructions / count
        return Round(rate, effort.seconds / found.seconds, instructions)


@dataclass(frozen=True)
class Round:
    """What a server did in a round.

    Attributes:
        rate: responses a second.
        busy: the part of the time in which it had a processor.
        instructions: for each response, None if they can't be counted.
    """

    rate: float
    busy: float
    instructions: float | None


def compare(name: str, least: Side, full: Side, status: int) -> None:
    """Report the medians of both, in alternating rounds, and the medians of their ratios.

    The second ratio is that of the instructions for a response, which does not depend on the hour.
    """
    rounds = [(least.round(status), full.round(status)) for _ in range(ROUNDS)]
    name = f"floor/{name}"
    for at, which in enumerate(("floor", "octavo")):
        report(f"{name}/{which}", statistics.median(r[at].rate for r in rounds), "responses/s")
        report(f"{name}/{which}/busy", statistics.median(r[at].busy for r in rounds), "")
    report(f"{name}/ratio", statistics.median(full.rate / one.rate for one, full in rounds), "")
    counts = [(r[0].instructions, r[1].instructions) for r in rounds]
    counted = [(one, other) for one, other in counts if one is not None and other is not None]
    if counted:
        for at, which in enumerate(("floor", "octavo")):
            thousands = statistics.median(each[at] for each in counted) / 1000
            report(f"{name}/{which}/instructions", thousands, "thousands a response")
        ratio = statistics.median(one / other for one, other in counted)
        report(f"{name}/instructions/ratio", ratio, "")


def against_floor(served: Service, least: Floor) -> None:
    """Compare saves, contended saves, reads and the health of both."""
    texts = [corpus.note(SIZE, LINKS, seed) for seed in range(64)]
    for count in (1, 16, 64):

        def of_floor(count: int = count) -> list[NextRequest]:
            names = [uuid.uuid4().hex for _ in range(count)]
            return [
                editing(f"/notes/{name}", "none", least.note(name, text), text)
                for name, text in zip(names, texts, strict=False)
            ]

        def of_octavo(count: int = count) -> list[NextRequest]:
            workspace = served.workspace()
            notes = [served.note(workspace, str(number), texts[number]) for number in range(count)]
            return [
                saving(served, workspace, *note, text)
                for note, text in zip(notes, texts, strict=False)
            ]

        compare(f"saves/{count}", Side(least, of_floor), Side(served, of_octavo), 200)

    def contended_floor() -> list[NextRequest]:
        name = uuid.uuid4().hex
        tag = least.note(name, TEXT)
        return [repeated_save(f"/notes/{name}", "none", tag) for _ in range(16)]

    def contended_octavo() -> list[NextRequest]:
        workspace = served.workspace()
        file_id, revision = served.note(workspace, "note")
        return [contending(served, workspace, file_id, revision) for _ in range(16)]

    compare("one note/16", Side(least, contended_floor), Side(served, contended_octavo), 200)
    workspace = served.workspace()
    file_id, revision = served.note(workspace, "note")
    tag = least.note("read", TEXT)
    path = f"/api/workspaces/{workspace}/files/{file_id}?content=text"
    for name, status, of_least, of_full in (
        (
            "304",
            304,
            request("GET", "/notes/read", "none", b"if-none-match: " + tag),
            request("GET", path, served.key, b'if-none-match: "%b"' % revision.encode()),
        ),
        ("2 KB", 200, request("GET", "/notes/read", "none"), request("GET", path, served.key)),
        (
            "health",
            200,
            request("GET", "/health", "none"),
            request("GET", "/api/health", served.key),
        ),
    ):
        compare(
            f"{name}/16",
            Side(least, sixteen(of_least)),
            Side(served, sixteen(of_full)),
            status,
        )

    whole = Side(least, sixteen(request("GET", "/notes/read", "none")))
    compare("2 KB of other notes/16", whole, Side(served, scattered(served)), 200)


def told_by_floor(served: Service, least: Floor) -> None:
    """Compare the notices of one writer's saves to many listeners."""
    workspace = served.workspace()
    file_id, _ = served.note(workspace, "note")
    path = f"/api/workspaces/{workspace}/files/{file_id}"
    tag = [least.note("told", TEXT)]
    listeners = (
        Listeners(least.port, None, "", LISTENERS),
        Listeners(served.port, served.key, workspace, LISTENERS),
    )

    def write_to_floor() -> None:
        load(least.port, [editing("/notes/told", "none", tag[0], TEXT)], 2.0)
        with socket.create_connection(("127.0.0.1", least.port)) as client:
            client.sendall(request("GET", "/notes/told", "none"))
            tag[0] = client.recv(65536).partition(b"etag: ")[2].partition(b"\r")[0]

    def write_to_octavo() -> None:
        revision = str(served.ask("GET", path)["head"]["id"])
        load(served.port, [saving(served, workspace, file_id, revision)], 2.0)

    rates: list[list[float]] = []
    for _ in range(ROUNDS):
        rates.append([])
        for listening, write in zip(listeners, (write_to_floor, write_to_octavo), strict=True):
            writer = threading.Thread(target=write)
            writer.start()
            began = time.perf_counter()
            heard = listening.listen(2.0)
            rates[-1].append(heard / (time.perf_counter() - began))
            writer.join()
            # What was still under way.
            listening.listen(0.5)
    name = f"floor/notices/{LISTENERS}"
    report(f"{name}/floor", statistics.median(one for one, _ in rates), "notices/s")
    report(f"{name}/octavo", statistics.median(other for _, other in rates), "notices/s")
    report(f"{name}/ratio", statistics.median(other / one for one, other in rates), "")
    for each in listeners:
        each.close()


def scattered(served: Service) -> Clients:
    """Return clients that read so many notes that none is remembered until it is read again."""
    workspace = served.workspace()
    paths = []
    for _ in range(SCATTERED // CHANGESET):
        operations = [
            {
                "op": "create",
                "fileId": str(uuid.uuid4()),
                "path": f"{uuid.uuid4()}.md",
                "text": TEXT,
            }
            for _ in range(CHANGESET)
        ]
        sent = {"mutationId": str(uuid.uuid4()), "operations": operations}
        served.ask("POST", f"/api/workspaces/{workspace}/changesets", sent)
        paths += [f"/api/workspaces/{workspace}/files/{each['fileId']}" for each in operations]
    requests = cycle([request("GET", f"{path}?content=text", served.key) for path in paths])
    return lambda: [lambda status, tag: next(requests)] * 16


def sixteen(sent: bytes) -> Clients:
    return lambda: [repeating(sent)] * 16


def position(served: Service, workspace: str) -> int:
    return int(served.ask("GET", f"/api/workspaces/{workspace}/feed")["position"])


def notices(served: Service, count: int, seconds: float) -> None:
    workspace = served.workspace()
    file_id, revision = served.note(workspace, "note")
    before = served.memory()
    listeners = Listeners(served.port, served.key, workspace, count)
    grown = (served.memory() - before) * 1024 * 1024 / count
    report(f"notices/{count}/memory", grown, "bytes/subscriber")
    # Paced: two changes per second, each of which reaches every listener.
    path = f"/api/workspaces/{workspace}/files/{file_id}"
    late: list[float] = []
    for number in range(int(seconds * 2)):
        began = time.perf_counter()
        sender = threading.Thread(target=save_once, args=(served, path, revision, number))
        sender.start()
        listeners.arrivals.clear()
        heard = listeners.listen(5, enough=count)
        sender.join()
        if heard != count:
            raise SystemExit(f"{heard} of {count} heard of a change")
        late += [at - began for at, _ in listeners.arrivals]
        revision = str(served.ask("GET", path)["head"]["id"])
        time.sleep(max(0.0, began + 0.5 - time.perf_counter()))
    late.sort()
    report(f"notices/{count}/paced/p50", late[len(late) // 2] * 1000, "ms from the save's start")
    report(
        f"notices/{count}/paced/p99", late[len(late) * 99 // 100] * 1000, "ms from the save's start"
    )
    # At full speed: one writer saves without pause.
    writer = threading.Thread(
        target=load, args=(served.port, [saving(served, workspace, file_id, revision)], seconds)
    )
    writer.start()
    began = time.perf_counter()
    heard = listeners.listen(seconds)
    report(f"notices/{count}/rate", heard / (time.perf_counter() - began), "notices/s")
    writer.join()
    listeners.close()


def save_once(served: Service, path: str, revision: str, number: int) -> None:
    body = json.dumps({"text": f"{number}\n{TEXT}"}).encode()
    sent = request("PUT", path, served.key, b'if-match: "%b"' % revision.encode(), body=body)
    with socket.create_connection(("127.0.0.1", served.port)) as client:
        client.sendall(sent)
        client.recv(65536)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--quick", action="store_true", help="a second a figure, fewer figures")
    groups = ("client", "floor", "saves", "reads", "contention", "notices")
    parser.add_argument("--only", choices=groups, help="one group")
    parser.add_argument(
        "--postgres",
        metavar="URL",
        help="an empty database to measure, too, with its password in PGPASSWORD",
    )
    parser.add_argument("--write", action="store_true", help="write docs/performance.md, too")
    arguments = parser.parse_args()
    cores = sorted(os.sched_getaffinity(0))
    os.sched_setaffinity(0, {cores[-1]})
    seconds = 1.0 if arguments.quick else 4.0

    def wanted(group: str) -> bool:
        return arguments.only in (None, group)

    if wanted("client"):
        client_alone(cores[0], seconds)
    with service(cores[0]) as served:
        report("memory/started", served.memory(), "MB")
        if wanted("floor") and not arguments.quick:
            with floor(cores[0]) as least:
                against_floor(served, least)
                told_by_floor(served, least)
        if wanted("saves"):
            saves(served, (16,) if arguments.quick else (1, 16, 64), seconds)
        if wanted("reads"):
            reads(served, seconds)
        if wanted("contention"):
            contention(served, seconds)
        if wanted("notices"):
            for count in (100,) if arguments.quick else (100, 1000):
                notices(served, count, seconds)
        report("memory/after", served.memory(), "MB")
    if arguments.postgres is not None:
        os.sched_setaffinity(0, cores)
        with service(None, "--database", arguments.postgres) as served:
            saves(served, (16,) if arguments.quick else (1, 16, 64), seconds, "postgres/")
    if arguments.write:
        write_tables()


if __name__ == "__main__":
    main()
