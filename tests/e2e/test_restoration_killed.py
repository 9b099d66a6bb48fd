"""The real server is killed while it restores a workspace in several changesets."""

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import httpx
import pytest

from octavo.model.files.changeset import MAX_OPERATIONS
from tests.e2e.databases import integrity, new_database
from tests.e2e.octavo_process import Octavo, data_folder, running
from tests.e2e.operations.world import fresh_id
from tests.e2e.people import Person, client, settle

FILES = 2000
RESTORATION = "01900000-0000-7000-8000-00000000abcd"
Json = dict[str, Any]


class Vault:
    """A workspace of many notes, each of which got the path of the next one."""

    def __init__(self, octavo: Octavo, person: Person) -> None:
        self.person = person
        with client(octavo.url, person) as http:
            made = http.post("/api/workspaces", json={"name": "Vault"}).json()
            self.base = f"/api/workspaces/{made['id']}"
            paths = [f"{number}.md" for number in range(FILES)]
            created = self._push(
                http,
                [
                    {"op": "create", "fileId": fresh_id(), "path": path, "text": path}
                    for path in paths
                ],
            )
            self.then = self.contents(http)
            self.position = created[-1]["position"]
            # Within each changeset, the paths rotate.
            moves = []
            for at in range(0, FILES, MAX_OPERATIONS):
                some = created[at : at + MAX_OPERATIONS]
                moves += [
                    {
                        "op": "update",
                        "fileId": each["fileId"],
                        "ifMatch": each["revision"]["id"],
                        "path": following["path"],
                        "text": f"now {each['path']}",
                    }
                    for each, following in zip(some, [*some[1:], some[0]], strict=True)
                ]
            self._push(http, moves)

    def _push(self, http: httpx.Client, operations: list[Json]) -> list[Json]:
        changes: list[Json] = []
        for at in range(0, len(operations), MAX_OPERATIONS):
            body = {"mutationId": fresh_id(), "operations": operations[at : at + MAX_OPERATIONS]}
            response = http.post(f"{self.base}/changesets", json=body)
            assert response.status_code == 200, response.text
            changes += response.json()["changes"]
        return changes

    def contents(self, http: httpx.Client) -> dict[str, str]:
        """The paths and the digests of all live files, by their ids."""
        entries: list[Json] = []
        after, more = 0, True
        while more:
            page = http.get(f"{self.base}/feed", params={"after": after, "limit": 500}).json()
            entries += page["entries"]
            after, more = page["next"], page["more"]
        return {
            each["fileId"]: f"{each['path']} {each['digest']}"
            for each in entries
            if each["state"] == "live"
        }

    def restore(self, octavo: Octavo) -> Json | None:
        """Ask for the restoration; None when the server is killed meanwhile."""
        body = {"position": self.position, "mutationId": RESTORATION}
        with client(octavo.url, self.person) as http:
            try:
                found: Json = http.post(f"{self.base}/restorations", json=body).json()
            except httpx.TransportError:
                return None
            return found

    def progress(self, http: httpx.Client) -> Json:
        response = http.get(f"{self.base}/restorations/{RESTORATION}")
        return {"state": "running", "done": 0} if response.status_code == 404 else response.json()


@pytest.fixture(params=["sqlite", "postgres"])
def options(request: pytest.FixtureRequest) -> Iterator[tuple[str, ...]]:
    with ExitStack() as stack:
        if request.param == "sqlite":
            yield ()
        else:
            server = request.getfixturevalue("postgres_server")
            yield ("--database", stack.enter_context(new_database(server)))


@pytest.fixture
def folder() -> Iterator[Path]:
    with data_folder() as folder:
        yield folder


def test_restoration_goes_on_after_the_server_was_killed(
    folder: Path, options: tuple[str, ...]
) -> None:
    with running(folder, *options) as octavo:
        vault = Vault(octavo, settle(octavo))
        with ThreadPoolExecutor(1) as pool, client(octavo.url, vault.person) as http:
            asked = pool.submit(vault.restore, octavo)
            while not asked.done() and vault.progress(http)["done"] == 0:
                pass
            octavo.kill()
            assert asked.result() is None, "it was killed too late"
    with running(folder, *options) as octavo, client(octavo.url, vault.person) as http:
        if options:
            # Another server might run it still; asked for again, it goes on at once.
            vault.restore(octavo)
        while (found := vault.progress(http))["state"] == "running":
            pass
        assert (found["state"], found["total"], found["done"]) == ("done", FILES, FILES)
        assert found["left"] == []
        assert vault.contents(http) == vault.then
        assert octavo.stop() == (0, [])
    if not options:
        assert integrity(folder) == []
