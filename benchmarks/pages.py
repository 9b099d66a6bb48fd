"""The pages of notes: 50 requests a second of people who read and write among 10,000 notes.

Prints one JSON line a figure: ``{"name": …, "value": …, "unit": …}``. Requests are sent on a
schedule, whether or not the ones before were answered; a time counts from its place in the
schedule. Four of five notes that are read are among two hundred, the others anywhere: most of those
are rendered first. All notes are indexed before. The server and its workers have one core, the
clients the other.

    python benchmarks/pages.py [--quick]
"""

from __future__ import annotations

import sys
from pathlib import Path

ROOT = Path(__file__).parent.parent
# This script's folder would hide the package http of the standard library.
sys.path[0] = str(ROOT)

import argparse  # noqa: E402
import os  # noqa: E402
import random  # noqa: E402
import re  # noqa: E402
import threading  # noqa: E402
import time  # noqa: E402
import uuid  # noqa: E402
from collections import defaultdict  # noqa: E402
from collections.abc import Callable  # noqa: E402
from dataclasses import dataclass, field  # noqa: E402
from http.client import HTTPConnection  # noqa: E402
from urllib.parse import urlencode  # noqa: E402

from benchmarks.clients.prose import prose  # noqa: E402
from benchmarks.figures import report  # noqa: E402
from benchmarks.http import ORIGIN, Service, service  # noqa: E402
from benchmarks.people import post  # noqa: E402

SERVER, CLIENT = 0, 1
RATE = 50
CLIENTS = 16
HOT = 200
OPERATIONS = 500
PASSWORD = "orange lanterns at dusk"
TOPICS = 1000
"""Words that people search for; each is in about one of a hundred notes."""


