"""How saves and reads change as an installation grows.

Each figure is the rate of a grown place divided by that of a small one beside it, the median of
alternating rounds: 1 means that growth costs nothing. A workspace of 50,000 notes is compared with
one of 100; a workspace after 100,000 revisions with a new one; one in a server in which 999 others
are awake with one in another server, in memory, too. Notes are real Markdown of 2 KB with ten
links, edited at random places. Prints one JSON line a figure.

    python benchmarks/growth.py [--quick]
"""

from __future__ import annotations

import sys
from pathlib import Path

ROOT = Path(__file__).parent.parent
# This script's folder would hide the package http of the standard library.
sys.path[0] = str(ROOT)

import argparse  # noqa: E402
import os  # noqa: E402
import statistics  # noqa: E402
import uuid  # noqa: E402
from collections.abc import Callable, Iterator, Sequence  # noqa: E402
from dataclasses import dataclass  # noqa: E402
from itertools import cycle  # noqa: E402
from typing import TypeVar  # noqa: E402

from benchmarks.clients import corpus  # noqa: E402
from benchmarks.clients.raw import NextRequest, load  # noqa: E402
from benchmarks.figures import report  # noqa: E402
from benchmarks.http import CHANGESET, Service, editing, repeating, request, service  # noqa: E402

SIZE, LINKS = 2_000, 10
CLIENTS = 16
ROUNDS = 5
WORKSPACES = 999
"""With the small one, as many as one account may have."""


@dataclass
class Place:
    """A workspace, and its notes with their revisions."""

    workspace: str
    notes: list[tuple[str, str]]

    def path(self, number: int) -> str:
        return f"/api/workspaces/{self.workspace}/files/{self.notes[number][0]}"


def filled(served: Service, count: int) -> Place:
    """Return a new workspace of so many notes."""
    place = Place(served.workspace(), [])
    for begin in range(0, count, CHANGESET):
        operations = [
            {
                "op": "create",
                "fileId": str(uuid.uuid4()),
                "path": f"Folder {number % 97}/{number}.md",
                "text": corpus.note(SIZE, LINKS, number % 1_000),
            }
            for number in range(begin, min(count, begin + CHANGESET))
        ]
        sent = {"mutationId": str(uuid.uuid4()), "operations": operations}
        changed = served.ask("POST", f"/api/workspaces/{place.workspace}/changesets", sent)
        place.notes += [
            (str(each["fileId"]), str(each["revision"]["id"])) for each in changed["changes"]
        ]
    return place


def settle(served: Service, *places: Place) -> None:
    """Wait until the words of the places are indexed, which happens behind the commits."""
    for place in places:
        while not served.ask("GET", f"/api/workspaces/{place.workspace}/search?q=a")["complete"]:
            pass


def spread(count: int) -> Sequence[int]:
    """Return the numbers of `CLIENTS` notes, from the oldest to the newest."""
    return [number * (count - 1) // (CLIENTS - 1) for number in range(CLIENTS)]


def savers(served: Service, place: Place) -> list[NextRequest]:
    """Return clients that save, each another note of the place, on top of its head."""
    clients = []
    for number in spread(len(place.notes)):
        path = place.path(number)
        found = served.ask("GET", f"{path}?content=text")
        known = str(found["head"]["id"]).encode()
        clients.append(editing(path, served.key, b'"%b"' % known, str(found["text"])))
    return clients


def readers(served: Service, place: Place) -> list[NextRequest]:
    """Return clients that read notes of the place, each another one."""
    return [
        repeating(request("GET", f"{place.path(number)}?content=text", served.key))
        for number in spread(len(place.notes))
    ]


WORK = {"saves": savers, "reads": readers}


def compare(
    name: str, small: tuple[Service, Place], grown: tuple[Service, Place], seconds: float
) -> None:
    """Report the rates of both, and the median of their ratios."""
    for work, clients in WORK.items():
        alternate(f"{name}/{work}", clients, [small, grown], seconds)


def compare_scattered(
    name: str, served: Service, small: Sequence[Place], grown: Place, seconds: float
) -> None:
    """Report the rates of reads of so many notes that none is remembered until it is read again.

    They are those of several small places, and as many of a grown one.
    """
    notes = [(place, number) for place in small for number in range(len(place.notes))]
    step = len(grown.notes) // len(notes)
    others = [(grown, step * number) for number in range(len(notes))]
    both = [(served, notes), (served, others)]
    alternate(f"{name}/reads of other notes", scattered, both, seconds)


def scattered(served: Service, notes: Sequence[tuple[Place, int]]) -> list[NextRequest]:
    """Return clients that read each of the notes in turn."""
    sent = cycle(
        [
            request("GET", f"{place.path(number)}?content=text", served.key)
            for place, number in notes
        ]
    )
    return [lambda _status, _tag: next(sent)] * CLIENTS


Grown = TypeVar("Grown")


def alternate(
    name: str,
    clients: Callable[[Service, Grown], list[NextRequest]],
    both: Sequence[tuple[Service, Grown]],
    seconds: float,
) -> None:
    """Report the rates of what is small and of what is grown, and the median of their ratios."""
    rates: list[tuple[float, float]] = []
    for _ in range(ROUNDS):
        one, other = (
            load(served.port, clients(served, place), seconds).rate(200) for served, place in both
        )
        rates.append((one, other))
    report(f"{name}/small", statistics.median(one for one, _ in rates), "responses/s")
    report(f"{name}/grown", statistics.median(two for _, two in rates), "responses/s")
    report(f"{name}/ratio", statistics.median(two / one for one, two in rates), "")


def revise(served: Service, place: Place, count: int) -> None:
    """Save notes of the place so many times."""
    clients = savers(served, place)
    load(served.port, clients, each=-(-count // len(clients)))


def waking(served: Service, places: Sequence[Place]) -> Iterator[bytes]:
    """Yield requests for a head in each place in turn, which keep its actor awake."""
    for place in cycle(places):
        tag = b'if-none-match: "%b"' % place.notes[0][1].encode()
        yield request("GET", f"{place.path(0)}?content=text", served.key, tag)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--quick", action="store_true", help="a tenth of the sizes")
    arguments = parser.parse_args()
    part, seconds = (10, 0.5) if arguments.quick else (1, 2.0)
    cores = sorted(os.sched_getaffinity(0))
    os.sched_setaffinity(0, {cores[-1]})
    with service(cores[0]) as served:
        report("memory/started", served.memory(), "MB")
        small, large = filled(served, 100), filled(served, 50_000 // part)
        settle(served, small, large)
        name = f"{len(large.notes)} notes"
        compare(name, (served, small), (served, large), seconds)
        compare_scattered(name, served, [filled(served, 100) for _ in range(20)], large, seconds)
        report("memory/large workspace", served.memory(), "MB")
        old, new = filled(served, 100), filled(served, 100)
        revise(served, old, 100_000 // part)
        settle(served, old, new)
        compare(f"{100_000 // part} revisions", (served, new), (served, old), seconds)
    with service(cores[0]) as few, service(cores[0]) as many:
        alone, beside = filled(few, 100), filled(many, 100)
        memory = many.memory()
        others = [filled(many, 20) for _ in range(WORKSPACES // part)]
        settle(few, alone)
        settle(many, beside, *others)
        asked = waking(many, others)
        load(many.port, [lambda _status, _tag: next(asked)], each=len(others))
        report(f"{len(others)} awake/memory before", memory, "MB")
        report(f"{len(others)} awake/memory", many.memory(), "MB")
        compare(f"{len(others)} awake", (few, alone), (many, beside), seconds)


if __name__ == "__main__":
    main()
