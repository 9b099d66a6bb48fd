"""Several servers on one database, a database that goes away, and a stop under load."""

import random
import re
import subprocess
from collections.abc import Iterator
from contextlib import ExitStack
from typing import Any

import pytest
import trio

from tests.e2e.databases import new_database
from tests.e2e.listening import listening
from tests.e2e.octavo_process import PUBLIC, Octavo, data_folder, invited, running
from tests.e2e.people import PASSWORD, Person, async_client, client, register, settle
from tests.e2e.plain_client import PlainClient
from tests.e2e.prepared import start
from tests.e2e.saves import Workload
from tests.e2e.server import PATIENCE
from tests.fakes.postgres_server import running_server

SAVES = 60
"""Per writer."""


class Pair:
    """Two servers on one PostgreSQL database, each with a data folder of its own."""

    def __init__(self, one: Octavo, other: Octavo) -> None:
        self.one, self.other = one, other
        self.person = settle(one)

    def workspace(self) -> str:
        """A new workspace, created through the first."""
        return workspace_of(self.one, self.person)


@pytest.fixture(scope="module")
def pair(postgres_server: str) -> Iterator[Pair]:
    with ExitStack() as stack:
        database = stack.enter_context(new_database(postgres_server))
        one, other = (
            stack.enter_context(running(stack.enter_context(data_folder()), "--database", database))
            for _ in range(2)
        )
        yield Pair(one, other)
        for server in (one, other):
            assert server.stop() == (0, [])


@pytest.fixture(params=["sqlite", "postgres"])
def octavo(request: pytest.FixtureRequest) -> Iterator[Octavo]:
    """One server."""
    options: tuple[str, ...] = ()
    if request.param == "postgres":
        options = ("--database", request.getfixturevalue("postgres_database"))
    with data_folder() as folder, running(folder, *options) as octavo:
        yield octavo


def workspace_of(octavo: Octavo, person: Person) -> str:
    with client(octavo.url, person) as http:
        made = http.post("/api/workspaces", json={"name": "Notes"})
    assert made.status_code == 201, made.text
    workspace: str = made.json()["id"]
    return workspace


async def test_two_servers_with_concurrent_writers_make_one_history(pair: Pair) -> None:
    workload = Workload(pair.workspace(), random.Random(1))

    async def write(name: str, server: Octavo) -> None:
        async with PlainClient(server.port, pair.person.by_key) as plain:
            for _ in range(SAVES):
                assert await workload.send(name, workload.next_save(), plain) is not None

    async with trio.open_nursery() as nursery:
        for number, server in enumerate((pair.one, pair.other) * 3):
            nursery.start_soon(write, f"writer {number}", server)
    kept = sum(save.receipt is not None for save in workload.saves)
    for server in (pair.one, pair.other):
        async with async_client(server.url, pair.person) as http:
            assert await workload.judge(http) == kept > SAVES


async def test_two_servers_notify_each_others_listeners_of_changes(pair: Pair) -> None:
    workload = Workload(pair.workspace(), random.Random(2))
    async with (
        listening(pair.one.port, pair.person.by_key) as here,
        listening(pair.other.port, pair.person.by_key) as there,
        PlainClient(pair.one.port, pair.person.by_key) as plain,
    ):
        assert (
            await here.subscribe(workload.workspace)
            == await there.subscribe(workload.workspace)
            == 0
        )
        for _ in range(20):
            await workload.send("writer", workload.next_save(), plain)
        last = max(save.receipt["position"] for save in workload.saves if save.receipt is not None)
        for device in (here, there):
            told = await device.hear(last)
            assert told[-1] == last
            assert sorted(set(told)) == told


async def test_two_servers_notify_each_others_listeners_of_a_deleted_workspace(
    pair: Pair,
) -> None:
    workspace = pair.workspace()
    async with (
        listening(pair.other.port, pair.person.by_key) as device,
        async_client(pair.one.url, pair.person) as http,
    ):
        await device.subscribe(workspace)
        assert (await http.delete(f"/api/workspaces/{workspace}")).status_code == 200
        told = await device.next()
    assert told == {"type": "gone", "workspaceId": workspace, "reason": "deleted"}


