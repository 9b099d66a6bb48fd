"""After a mixed load, and after everything was deleted, nothing is left of it.

A story produces the successful responses of every operation and visits every page, with accounts
and workspaces of its own. Two are told at once; then all that they have made is deleted, and so on
for ``OCTAVO_SOAK_SECONDS``. Without it, each of the two tells two quarters of one, on SQLite.
"""

import json
import os
import re
import signal
import time
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from pathlib import Path
from random import Random

import httpx
import pytest

from octavo.model.access.token import operator_token
from octavo.store.sqlite.search import MOST_LEVELS
from tests.e2e.databases import change, levels_of_index, new_database, rows_of_tables
from tests.e2e.octavo_process import Octavo, data_folder, running
from tests.e2e.operations.cases import CASES
from tests.e2e.operations.world import ACCEPTED, World, inhabited, options_for
from tests.e2e.overload import routes
from tests.e2e.people import NO_TLS, client, join, settle
from tests.e2e.server import PATIENCE
from tests.e2e.soak.soaked_server import Held
from tests.e2e.test_operations import outcome

SECONDS = float(os.environ.get("OCTAVO_SOAK_SECONDS", "0"))
AT_ONCE = 2
QUIET = 6.0 if SECONDS else 1.2
"""Seconds in which timers end, and jobs have some rounds."""
AHEAD = 1
"""Worker processes that are kept without work."""
PIPES = 3
"""Descriptors of one."""
LEVELS = 16 + 2 * MOST_LEVELS
"""Bytes of the list of the levels of the search index. Older versions of SQLite leave two for each
erasure; the index is made anew before they are too many.
"""
LONG = SECONDS >= 480
GROWTH = 1.03 if LONG else 1.1
"""Of Python's blocks: caches of limited size have counts and ids of accounts and workspaces."""
FRAGMENTS = (1 if LONG else 4) * 1024 * 1024
"""Bytes that the C library may have given out more than after a quarter of the time."""
PAGES = 24 * 1024 * 1024
"""Bytes of the caches of the connections to SQLite."""
SERVER = ("-m", "tests.e2e.soak.soaked_server")
NOT_TOLD = {
    # They expect what they look for among the first of the whole installation.
    *("listAccounts", "listAuditEntries", "listInvitations", "listReports"),
    *("dismissReport", "takeDownReportedLink"),
    # Of the same unknown address, which may ask a few times.
    "requestPasswordReset",
}
STORY: list[Callable[[World], None]] = []
SIGNING_KEYS = 4
"""Rows that stay: of forms, and for links of reports, openings and their signatures."""
OF_A_STORY = 1
"""Accounts that the operator removes: their ids stay, for an operator who asks again."""


def _of_case(number: int) -> Callable[[World], None]:
    def tell(world: World) -> None:
        case = CASES[number]
        response = case.way(world)
        assert outcome(response) == case.outcome, (case, response.text[:500])

    return tell


for number, case in enumerate(CASES):
    if case.outcome.isdigit() and case.operation not in NOT_TOLD:
        STORY.append(_of_case(number))


def visit_pages(world: World) -> None:
    """Read every page, and create a key by its form."""
    note = world.note("# Tea\n\n![](a.png) [[b]]\n")
    ids = {"workspaceId": world.workspace, "fileId": note["fileId"]}
    cookie = {"cookie": world.owner.cookie}
    for path in routes.pages(ids):
        assert world.anybody("GET", path, headers=cookie).status_code < 500, path
    page = world.anybody("GET", "/account/keys", headers=cookie).text
    fields = dict(re.findall(r'<input type="hidden" name="([^"]+)" value="([^"]*)"', page))
    fields |= {"name": "by a form", "access": "notes:read", "days": "30"}
    made = world.anybody("POST", "/account/keys", data=fields, headers=world.owner.by_cookie)
    assert "octk_" in made.text, made.text


STORY.append(visit_pages)


