"""Imports and exports of real servers: killed, restarted, and two on one database."""

import io
import os
import random
import socket
import threading
import time
import zipfile
from collections.abc import Iterator
from contextlib import ExitStack, closing, suppress
from dataclasses import dataclass
from pathlib import Path

import httpx
import pytest

from octavo.features.archives.import_commits import NOTES_AT_ONCE
from tests.e2e.databases import change, integrity, new_database
from tests.e2e.octavo_process import Octavo, data_folder, running
from tests.e2e.people import Person, client, join, settle
from tests.fakes.image_files import encoded, picture

NOTES = 6000
OCTETS = {"content-type": "application/octet-stream"}


def files(count: int = NOTES) -> dict[str, bytes]:
    """Notes that link to each other by standard links, and images in their place."""
    notes = {
        f"folder {number % 7}/{number}.md": (
            f"# Note {number}\n\nSee [that](../folder%20{(number + 1) % 7}/{number + 1}.md).\n"
            f"![](../attachments/{number % 5}.png)\n" + f"line {number}\n" * 60
        ).encode()
        for number in range(count)
    }
    images = {
        f"attachments/{number}.png": encoded(picture((40 + number, 30), seed=number), "PNG")
        for number in range(5)
    }
    return {**notes, **images}


def incompressible(count: int) -> dict[str, bytes]:
    """Notes that are too much for the buffers of a connection."""
    return {
        f"{number}.md": random.Random(number).randbytes(300_000).hex().encode()
        for number in range(count)
    }


def packed(given: dict[str, bytes]) -> bytes:
    written = io.BytesIO()
    with zipfile.ZipFile(written, "w", zipfile.ZIP_DEFLATED) as archive:
        for path, data in given.items():
            archive.writestr(path, data)
    return written.getvalue()


def unpacked(data: bytes) -> dict[str, bytes]:
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        assert archive.testzip() is None
        return {name: archive.read(name) for name in archive.namelist()}


@dataclass
class Place:
    """A workspace of a person on a server."""

    http: httpx.Client
    base: str

    def start(self, data: bytes, parts: int = 3) -> str:
        """Send an archive in parts, the last first; return the URL of the import."""
        made = self.http.post(f"{self.base}/imports", json={"size": len(data)})
        assert made.status_code == 201, made.text
        place = f"{self.base}/imports/{made.json()['importId']}"
        size = len(data) // parts + 1
        for number in range(parts, 0, -1):
            part = data[(number - 1) * size : number * size]
            sent = self.http.put(f"{place}/parts/{number}", content=part, headers=OCTETS)
            assert sent.status_code == 200, sent.text
        return place

    def position(self) -> int:
        feed = self.http.get(f"{self.base}/feed?limit=1", headers={"sync-protocol": "1"})
        return int(feed.json()["position"])


def place_of(stack: ExitStack, url: str, person: Person) -> Place:
    """A new workspace, with a client that is closed with the stack."""
    http = stack.enter_context(client(url, person))
    made = http.post("/api/workspaces", json={"name": "Vault"})
    return Place(http, f"/api/workspaces/{made.json()['id']}")


