"""Mutated requests, authenticated and not: no 500, no crash, no leak of foreign data.

The number of cases comes from ``OCTAVO_HOSTILE_CASES``. A failing case reports its number.
"""

import os
import random
import re
from base64 import b64decode
from collections import Counter
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from itertools import count

import httpx
import pytest
import trio
from octavo_rules.documents.encoding import read_state_vector

from packages.antechamber.tests.request_mutation import mutate
from packages.antechamber.tests.strict_client import check_websocket_frames, read_responses
from tests.e2e.hostile.requests import Surroundings, mutated, request_to
from tests.e2e.hostile.websockets import session
from tests.e2e.octavo_process import PUBLIC, Octavo, data_folder, running
from tests.e2e.operations.common import operations
from tests.e2e.people import Person, client, invite, register, settle
from tests.e2e.server import PATIENCE
from tests.fakes.yjs_device import Device

CASES = int(os.environ.get("OCTAVO_HOSTILE_CASES", "6000"))
BATCH = 250
"""Cases per workspace, whose note they change, delete and purge."""
AT_ONCE = 16
# In the victim's names, paths and texts, and in nothing that is sent.
MARK = "Zwielicht"
OUTCOMES = {101, 200, 201, 304, 400, 401, 403, 404, 405, 409, 410, 412, 413, 415, 422, 428, 429}
# The server doesn't support the method, or the version of HTTP.
UNSERVED = {501, 505}

_fresh = count(1)


@dataclass(frozen=True)
class Scene:
    """An attacker, a victim, and what each has."""

    octavo: Octavo
    attacker: Person
    victim: Person
    workspace: str
    foreign: list[str]


def workspace_with_a_note(http: httpx.Client, name: str, path: str, text: str) -> list[str]:
    """Ids of a workspace, of a note in it, of its revision and of its mutation."""
    made = http.post("/api/workspaces", json={"name": name})
    assert made.status_code == 201, made.text
    workspace = made.json()["id"]
    mutation = f"40000000-0000-7000-8000-{next(_fresh):012x}"
    given = {"path": path, "text": text, "mutationId": mutation}
    note = http.post(f"/api/workspaces/{workspace}/files", json=given)
    assert note.status_code == 201, note.text
    return [workspace, note.json()["fileId"], note.json()["revision"]["id"], mutation]


@pytest.fixture
def scene() -> Iterator[Scene]:
    with ExitStack() as stack:
        folder = stack.enter_context(data_folder())
        octavo = stack.enter_context(running(folder, "--connections-per-client", "1000"))
        victim = settle(octavo)
        attacker = register(octavo.url, invite(folder))
        with client(octavo.url, victim) as http:
            kept = workspace_with_a_note(http, MARK, f"{MARK}/{MARK}.md", f"{MARK} " * 100)
            http.post("/api/account/keys", json={"name": MARK})
            others = [
                http.get(f"/api/account/{what}").json()["items"][0]["id"]
                for what in ("keys", "sessions")
            ]
        yield Scene(octavo, attacker, victim, kept[0], [*kept, victim.account_id, *others])
        assert octavo.stop() == (0, [])


def surroundings(scene: Scene) -> Surroundings:
    """The ids of a batch of cases; its own workspace is new."""
    person = scene.attacker
    with client(scene.octavo.url, person) as http:
        own = workspace_with_a_note(http, "Own", "own.md", "own")
    signed = [person.by_key, person.by_cookie] * 4 + [{}, {"origin": PUBLIC}]
    return Surroundings(signed, own, scene.foreign)


_DOWNLOADED = re.compile('"download(Bytes|Objects)":[0-9]+')


def everything_of(scene: Scene) -> str:
    """The victim's data, as the victim reads it."""
    with client(scene.octavo.url, scene.victim) as http:
        responses = [
            http.get(path)
            for path in (
                "/api/account",
                "/api/workspaces",
                f"/api/workspaces/{scene.workspace}/snapshot",
            )
        ]
    assert all(response.status_code == 200 for response in responses)
    # The first reading is counted in the second one.
    return _DOWNLOADED.sub("", "".join(response.text for response in responses))