class Soak:
    """A server, and those who use it."""

    def __init__(
        self, octavo: Octavo, folder: Path, database: str | None, operator: dict[str, str]
    ) -> None:
        self._octavo = octavo
        self._folder = folder
        self._database = database
        self._operator = operator
        self._root = settle(octavo, ACCEPTED)
        self.engine = "SQLite" if database is None else "PostgreSQL"
        self.told = 0

    def use(self, seconds: float) -> None:
        """Tell stories, and delete everything that they have made, for a while."""
        until = time.monotonic() + seconds
        self._tell_some()
        while time.monotonic() < until:
            self._tell_some()

    def _tell_some(self) -> None:
        numbers = range(self.told, self.told + AT_ONCE)
        with ThreadPoolExecutor(AT_ONCE) as threads:
            list(threads.map(self._tell, numbers))
        self.told += AT_ONCE
        self._delete_everything()

    def _tell(self, number: int) -> None:
        """Tell a story in a random order; without `SECONDS`, a quarter of it."""
        order = Random(number // 4).sample(STORY, len(STORY))
        # What one client may do in an hour is limited.
        address = f"127.0.{number // 250 + 1}.{number % 250 + 1}"
        transport = httpx.HTTPTransport(verify=NO_TLS, local_address=address)
        with client(self._octavo.url, transport=transport) as http:
            owner = join(self._folder, self._database, ACCEPTED)
            administrator = f"SET role = 'administrator' WHERE id = '{owner.account_id}'"
            change(self._folder, self._database, f"UPDATE accounts {administrator}")
            world = inhabited(http, self._folder, self._database, owner, self._operator)
            for tell in order if SECONDS else order[number % 4 :: 4]:
                tell(world)

    def _delete_everything(self) -> None:
        """Delete every account but that of the first administrator, with its workspaces."""
        with client(self._octavo.url, self._root) as http:
            while True:
                listed = http.get("/api/accounts", params={"limit": 100}).json()["items"]
                others = [each["id"] for each in listed if each["id"] != self._root.account_id]
                if not others:
                    return
                for account_id in others:
                    response = http.delete(f"/api/accounts/{account_id}")
                    assert response.status_code == 200, response.text

    def rows(self) -> dict[str, int]:
        """The rows of each table that has some."""
        rows = rows_of_tables(self._folder, self._database)
        return {name: number for name, number in rows.items() if number}

    def left(self, start: Mapping[str, int]) -> dict[str, int]:
        """Let months pass until no table has more rows than it may have; return those that have."""
        stays = {**start, "signing_keys": SIGNING_KEYS, "removed_accounts": self.told * OF_A_STORY}
        deadline = time.monotonic() + PATIENCE
        while True:
            self._octavo.process.send_signal(signal.SIGUSR1)
            time.sleep(QUIET)
            rows = self.rows()
            found = {name: number for name, number in rows.items() if number > stays.get(name, 0)}
            if not found or time.monotonic() > deadline:
                return found

    def blobs(self) -> list[str]:
        """The files in the folder of blobs."""
        folder = self._folder / "blobs"
        return [str(each.relative_to(folder)) for each in folder.rglob("*") if each.is_file()]

    def levels(self) -> int | None:
        """The size of the list of the levels of the search index; None on PostgreSQL."""
        return None if self._database else levels_of_index(self._folder)

    def held(self) -> Held:
        """What the process holds."""
        path = self._folder.parent / "held"
        before = path.read_text() if path.exists() else ""
        self._octavo.process.send_signal(signal.SIGUSR2)
        deadline = time.monotonic() + PATIENCE
        while time.monotonic() < deadline:
            text = path.read_text() if path.exists() else ""
            if text != before and text.endswith("\n"):
                return Held(*json.loads(text.splitlines()[-1]))
            time.sleep(0.05)
        raise AssertionError("the server does not say what it holds")


@pytest.fixture(params=["sqlite", "postgres"] if SECONDS else ["sqlite"])
def soak(request: pytest.FixtureRequest) -> Iterator[Soak]:
    with ExitStack() as stack:
        folder = stack.enter_context(data_folder())
        token = operator_token(bytes(32))
        options = options_for(folder, token)
        database = None
        if request.param == "postgres":
            server = request.getfixturevalue("postgres_server")
            database = stack.enter_context(new_database(server))
            options += ("--database", database)
        octavo = stack.enter_context(running(folder, *options, program=SERVER))
        yield Soak(octavo, folder, database, {"authorization": f"Bearer {token}"})
        code, lines = octavo.stop()
        # Nobody has sent the mail before its time.
        assert (code, [each for each in lines if "has expired and was not sent" not in each]) == (
            0,
            [],
        )


def faults(before: Held, after: Held) -> list[str]:
    """What a process holds more of than it may."""
    most = Held(
        malloc=before.malloc + FRAGMENTS,
        sqlite=PAGES,
        blocks=int(before.blocks * GROWTH),
        tasks=before.tasks,
        threads=before.threads,
        descriptors=before.descriptors + PIPES * AHEAD,
        children=AHEAD,
    )
    return [
        f"{name}: {held}, and at most {limit}"
        for name, held, limit in zip(Held._fields, after, most, strict=True)
        if held > limit
    ]


def test_nothing_is_left_of_a_load(soak: Soak) -> None:
    start = soak.rows()
    soak.use(SECONDS / 4)
    time.sleep(QUIET)
    before, warm = soak.held(), soak.told
    soak.use(SECONDS)
    left = soak.left(start)
    after = soak.held()
    deadline = time.monotonic() + PATIENCE
    while faults(before, after) and time.monotonic() < deadline:
        # Such as a connection that is being closed, or a thread that still waits for work.
        time.sleep(1)
        after = soak.held()
    print(  # noqa: T201 - the result of a soak
        f"\nWhat the server holds on {soak.engine}, when everything was deleted:",
        f"after {warm} stories: {before}",
        f"after {soak.told} stories, and years: {after}",
        sep="\n",
    )
    assert left == {}, "these tables have more rows than at the start"
    assert soak.blobs() == []
    assert (soak.levels() or 0) <= LEVELS
    assert faults(before, after) == []