async def test_unavailable_database_gets_503_and_nothing_is_lost_on_its_return() -> None:
    with ExitStack() as stack:
        database = stack.enter_context(running_server())
        folder = stack.enter_context(data_folder())
        octavo = stack.enter_context(running(folder, "--database", database.url()))
        person = settle(octavo)
        workload = Workload(workspace_of(octavo, person), random.Random(3))
        async with (
            PlainClient(octavo.port, person.by_key) as plain,
            PlainClient(octavo.port, {}) as probe,
            listening(octavo.port, person.by_key) as device,
        ):
            await device.subscribe(workload.workspace)
            for _ in range(10):
                await workload.send("writer", workload.next_save(), plain)
            assert (await probe.request("GET", "/ready")).status == 200
            await trio.to_thread.run_sync(database.stop)

            in_doubt = workload.next_save()
            response = await workload.send("writer", in_doubt, plain)
            assert response is not None
            assert (response.status, response.json()["code"]) == (503, "storage_unavailable")
            assert int(response.headers["retry-after"]) > 0
            read = await plain.request("GET", f"{workload.base}/files")
            assert (read.status, read.json()["code"]) == (503, "storage_unavailable")
            assert int(read.headers["retry-after"]) > 0
            ready = await probe.request("GET", "/ready")
            assert (ready.status, ready.json()["code"]) == (503, "not_ready")
            missing = [each["name"] for each in ready.json()["requirements"] if not each["met"]]
            assert "database" in missing
            assert (await probe.request("GET", "/health")).status == 200

            await trio.to_thread.run_sync(database.start)
            with trio.fail_after(PATIENCE):
                while (await probe.request("GET", "/ready")).status == 503:
                    await trio.lowlevel.checkpoint()
                while in_doubt.receipt is None and not in_doubt.refused:
                    await workload.send("again", in_doubt, plain)
            for _ in range(10):
                await workload.send("writer", workload.next_save(), plain)
            last = max(
                save.receipt["position"] for save in workload.saves if save.receipt is not None
            )
            await device.hear(last)
            async with async_client(octavo.url, person) as http:
                assert await workload.judge(http) == last
        code, output = await trio.to_thread.run_sync(octavo.stop)
        assert code == 0
        # What each process records from time to time may fall into the outage.
        lines = [line for line in output if " not recorded" not in line]
        # Each kind of use is reported once; whether anything is written depends on the moment.
        uses = [use for line in lines for use in re.findall("database can't be (.+) now:", line)]
        assert len(uses) == len(lines), lines
        assert uses.count("read") == 1
        assert uses.count("written to") <= 1
        assert sum(" can be read again " in line for line in octavo.log.all) == 1


async def test_stop_under_load_keeps_acknowledged_saves_and_closes_connections_cleanly(
    octavo: Octavo,
) -> None:
    grace = 10.0
    person = settle(octavo)
    workload = Workload(workspace_of(octavo, person), random.Random(4))
    busy = trio.Event()

    async def write(name: str) -> None:
        async with PlainClient(octavo.port, person.by_key) as plain:
            while await workload.send(name, workload.next_save(), plain) is not None:
                if len(workload.saves) > 50:
                    busy.set()

    async with listening(octavo.port, person.by_key) as device, trio.open_nursery() as nursery:
        await device.subscribe(workload.workspace)
        for number in range(4):
            nursery.start_soon(write, f"writer {number}")
        with trio.fail_after(PATIENCE):
            await busy.wait()
        began = trio.current_time()
        octavo.process.terminate()
        assert await device.closed() == 1001
        assert await trio.to_thread.run_sync(octavo.ended) == (0, [])
        assert trio.current_time() - began < grace
    with running(octavo.folder, *octavo.options) as again:
        async with async_client(again.url, person) as http:
            # A committed change may have lost its response with its connection.
            assert await workload.judge(http) >= sum(
                save.receipt is not None for save in workload.saves
            )
            for save in workload.saves:
                if save.receipt is not None:
                    assert await workload.outcome_of(save, http) == save.receipt
        assert await trio.to_thread.run_sync(again.stop) == (0, [])


def test_invite_next_to_the_running_server_prints_a_link_that_works_once(octavo: Octavo) -> None:
    first = register(octavo.url, octavo.invitation())
    token = invited(octavo.folder, *octavo.options)
    second = register(octavo.url, token)
    assert second.account_id != first.account_id
    with client(octavo.url) as http:
        given = {
            "invitation": token,
            "address": "third@example.org",
            "password": PASSWORD,
            "displayName": "Third",
        }
        again = http.post("/api/registrations", json=given, headers={"origin": PUBLIC})
    assert (again.status_code, again.json()["code"]) == (404, "not_found")
    assert octavo.stop() == (0, [])


def test_actors_shows_that_a_workspace_was_woken(octavo: Octavo) -> None:
    person = settle(octavo)
    workspace = workspace_of(octavo, person)
    with client(octavo.url, person) as http:
        files = f"/api/workspaces/{workspace}/files"
        assert http.post(files, json={"path": "a.md", "text": "a"}).status_code == 201
    given = ("--data-dir", str(octavo.folder))
    with start(
        *given, folder=octavo.folder.parent, command="actors", stdout=subprocess.PIPE
    ) as process:
        told, output = process.communicate(timeout=PATIENCE)
    assert (process.returncode, output) == (0, "")
    assert re.search(r"workspaces \(directory, running\) .* activations 1 ", told), told
    assert octavo.stop() == (0, [])


