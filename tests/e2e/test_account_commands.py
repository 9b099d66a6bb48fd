"""``octavo account`` with a running server, a stopped one, and two on one database."""

import json
import subprocess
from collections.abc import Iterator
from contextlib import ExitStack

import pytest
import trio

from tests.e2e.listening import listening
from tests.e2e.octavo_process import Octavo, data_folder, running
from tests.e2e.people import PASSWORD, Person, client, join, settle
from tests.e2e.prepared import start
from tests.e2e.server import PATIENCE

WITHIN = 1.0
"""Seconds until a stream closes whose credential has ended."""


class Installation:
    """A server, its administrator and a member, and the commands on its machine."""

    def __init__(self, octavo: Octavo, database: str | None) -> None:
        self.octavo = octavo
        self.root = settle(octavo)
        self.ann = join(octavo.folder, database)

    def command(self, *given: str) -> tuple[int, str, str]:
        """Run a command; return its exit code, its output and its errors."""
        with start(
            *given,
            "--data-dir",
            str(self.octavo.folder),
            *self.octavo.options,
            folder=self.octavo.folder.parent,
            command="account",
            stdout=subprocess.PIPE,
        ) as process:
            printed, errors = process.communicate(timeout=PATIENCE)
        return process.returncode, printed, errors

    def done(self, *given: str) -> str:
        """Run a command that succeeds; return its output."""
        code, printed, errors = self.command(*given)
        assert (code, errors) == (0, "")
        return printed

    async def done_soon(self, *given: str) -> str:
        return await trio.to_thread.run_sync(lambda: self.done(*given))

    def refused(self, *given: str) -> str:
        """Run a command that fails; return its one line of errors."""
        code, printed, errors = self.command(*given)
        assert (code, printed) == (1, "")
        [line] = errors.splitlines()
        return line

    def status(self, person: Person, method: str = "GET", path: str = "/api/account") -> int:
        with client(self.octavo.url, person) as http:
            return http.request(method, path, json=None).status_code

    def audit(self) -> list[dict[str, object]]:
        """The entries of commands, the oldest first."""
        with client(self.octavo.url, self.root) as http:
            items = http.get("/api/audit?limit=500").json()["items"]
        return [each for each in items[::-1] if each["actor"] == "system"]


@pytest.fixture(params=["sqlite", "postgres"])
def installation(request: pytest.FixtureRequest) -> Iterator[Installation]:
    options: tuple[str, ...] = ()
    database = None
    if request.param == "postgres":
        database = request.getfixturevalue("postgres_database")
        options = ("--database", database)
    with data_folder() as folder, running(folder, *options) as octavo:
        yield Installation(octavo, database)
        assert octavo.stop() == (0, [])


async def test_commands_take_effect_in_the_running_server_immediately(
    installation: Installation,
) -> None:
    ann, done = installation.ann, installation.done
    assert installation.status(ann, path="/api/workspaces") == 200
    assert done("lock", ann.address, "--reason", "Lost laptop") == f"{ann.address} is locked\n"
    assert installation.status(ann, path="/api/search?q=a") in (404, 423)
    assert installation.status(ann, "POST", "/api/account/sessions/revoke-others") == 423
    assert "reason:    Lost laptop\n" in done("show", ann.account_id)
    assert done("unlock", ann.account_id) == f"{ann.address} is unlocked\n"
    assert installation.status(ann, "POST", "/api/account/sessions/revoke-others") == 200
    assert "Lost laptop" not in done("show", ann.address.upper())
    assert done("promote", ann.address) == f"{ann.address} is an administrator\n"
    assert installation.status(ann, path="/api/accounts") == 200
    assert done("demote", ann.address) == f"{ann.address} is a member\n"
    assert installation.status(ann, path="/api/accounts") == 403
    async with listening(installation.octavo.port, ann.by_key) as device:
        assert await installation.done_soon("disable", ann.address) == (
            f"{ann.address} is disabled\n"
        )
        with trio.fail_after(WITHIN):
            assert await device.closed() == 1008
    assert installation.status(ann) == 401
    assert done("enable", ann.address) == f"{ann.address} is enabled\n"
    assert installation.status(ann) == 200
    async with listening(installation.octavo.port, ann.by_key) as device:
        assert await installation.done_soon("remove", ann.address, "--yes") == (
            f"{ann.address} is removed\n"
        )
        with trio.fail_after(WITHIN):
            assert await device.closed() == 1008
    assert installation.status(ann) == 401
    made = [(each["kind"], each["subject"], each["detail"]) for each in installation.audit()]
    subject = ann.account_id
    assert made[2:] == [
        ("account_changed", subject, {"state": "locked"}),
        ("command", subject, {"command": "account_show"}),
        ("account_changed", subject, {"state": "enabled"}),
        ("command", subject, {"command": "account_show"}),
        ("account_changed", subject, {"role": "administrator"}),
        ("account_changed", subject, {"role": "member"}),
        ("account_changed", subject, {"state": "disabled"}),
        ("account_changed", subject, {"state": "enabled"}),
        ("account_removed", subject, {"deletedWorkspaces": 0}),
    ]