def check_documents(scene: Scene, around: Surroundings) -> int:
    """Check the texts of the batch's notes against their documents; return their number."""
    place = f"/api/workspaces/{around.own[0]}/files"
    with client(scene.octavo.url, scene.attacker) as http:
        names = [around.own[1], *(each["id"] for each in http.get(place).json()["items"])]
        responses = [http.get(f"{place}/{name}") for name in names]
    found = [response.json() for response in responses if response.status_code == 200]
    for file in found:
        assert Device.of(file).text == file["text"]
        # The order of the clients in its bytes depends on what came first.
        told = read_state_vector(b64decode(file["document"]["stateVector"]))
        assert told == read_state_vector(Device.of(file).vector())
    return len(found)


def leave_few_workspaces(scene: Scene) -> None:
    """Delete the attacker's workspaces, of which an account may own a limited number."""
    with client(scene.octavo.url, scene.attacker) as http:
        while owned := http.get("/api/workspaces", params={"limit": 100}).json()["items"]:
            for each in owned:
                gone = http.delete(f"/api/workspaces/{each['id']}")
                assert gone.status_code in (200, 204), gone.text


async def exchange(port: int, data: bytes) -> bytes:
    """Send ``data`` and end the sending side; return everything received."""
    received = b""
    with trio.fail_after(PATIENCE):
        async with await trio.open_tcp_stream("127.0.0.1", port) as stream:
            try:
                await stream.send_all(data)
                await stream.send_eof()
            except trio.BrokenResourceError:
                # It was refused before it was completely sent.
                pass
            try:
                while data := await stream.receive_some():
                    received += data
            except trio.BrokenResourceError:
                pass
    return received


def judge(received: bytes) -> list[int]:
    """Return the statuses; the data must be well-formed, without a 500 or the victim's data."""
    assert MARK.encode() not in received
    statuses, frames = read_responses(received)
    check_websocket_frames(frames)
    assert not {status for status in statuses if status >= 500} - UNSERVED
    return statuses


async def test_mutated_requests_get_no_500_and_no_foreign_data(scene: Scene) -> None:
    with client(scene.octavo.url) as http:
        result = operations(http.get("/api/openapi.json").json())
    # More often those with most refusals.
    result += 2 * [each for each in result if "{fileId}" in each["path"]]
    before = everything_of(scene)
    assert MARK in before
    seen: Counter[int] = Counter()

    def case(number: int, around: Surroundings) -> bytes:
        rng = random.Random(number)
        if rng.random() < 0.1:
            return session(around, rng)
        request = request_to(rng.choice(result), around, rng)
        if rng.random() < 0.25:
            others = [request_to(rng.choice(result), around, rng).encoded() for _ in range(2)]
            return mutate(request.encoded(), others, rng)
        return mutated(request, around, rng).encoded()

    async def attack(number: int, around: Surroundings, slots: trio.Semaphore) -> None:
        data = case(number, around)
        async with slots:
            received = await exchange(scene.octavo.port, data)
        try:
            seen.update(judge(received))
        except Exception as error:
            error.add_note(f"case {number}: {data[:3000]!r}\nanswered {received[:3000]!r}")
            raise

    checked = 0
    slots = trio.Semaphore(AT_ONCE)
    for start in range(0, CASES, BATCH):
        around = surroundings(scene)
        async with trio.open_nursery() as nursery:
            for number in range(start, min(start + BATCH, CASES)):
                nursery.start_soon(attack, number, around, slots)
        with client(scene.octavo.url) as http:
            assert http.get("/health").status_code == 200
        checked += check_documents(scene, around)
        leave_few_workspaces(scene)
    assert everything_of(scene) == before
    # Otherwise only the authentication was tested.
    assert sum(seen[status] for status in (200, 201)) > CASES / 20
    assert seen.keys() >= OUTCOMES
    assert checked >= CASES // BATCH


@pytest.mark.parametrize(
    "received",
    [
        b"HTTP/1.1 500 Internal Server Error\r\ncontent-length: 0\r\n\r\n",
        b"HTTP/1.1 200 OK\r\ncontent-length: 9\r\n\r\n" + MARK.encode(),
        b"HTTP/1.1 200 OK\r\ncontent-length: 9\r\n\r\nshort",
        b"HTTP/1.1 101 Switching Protocols\r\n\r\n\x81\x09" + MARK.encode(),
    ],
)
def test_judge_of_hostile_responses_catches(received: bytes) -> None:
    with pytest.raises(Exception, match=re.compile("Zwielicht|500|shorter")):
        judge(received)
