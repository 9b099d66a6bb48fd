"""Links that open nothing take the same time, so that nobody learns why they do."""

import random
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field

import httpx
import pytest

from tests.e2e.octavo_process import data_folder, running
from tests.e2e.people import client, settle
from tests.e2e.server import OCTAVO

PASSWORD = "open sesame"
UNKNOWN = "A" * 32
READS = 400
OPENINGS = 24
# The chance that one of two equal samples is slower is a half, with a deviation of 2 percent for
# the reads. It is 8.4 percent for the openings, each with a hash of a password: four deviations.
CHANCE = (0.36, 0.64)
CHANCE_OF_HASHES = (0.16, 0.84)


@dataclass
class Closed:
    """A server with links that open nothing, by why they do."""

    http: httpx.Client
    tokens: dict[str, str] = field(default_factory=dict)


@pytest.fixture(scope="module")
def closed() -> Iterator[Closed]:
    # Not forked: its hashes have their real cost.
    with (
        data_folder() as folder,
        running(folder, program=OCTAVO) as octavo,
        client(octavo.url) as http,
    ):
        person = settle(octavo)
        found = Closed(http, {"unknown": UNKNOWN})

        def ask(method: str, path: str, body: object = None) -> dict[str, str]:
            response = http.request(method, path, json=body, headers=person.by_key)
            assert response.is_success, response.text
            made: dict[str, str] = response.json()
            return made

        place = f"/api/workspaces/{ask('POST', '/api/workspaces', {'name': 'Vault'})['id']}"
        ask("POST", f"{place}/files", {"path": "tea/green.md", "text": "# Green tea"})

        def publish(**how: object) -> dict[str, str]:
            how.setdefault("target", {"kind": "folder", "path": "tea"})
            return ask("POST", f"{place}/publications", how)

        found.tokens["password"] = publish(password=PASSWORD)["token"]
        found.tokens["openings"] = publish(openings=1, password=PASSWORD)["token"]
        revoked = publish(password=PASSWORD)
        ask("DELETE", f"{place}/publications/{revoked['id']}")
        found.tokens["revoked"] = revoked["token"]
        reported = publish()
        http.post(f"/published/{reported['token']}/report", data={"reason": "spam"})
        [report] = http.get("/api/reports", headers=person.by_key).json()["items"]
        ask("POST", f"/api/reports/{report['id']}/takedown")
        found.tokens["taken down"] = reported["token"]
        body = {"path": "old.md", "text": "# Old"}
        note = http.post(f"{place}/files", json=body, headers=person.by_key)
        file_id, tag = note.json()["fileId"], note.headers["etag"]
        deleted = publish(target={"kind": "note", "fileId": file_id})
        given = {**person.by_key, "If-Match": tag}
        assert http.delete(f"{place}/files/{file_id}", headers=given).is_success
        found.tokens["deleted"] = deleted["token"]
        soon = time.time() + 1
        expires = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(soon + 1))
        found.tokens["expired"] = publish(expiresAt=expires)["token"]
        time.sleep(max(0.0, soon + 2 - time.time()))
        yield found


def times(
    tokens: Mapping[str, str], rounds: int, send: Callable[[str], httpx.Response]
) -> dict[str, list[float]]:
    """The seconds of each request, in an order that changes in each round."""
    taken: dict[str, list[float]] = {name: [] for name in tokens}
    order = random.Random(7)
    for _ in range(rounds):
        for name in order.sample([*tokens], len(tokens)):
            began = time.perf_counter()
            response = send(tokens[name])
            taken[name].append(time.perf_counter() - began)
            assert response.status_code == 200, response.text
    return taken


def chance_to_be_slower(these: list[float], those: list[float]) -> float:
    """The chance that one of ``these`` is slower than one of ``those`` (Mann and Whitney)."""
    slower = sum(this > that for this in these for that in those)
    return slower / (len(these) * len(those))


def test_closed_links_take_the_same_time(closed: Closed) -> None:
    def read(token: str) -> httpx.Response:
        return closed.http.get(f"/published/{token}")

    times(closed.tokens, 20, read)
    taken = times(closed.tokens, READS, read)
    unknown = taken.pop("unknown")
    chances = {name: chance_to_be_slower(each, unknown) for name, each in taken.items()}
    assert all(CHANCE[0] < each < CHANCE[1] for each in chances.values()), chances


def test_closed_links_are_the_same_bytes(closed: Closed) -> None:
    pages = {
        closed.http.get(f"/published/{token}").text.replace(token, "")
        for token in closed.tokens.values()
    }
    opened = {
        closed.http.post(f"/published/{token}", data={"password": "wrong one"}).text.replace(
            token, ""
        )
        for token in closed.tokens.values()
    }
    assert len(pages | opened) == 1


def test_wrong_passwords_take_the_same_time_for_every_token(closed: Closed) -> None:
    tokens = {name: closed.tokens[name] for name in ("unknown", "password", "revoked", "openings")}

    def open_link(token: str) -> httpx.Response:
        return closed.http.post(f"/published/{token}", data={"password": "wrong password"})

    taken = times(tokens, OPENINGS, open_link)
    unknown = taken.pop("unknown")
    chances = {name: chance_to_be_slower(each, unknown) for name, each in taken.items()}
    assert all(CHANCE_OF_HASHES[0] < each < CHANCE_OF_HASHES[1] for each in chances.values()), taken