class Readers:
    """Those who read a link of a workspace through both servers."""

    def __init__(self, pair: Pair, text: str) -> None:
        self.pair = pair
        self.place = f"/api/workspaces/{pair.workspace()}"
        self.note = self.send("POST", f"{self.place}/files", {"path": "tea/a.md", "text": text})

    def send(self, method: str, path: str, body: object = None) -> dict[str, Any]:
        """Ask the first server as the person, and return what it answers."""
        with client(self.pair.one.url, self.pair.person) as http:
            response = http.request(method, path, json=body)
        assert response.status_code < 300, response.text
        found: dict[str, Any] = response.json()
        return found

    def change(self, **how: str) -> None:
        """Change the note through the first server."""
        place = f"{self.place}/files/{self.note['fileId']}"
        with client(self.pair.one.url, self.pair.person) as http:
            tag = http.get(place).headers["etag"]
            response = http.put(place, json=how, headers={"If-Match": tag})
        assert response.status_code == 200, response.text

    def publish(self, **how: object) -> dict[str, Any]:
        target = {"kind": "folder", "path": "tea"}
        return self.send("POST", f"{self.place}/publications", {"target": target, **how})

    def pages(self, path: str) -> list[str]:
        """The page as each of the servers shows it."""
        found = []
        for server in (self.pair.one, self.pair.other):
            with client(server.url) as http:
                response = http.get(f"/published/{path}")
            assert response.status_code == 200
            found.append(response.text)
        return found

    def assert_closed(self, token: str) -> None:
        unknown = "x" * 32
        closed = [each.replace(token, unknown) for each in self.pages(token)]
        assert closed == self.pages(unknown)


async def test_two_servers_never_open_a_link_more_often_than_it_may_be(pair: Pair) -> None:
    readers = Readers(pair, "Green.")
    link = readers.publish(openings=3)
    opened: list[str] = []

    async def reader(server: Octavo) -> None:
        # The attempts of one link are limited on each of the servers.
        async with async_client(server.url, pair.person) as http:
            response = await http.post(f"/published/{link['token']}", data={"password": ""})
            assert response.status_code == 200
            if "Open this link" not in response.text:
                opened.append(response.text)

    async with trio.open_nursery() as nursery:
        for server in (pair.one, pair.other) * 4:
            nursery.start_soon(reader, server)
    assert len(opened) == 3
    tickets = {each for page in opened for each in re.findall(r"ticket=([^\"&]+)", page)}
    assert tickets
    for each in tickets:
        for page in readers.pages(f"{link['token']}?ticket={each}"):
            assert "1 note" in page


def test_two_servers_show_what_was_changed_through_one_of_them(pair: Pair) -> None:
    readers = Readers(pair, "Green.")
    note = readers.note["fileId"]
    link, reported = readers.publish(), readers.publish()
    path = f"{link['token']}?note={note}"
    assert all("Green." in each for each in readers.pages(path))
    readers.change(text="Black.")
    assert all("Black." in each for each in readers.pages(path))
    readers.change(path="coffee/a.md")
    assert all("Black." in each for each in readers.pages(path))
    readers.send("DELETE", f"{readers.place}/publications/{link['id']}")
    readers.assert_closed(link["token"])

    with client(pair.other.url) as http:
        sent = http.post(f"/published/{reported['token']}/report", data={"reason": "spam"})
    assert sent.status_code == 200
    [report] = readers.send("GET", "/api/reports")["items"]
    secret = report["address"].rpartition("/")[2]
    assert all("1 note" in each for each in readers.pages(secret))
    readers.send("POST", f"/api/reports/{report['id']}/takedown")
    readers.assert_closed(reported["token"])
    readers.assert_closed(secret)


def test_list_says_which_links_open_nothing_on_either_engine(octavo: Octavo) -> None:
    person = settle(octavo)
    place = f"/api/workspaces/{workspace_of(octavo, person)}"
    with client(octavo.url, person) as http:
        made = http.post(f"{place}/files", json={"path": "tea/a.md", "text": "Green."})
        note = made.json()["fileId"]
        for target in (
            {"kind": "note", "fileId": note},
            {"kind": "folder", "path": "tea"},
            {"kind": "folder", "path": ""},
        ):
            assert http.post(f"{place}/publications", json={"target": target}).status_code == 201

        def obstacles() -> set[str | None]:
            return {each["obstacle"] for each in http.get(f"{place}/publications").json()["items"]}

        assert obstacles() == {None}
        tag = made.headers["etag"]
        assert http.delete(f"{place}/files/{note}", headers={"If-Match": tag}).status_code == 200
        assert obstacles() == {"no_note"}
