"""Run one attack against a server of its own, and measure what the bystander notices."""

import math
import os
import signal
import threading
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any, NamedTuple

import httpx
import trustme

from tests.e2e.octavo_process import Octavo, data_folder, running
from tests.e2e.overload.attacks import attacking
from tests.e2e.overload.bystander import NOTE_SIZE, TRUSTING, Bystander, Load, mutation
from tests.e2e.overload.target import DOCUMENT, Target
from tests.e2e.overload.vault import fill
from tests.e2e.people import Person, client, join, settle
from tests.e2e.server import PATIENCE

_SAMPLE = 0.05
LARGE_NOTE = 1_000_000


class Bounds(NamedTuple):
    """What a bystander may notice at most: milliseconds, and MiB of memory above idle.

    ``health`` and ``saves`` are the times that 99 % of them don't exceed, and none twice as long;
    ``typical`` is for half of the saves, ``stall`` for any response about the health; ``stop`` are
    the seconds from SIGTERM to the end.
    """

    health: float = 300
    saves: float = 500
    typical: float = 250
    memory: float = 150
    stall: float = math.inf
    stop: float = 10


class Attack(NamedTuple):
    """An attack: which, on what, for how many seconds, and what it may reach.

    ``accounts`` are those of the attackers. ``address`` is the last number of the bystander's.
    With ``notes``, the attack goes round over all routes of a kind, at least once, and there are so
    many notes, as `tests.e2e.overload.vault` says.
    """

    kind: str
    target: Target
    bounds: Bounds = Bounds()
    seconds: float = 20
    options: tuple[str, ...] = ()
    accounts: int = 0
    address: int = 99
    notes: int = 0


class Scene(NamedTuple):
    """A server, a bystander on it, and the target completed by the accounts of the attackers."""

    octavo: Octavo
    load: Load
    target: Target


@contextmanager
def scene(attack: Attack) -> Iterator[Scene]:
    """Run a server with what ``attack`` needs."""
    with ExitStack() as stack:
        folder = stack.enter_context(data_folder())
        options = attack.options
        tls = attack.target.tls
        if tls:
            options = (*options, *_certificate(folder.parent))
        octavo = stack.enter_context(running(folder, *options))
        victim = settle(octavo)
        # What is computed once, at the first request for it, is no effect of an attack.
        with _client(octavo) as http:
            assert http.get(DOCUMENT).status_code == http.get("/sign-in").status_code == 200
        load = Load(
            octavo.port, f"127.0.0.{attack.address}", victim.key, *_note(octavo, victim), tls
        )
        target = attack.target._replace(port=octavo.port)
        if attack.accounts:
            target = _with_accounts(octavo, folder, victim, target, attack)
        yield Scene(octavo, load, target)


def _certificate(folder: Path) -> tuple[str, ...]:
    """Options with a new certificate."""
    issued = trustme.CA().issue_cert("127.0.0.1")
    chain, key = folder / "chain.pem", folder / "key.pem"
    chain.write_bytes(b"".join(pem.bytes() for pem in issued.cert_chain_pems))
    issued.private_key_pem.write_to_path(str(key))
    return ("--tls-certificate", str(chain), "--tls-key", str(key))


def _client(octavo: Octavo, person: Person | None = None) -> httpx.Client:
    url = octavo.url
    if "--tls-key" in octavo.options:
        url = url.replace("http:", "https:")
    headers = {} if person is None else person.by_key
    return httpx.Client(
        base_url=url, headers=headers, timeout=PATIENCE, verify=TRUSTING, trust_env=False
    )