def topic(number: int) -> str:
    """Return the word that a note is about."""
    first, second = divmod(number % TOPICS, 32)
    syllables = ("ba", "de", "fi", "go", "hu", "ka", "le", "mi", "no", "pu", "ra", "se", "ti", "vo")
    parts = (first % 14, first // 14 + 7, second % 14, second // 14 + 3)
    return "".join(syllables[each] for each in parts)


def markdown(number: int, count: int) -> str:
    """Return a note of about 2 KB: prose, a list, code, and links to other notes."""
    links = "\n".join(
        f"- see [note {other}](../{other // 100:03}/{other:05}.md) about {topic(other)}"
        for other in ((number * 7 + step) % count for step in range(10))
    )
    return (
        f"# Note {number}: {topic(number)}\n\n{prose(900, number)}\n\n"
        f"## Links\n\n{links}\n\n## Code\n\n"
        f"```python\nprint({number})\n```\n\n{prose(400, number + 1)}\n"
    )


@dataclass
class Vault:
    """A workspace with notes, and a signed-in person."""

    served: Service
    workspace: str
    ids: list[str]
    cookie: str
    times: dict[str, list[float]] = field(default_factory=lambda: defaultdict(list))
    sizes: dict[str, int] = field(default_factory=dict)
    lock: threading.Lock = field(default_factory=threading.Lock)

    @property
    def base(self) -> str:
        return f"/workspaces/{self.workspace}"

    def any_note(self, chance: random.Random) -> str:
        pool = self.ids[:HOT] if chance.random() < 0.8 else self.ids
        return f"{self.base}/notes/{chance.choice(pool)}"

    def get(self, connection: HTTPConnection, path: str) -> str:
        connection.request("GET", path, headers={"cookie": self.cookie})
        response = connection.getresponse()
        text = response.read().decode()
        if response.status != 200:
            raise SystemExit(f"{path} got {response.status}")
        return text


def filled(served: Service, count: int) -> Vault:
    workspace = served.workspace()
    place = f"/api/workspaces/{workspace}/changesets"
    ids = [str(uuid.uuid4()) for _ in range(count)]
    for at in range(0, count, OPERATIONS):
        made = [
            {
                "op": "create",
                "fileId": ids[number],
                "path": f"{number // 100:03}/{number:05}.md",
                "text": markdown(number, count),
            }
            for number in range(at, min(at + OPERATIONS, count))
        ]
        served.ask("POST", place, {"mutationId": str(uuid.uuid4()), "operations": made})
    body = {"email": "bench@example.org", "password": PASSWORD}
    signed = post(served.port, "/api/auth/sign-in/email", body)
    cookie = str(signed.headers["set-cookie"]).partition(";")[0]
    random.Random(1).shuffle(ids)
    return Vault(served, workspace, ids, cookie)


def settle(vault: Vault) -> None:
    """Wait until the search finds the words of all notes."""
    place = f"/api/workspaces/{vault.workspace}/search?q=link&limit=1"
    while not vault.served.ask("GET", place)["complete"]:
        time.sleep(0.5)


def note(vault: Vault, connection: HTTPConnection, chance: random.Random) -> str:
    return vault.get(connection, vault.any_note(chance))


def folder(vault: Vault, connection: HTTPConnection, chance: random.Random) -> str:
    number = chance.randrange(len(vault.ids) // 100 or 1)
    return vault.get(connection, f"{vault.base}?folder={number:03}")


def home(vault: Vault, connection: HTTPConnection, chance: random.Random) -> str:
    return vault.get(connection, vault.base)


def search(vault: Vault, connection: HTTPConnection, chance: random.Random) -> str:
    return vault.get(connection, f"{vault.base}/search?q={topic(chance.randrange(TOPICS))}")


def history(vault: Vault, connection: HTTPConnection, chance: random.Random) -> str:
    return vault.get(connection, f"{vault.any_note(chance)}/history")


def form(vault: Vault, connection: HTTPConnection, chance: random.Random) -> str:
    return vault.get(connection, f"{vault.any_note(chance)}/edit")


def save(vault: Vault, connection: HTTPConnection, chance: random.Random) -> str:
    """Save a note; its form was opened before, outside of the schedule."""
    path = f"{vault.base}/notes/{vault.ids[HOT + chance.randrange(HOT)]}/edit"
    page = vault.get(connection, path)
    fields = dict(re.findall(r'<input type="hidden" name="([^"]+)" value="([^"]*)"', page))
    [shown] = re.findall(r'<input id="path"[^>]* value="([^"]*)"', page)
    body = urlencode({**fields, "path": shown, "text": f"# Saved\n\n{prose(900)}{uuid.uuid4()}"})
    began = time.perf_counter()
    headers = {
        "cookie": vault.cookie,
        "origin": ORIGIN,
        "content-type": "application/x-www-form-urlencoded",
    }
    connection.request("POST", path, body, headers)
    response = connection.getresponse()
    response.read()
    # A conflict is a page, too: two of them may have saved the same note.
    if response.status not in (303, 409):
        raise SystemExit(f"a save got {response.status}")
    vault.times["save"].append(time.perf_counter() - began)
    return ""


Act = Callable[[Vault, HTTPConnection, random.Random], str]
MIX: list[tuple[Act, int]] = [
    (note, 50),
    (folder, 15),
    (home, 10),
    (search, 10),
    (history, 5),
    (form, 5),
    (save, 5),
]


def paced(vault: Vault, seconds: float) -> None:
    """Send requests at `RATE` a second, and keep their times by what they ask for."""
    began = time.perf_counter() + 0.5
    total = int(seconds * RATE)
    numbers = iter(range(total))

    def work(seed: int) -> None:
        chance = random.Random(seed)
        connection = HTTPConnection("127.0.0.1", vault.served.port)
        acts = [act for act, share in MIX for _ in range(share)]
        while True:
            with vault.lock:
                number = next(numbers, None)
            if number is None:
                return
            due = began + number / RATE
            time.sleep(max(0.0, due - time.perf_counter()))
            act = chance.choice(acts)
            page = act(vault, connection, chance)
            if page:
                vault.times[act.__name__].append(time.perf_counter() - due)
                name = act.__name__
                vault.sizes[name] = max(vault.sizes.get(name, 0), len(page.encode()))

    threads = [threading.Thread(target=work, args=(seed,)) for seed in range(CLIENTS)]
    for each in threads:
        each.start()
    for each in threads:
        each.join()


def percentile(times: list[float], percent: int) -> float:
    ordered = sorted(times)
    return ordered[min(len(ordered) - 1, len(ordered) * percent // 100)] * 1000


def main() -> None:
    """Fill a workspace, and report the times of its pages."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="fewer notes, a shorter time")
    quick = parser.parse_args().quick
    count, seconds = (1_000, 10.0) if quick else (10_000, 60.0)
    os.sched_setaffinity(0, {CLIENT})
    with service(SERVER) as served:
        began = time.perf_counter()
        vault = filled(served, count)
        report("filled", count / (time.perf_counter() - began), "notes/s")
        settle(vault)
        report("indexed", time.perf_counter() - began, "s")
        connection = HTTPConnection("127.0.0.1", served.port)
        began = time.perf_counter()
        home(vault, connection, random.Random(0))
        report("first_page", (time.perf_counter() - began) * 1000, "ms")
        for number in range(HOT):
            vault.get(connection, f"{vault.base}/notes/{vault.ids[number]}")
        paced(vault, 5.0)
        vault.times.clear()
        paced(vault, seconds)
        every = [each for times in vault.times.values() for each in times]
        report("all/p50", percentile(every, 50), "ms")
        report("all/p99", percentile(every, 99), "ms")
        for name, times in sorted(vault.times.items()):
            report(f"{name}/p50", percentile(times, 50), "ms")
            report(f"{name}/p99", percentile(times, 99), "ms")
        for name, size in sorted(vault.sizes.items()):
            report(f"{name}/size", size / 1000, "KB")
        report("memory", served.memory(), "MB")


if __name__ == "__main__":
    main()