@pytest.mark.parametrize("engine", ["sqlite", "postgres"])
def test_import_goes_on_after_the_server_was_killed(
    engine: str, request: pytest.FixtureRequest
) -> None:
    with ExitStack() as stack:
        folder = stack.enter_context(data_folder())
        options: tuple[str, ...] = ()
        database = None
        if engine == "postgres":
            database = stack.enter_context(new_database(request.getfixturevalue("postgres_server")))
            options = ("--database", database)
        given = files()
        first = stack.enter_context(running(folder, *options))
        owner = settle(first)
        there = place_of(stack, first.url, owner)
        place = there.start(packed(given))
        waiting = threading.Thread(target=complete, args=(there.http, place))
        waiting.start()
        while there.position() < 8:
            time.sleep(0.01)
        first.kill()
        waiting.join()
        if database is not None:
            # The slot of the process that was killed is free half a minute later.
            change(folder, database, "UPDATE archive_jobs SET renewed_until = 0")
        second = stack.enter_context(running(folder, *options))
        with client(second.url, owner) as http:
            before = Place(http, there.base).position()
            assert 8 <= before < NOTES // NOTES_AT_ONCE
            state = http.get(place).json()
            assert (state["state"], state["parts"]) == ("started", [1, 2, 3])
            assert state["total"] == sum(map(len, given.values()))
            done = http.post(f"{place}/complete", timeout=120)
            assert done.status_code == 200, done.text
            assert (done.json()["notes"], done.json()["attachments"]) == (NOTES, 5)
            exported = http.get(f"{there.base}/export")
            assert unpacked(exported.content) == given
            history = http.get(f"{there.base}/export?format=history")
            assert unpacked(history.content) == given
        assert second.stop() == (0, [])
        if database is None:
            assert integrity(folder) == []


def test_files_of_the_server_are_its_owners_alone() -> None:
    with ExitStack() as stack:
        folder = stack.enter_context(data_folder())
        octavo = stack.enter_context(running(folder))
        there = place_of(stack, octavo.url, settle(octavo))
        place = there.start(packed(files(200)))
        done, shared = threading.Event(), set[str]()

        def watch() -> None:
            # The workers have a low priority: a thread that never waits would take their time.
            while not done.wait(0.002):
                shared.update(readable_by_others(folder))

        watching = threading.Thread(target=watch)
        watching.start()
        try:
            response = there.http.post(f"{place}/complete", timeout=120)
            assert response.status_code == 200, response.text
            image = ("a.png", encoded(picture((400, 300)), "PNG"), "image/png")
            response = there.http.post(f"{there.base}/attachments", files={"file": image})
            assert response.status_code == 201, response.text
            listed = there.http.get(f"{there.base}/files?limit=500").json()["items"]
            found = next(each["id"] for each in listed if each["path"].endswith(".png"))
            response = there.http.get(f"{there.base}/files/{found}/content?width=160")
            assert response.status_code == 200, response.text
        finally:
            done.set()
            watching.join()
        # Five images, the one that was uploaded, and a thumbnail.
        assert len([each for each in (folder / "blobs").rglob("*") if each.is_file()]) >= 7
        assert shared | readable_by_others(folder) == set()


def readable_by_others(folder: Path) -> set[str]:
    """The files and folders below a folder, which are created and removed meanwhile."""
    found = set()
    left = [str(folder)]
    while left:
        with suppress(FileNotFoundError), os.scandir(left.pop()) as entries:
            for each in entries:
                with suppress(FileNotFoundError):
                    if each.stat(follow_symlinks=False).st_mode & 0o077:
                        found.add(os.path.relpath(each.path, folder))
                if each.is_dir(follow_symlinks=False):
                    left.append(each.path)
    return found


def complete(http: httpx.Client, place: str) -> None:
    """Complete an import on a server that is killed meanwhile."""
    with pytest.raises(httpx.TransportError):
        http.post(f"{place}/complete", timeout=120)


@dataclass
class Servers:
    """Two servers on one database, and three people; on SQLite, both are the same one."""

    first: Octavo
    second: Octavo
    people: list[Person]

    def stop(self) -> None:
        """Stop both, which have nothing to report."""
        for each in {id(each): each for each in (self.first, self.second)}.values():
            assert each.stop() == (0, [])