def test_accounts_are_listed_in_eighty_columns_and_for_programs(
    installation: Installation,
) -> None:
    lines = installation.done("list").splitlines()
    assert lines[0].split() == ["ADDRESS", "ROLE", "STATE", "STORAGE", "LAST", "USED"]
    assert [line.split()[:3] for line in lines[1:]] == [
        [installation.root.address, "administrator", "enabled"],
        [installation.ann.address, "member", "enabled"],
    ]
    assert max(map(len, lines)) <= 80
    listed = json.loads(installation.done("list", "--json"))["accounts"]
    assert [each["id"] for each in listed] == [
        installation.root.account_id,
        installation.ann.account_id,
    ]
    name = installation.ann.address.partition("@")[0].capitalize()
    assert (listed[1]["displayName"], listed[1]["effectiveState"]) == (name, "enabled")
    assert json.loads(installation.done("show", installation.ann.address, "--json")) == listed[1]


def test_refused_commands_say_what_to_do_and_change_nothing(installation: Installation) -> None:
    root, ann, refused = installation.root, installation.ann, installation.refused
    for given in (["lock"], ["disable"], ["demote"], ["remove", "--yes"]):
        line = refused(*given, root.address)
        assert "this is the last enabled administrator: make another account one first" in line
    assert "octavo account list" in refused("show", "nobody@example.org")
    assert "octavo account list" in refused("unlock", "nobody")
    installation.done("disable", ann.address)
    assert "octavo account enable" in refused("unlock", ann.address)
    assert "stricter than locked" in refused("lock", ann.address)
    code, printed, errors = installation.command("remove", ann.address)
    assert (code, printed) == (2, "")
    assert "give --yes" in errors
    entries = [each for each in installation.audit() if each["outcome"] == "refused"]
    assert [each["detail"] for each in entries[:4]] == [
        {"command": f"account_{action}", "code": "last_administrator"}
        for action in ("lock", "disable", "demote", "remove")
    ]
    assert len(entries) == 6
    assert installation.status(root) == 200


@pytest.mark.parametrize("engine", ["sqlite", "postgres"])
def test_commands_change_the_accounts_of_a_stopped_server(
    engine: str, request: pytest.FixtureRequest
) -> None:
    options: tuple[str, ...] = ()
    database = None
    if engine == "postgres":
        database = request.getfixturevalue("postgres_database")
        options = ("--database", database)
    with data_folder() as folder:
        with running(folder, *options) as octavo:
            installation = Installation(octavo, database)
            assert octavo.stop() == (0, [])
        ann, root = installation.ann, installation.root
        assert installation.done("lock", ann.address) == f"{ann.address} is locked\n"
        assert "last enabled administrator" in installation.refused("demote", root.account_id)
        assert len(installation.done("list").splitlines()) == 3
        with running(folder, *options) as octavo:
            installation.octavo = octavo
            assert installation.status(ann, "POST", "/api/account/sessions/revoke-others") == 423
            assert octavo.stop() == (0, [])
        installation.done("remove", ann.address, "--yes")
        with running(folder, *options) as octavo:
            with client(octavo.url) as http:
                given = {"email": ann.address, "password": PASSWORD}
                headers = {"origin": "https://notes.example.org"}
                answer = http.post("/api/auth/sign-in/email", json=given, headers=headers)
            assert answer.status_code == 401
            assert octavo.stop() == (0, [])


def test_without_an_installation_the_command_says_so() -> None:
    with (
        data_folder() as folder,
        start(
            "list",
            "--data-dir",
            str(folder),
            folder=folder.parent,
            command="account",
            stdout=subprocess.PIPE,
        ) as process,
    ):
        printed, errors = process.communicate(timeout=PATIENCE)
    assert (process.returncode, printed) == (1, "")
    assert "no installation is in" in errors


@pytest.fixture
def pair(postgres_database: str) -> Iterator[tuple[Octavo, Octavo]]:
    """Two servers on one database."""
    with ExitStack() as stack:
        one, other = (
            stack.enter_context(
                running(stack.enter_context(data_folder()), "--database", postgres_database)
            )
            for _ in range(2)
        )
        yield one, other
        for server in (one, other):
            assert server.stop() == (0, [])


async def test_a_command_at_one_server_ends_the_streams_of_the_other(
    pair: tuple[Octavo, Octavo], postgres_database: str
) -> None:
    one, other = pair
    installation = await trio.to_thread.run_sync(Installation, one, postgres_database)
    ann = installation.ann
    async with (
        listening(one.port, ann.by_key) as here,
        listening(other.port, ann.by_key) as there,
    ):
        await installation.done_soon("disable", ann.address)
        with trio.fail_after(WITHIN):
            assert [await device.closed() for device in (here, there)] == [1008, 1008]
    with client(other.url, ann) as http:
        assert http.get("/api/account").status_code == 401
    installation.done("enable", ann.address)
    # No server runs with this folder: the database is opened, and the servers are notified.
    async with listening(other.port, ann.by_key) as there:
        with data_folder() as elsewhere:
            installation.octavo = Octavo(one.process, elsewhere, one.options)
            await installation.done_soon("remove", ann.address, "--yes")
        with trio.fail_after(WITHIN):
            assert await there.closed() == 1008