def _with_accounts(
    octavo: Octavo, folder: Path, victim: Person, target: Target, attack: Attack
) -> Target:
    people = [join(folder) for _ in range(attack.accounts)]
    first = people[0]
    path, _ = _note(octavo, first, LARGE_NOTE)
    workspace = path.split("/")[3]
    with client(octavo.url, first) as http:
        for other in people[1:]:
            made = http.post(
                f"/api/workspaces/{workspace}/invitations", json={"role": "administrator"}
            )
            assert made.is_success, made.text
            with client(octavo.url, other) as invited:
                token = made.json()["token"]
                accepted = invited.post("/api/invitations/accept", json={"token": token})
                assert accepted.is_success, accepted.text
    target = target._replace(keys=tuple(person.key for person in people), path=path)
    if not attack.notes:
        return target
    with client(octavo.url, victim) as administrator:
        for person in people:
            place = f"/api/accounts/{person.account_id}"
            changed = administrator.patch(place, json={"role": "administrator"})
            assert changed.is_success, changed.text
    with client(octavo.url, first) as http:
        return fill(http, first, target, notes=attack.notes)


def _note(octavo: Octavo, person: Person, size: int = NOTE_SIZE) -> tuple[str, str]:
    """The path of a new note of ``person`` in a new workspace, and its revision."""
    with _client(octavo, person) as http:
        workspace = http.post("/api/workspaces", json={"name": "Own"}).json()["id"]
        given = {"path": "own.md", "text": "x" * size, "mutationId": mutation()}
        made = http.post(f"/api/workspaces/{workspace}/files", json=given)
        assert made.status_code == 201, made.text
    note = made.json()
    return f"/api/workspaces/{workspace}/files/{note['fileId']}", note["revision"]["id"]


def run(attack: Attack) -> dict[str, Any]:
    """Attack; return the figures of the bystander, the memory, and the time of a stop."""
    with scene(attack) as there:
        bystander = Bystander(there.load)
        process = there.octavo.process.pid
        with _Memory(process) as memory:
            bystander.begin()
            with attacking(attack.kind, there.target) as finish:
                time.sleep(attack.seconds)
                statuses = finish() if attack.notes else {}
                figures = bystander.end()
                taken = _stop(there.octavo)
        report = {**figures.report(), "stop": taken, "memory": memory.grown}
        return report | ({"statuses": statuses} if statuses else {})


def _stop(octavo: Octavo) -> float:
    """Stop it under attack; return the seconds. What an attacker does is logged as no defect."""
    begun = time.monotonic()
    octavo.process.send_signal(signal.SIGTERM)
    code = octavo.process.wait(60)
    taken = round(time.monotonic() - begun, 2)
    lines = octavo.ended()[1]
    assert (code, lines) == (0, []), "".join(lines[-60:])
    return taken


class _Memory:
    """The growth of the memory of a process, in MiB, while it is entered."""

    def __init__(self, process: int) -> None:
        self._file = f"/proc/{process}/statm"
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._watch)
        self._idle = self._most = 0.0

    @property
    def grown(self) -> int:
        return round(self._most - self._idle)

    def __enter__(self) -> "_Memory":
        self._idle = self._most = self._resident()
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._ended.set()
        self._thread.join()

    def _watch(self) -> None:
        while not self._ended.wait(_SAMPLE):
            self._most = max(self._most, self._resident())

    def _resident(self) -> float:
        try:
            with open(self._file) as file:
                pages = int(file.read().split()[1])
        except (OSError, IndexError):
            return 0.0
        return pages * os.sysconf("SC_PAGE_SIZE") / 1024**2


def exceeded(attack: Attack, figures: dict[str, Any]) -> list[str]:
    """What ``figures`` exceed."""
    limits = {
        "health p99": attack.bounds.health,
        "saves p99": attack.bounds.saves,
        "saves p50": attack.bounds.typical,
        "health max": min(attack.bounds.stall, 2 * attack.bounds.health),
        "saves max": 2 * attack.bounds.saves,
        "memory": attack.bounds.memory,
        "stop": attack.bounds.stop,
        "refused": 0,
    }
    return [
        f"{name}: {figures[name]} of at most {limit:g}"
        for name, limit in limits.items()
        if name in figures and figures[name] > limit
    ]