@pytest.fixture
def servers(request: pytest.FixtureRequest) -> Iterator[Servers]:
    """Two servers; the parameter is the database."""
    with ExitStack() as stack:
        if request.param == "sqlite":
            folder = stack.enter_context(data_folder())
            only = stack.enter_context(running(folder, "--archive-jobs", "2"))
            people = [
                settle(only),
                *(join(folder) for _ in range(2)),
            ]
            yield Servers(only, only, people)
            return
        database = stack.enter_context(new_database(request.getfixturevalue("postgres_server")))
        folders = [stack.enter_context(data_folder()) for _ in range(2)]
        blobs = folders[0].parent / "shared"
        blobs.mkdir()
        for each in folders:
            (each / "blobs").symlink_to(blobs)
        options = ("--database", database, "--archive-jobs", "2")
        first, second = (stack.enter_context(running(each, *options)) for each in folders)
        owner = settle(first)
        others = [join(folders[0], database) for _ in range(2)]
        yield Servers(first, second, [owner, *others])


def stalled_export(octavo: Octavo, person: Person, base: str) -> socket.socket:
    """A client that reads nothing of its export but the head."""
    plain = socket.create_connection(("127.0.0.1", octavo.port), timeout=30)
    plain.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
    plain.sendall(
        f"GET {base}/export HTTP/1.1\r\nhost: a\r\n"
        f"authorization: {person.by_key['authorization']}\r\n\r\n".encode()
    )
    assert plain.recv(12) == b"HTTP/1.1 200"
    return plain


@pytest.mark.parametrize("servers", ["sqlite", "postgres"], indirect=True)
def test_jobs_are_limited_across_processes(servers: Servers) -> None:
    noise = incompressible(24)
    owner, other, third = servers.people
    with ExitStack() as stack:
        places = [place_of(stack, servers.first.url, person) for person in servers.people]
        for there in places[:2]:
            done = there.http.post(f"{there.start(packed(noise))}/complete", timeout=120)
            assert done.status_code == 200, done.text
        stack.enter_context(closing(stalled_export(servers.first, owner, places[0].base)))
        with client(servers.second.url, owner) as http:
            busy = http.get(f"{places[0].base}/export")
            assert (busy.status_code, busy.json()["code"]) == (429, "archive_job_running")
            assert int(busy.headers["retry-after"]) > 0
        stack.enter_context(closing(stalled_export(servers.second, other, places[1].base)))
        with client(servers.first.url, third) as http:
            busy = http.get(f"{places[2].base}/export")
            assert (busy.status_code, busy.json()["code"]) == (503, "archive_jobs_busy")
            assert int(busy.headers["retry-after"]) > 0
            place = Place(http, places[2].base).start(packed({"x.md": b"x"}))
            refused = http.post(f"{place}/complete")
            assert (refused.status_code, refused.json()["code"]) == (503, "archive_jobs_busy")
            assert http.get(place).json()["parts"] == [1, 2, 3]
    # Clients that have left free their slots.
    with client(servers.second.url, third) as http:
        while (done := http.post(f"{place}/complete")).status_code == 503:
            pass
        assert done.status_code == 200, done.text
    servers.stop()


@pytest.mark.parametrize("servers", ["postgres"], indirect=True)
def test_parts_of_one_process_are_completed_by_another(servers: Servers) -> None:
    given = files(200)
    with ExitStack() as stack, client(servers.second.url, servers.people[0]) as http:
        there = place_of(stack, servers.first.url, servers.people[0])
        place = there.start(packed(given))
        assert http.get(place).json()["parts"] == [1, 2, 3]
        assert http.post(f"{place}/complete", timeout=120).status_code == 200
        assert unpacked(there.http.get(f"{there.base}/export").content) == given


def test_server_that_stops_ends_its_exports() -> None:
    with (
        data_folder() as folder,
        running(folder, "--shutdown-timeout", "1") as octavo,
        ExitStack() as stack,
    ):
        owner = settle(octavo)
        there = place_of(stack, octavo.url, owner)
        noise = incompressible(60)
        assert there.http.post(f"{there.start(packed(noise))}/complete").status_code == 200
        with closing(stalled_export(octavo, owner, there.base)):
            code, lines = octavo.stop()
        assert code == 0
        assert [line for line in lines if "Traceback" in line] == []
