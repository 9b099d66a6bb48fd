"""What other people's saves notice of imports and exports."""

from __future__ import annotations

import random
import socket
import statistics
import tempfile
import threading
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path

from benchmarks.figures import report
from benchmarks.http import Service, saving, service
from benchmarks.served_archives import Caller, archive_of_notes, export_of


def saver(served: Service, ended: threading.Event, seconds: list[float]) -> None:
    """Save a note of its own about 20 times a second until ``ended``."""
    rng = random.Random(threading.get_ident())
    workspace = served.workspace()
    following = saving(served, workspace, *served.note(workspace, "note"))
    with socket.create_connection(("127.0.0.1", served.port)) as plain:
        status, tag = 0, b""
        while not ended.is_set():
            time.sleep(rng.uniform(0.025, 0.075))
            sent = following(status, tag)
            began = time.perf_counter()
            plain.sendall(sent)
            response = plain.recv(65_536)
            while b"\r\n\r\n" not in response:
                response += plain.recv(65_536)
            seconds.append(time.perf_counter() - began)
            status = int(response[9:12])
            tag = response.partition(b"etag: ")[2].partition(b"\r\n")[0]


def percentile(values: list[float], percent: int) -> float:
    """Return a percentile in milliseconds."""
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, len(ordered) * percent // 100)] * 1000


def saved_during(served: Service, people: int, work: Callable[[], object]) -> list[float]:
    """The seconds of each save of other people while ``work`` is done."""
    ended, seconds = threading.Event(), list[float]()
    threads = [threading.Thread(target=saver, args=(served, ended, seconds)) for _ in range(people)]
    for each in threads:
        each.start()
    time.sleep(0.5)
    # Without the first ones, which open the workspaces.
    seconds.clear()
    work()
    found = [*seconds]
    ended.set()
    for each in threads:
        each.join()
    return found


def measure(quick: bool) -> None:
    """Report the saves of other people without and during jobs, in alternating rounds."""
    count, rounds = (2000, 2) if quick else (10_000, 7)
    with tempfile.TemporaryDirectory() as name:
        file = Path(name) / "notes.zip"
        archive_of_notes(file, count)
        for people in (8, 1):
            during_imports(file, people, rounds)
        with service(None) as served:
            caller = Caller(served)
            caller.import_of(file)()
            # Its notes are indexed.
            time.sleep(5 if quick else 60)
            export = partial(export_again_and_again, served, caller.workspace)
            for people in (8, 1):
                alone: list[list[float]] = []
                during: list[list[float]] = []
                for _ in range(rounds):
                    alone.append(saved_during(served, people, partial(time.sleep, 3)))
                    during.append(saved_during(served, people, export))
                compare(f"saves of {people}", alone, "during exports", during)


def during_imports(file: Path, people: int, rounds: int) -> None:
    """Compare saves with those during an import to a server without notes."""
    alone: list[list[float]] = []
    during: list[list[float]] = []
    for _ in range(rounds):
        with service(None) as served:
            complete = Caller(served).import_of(file)
            alone.append(saved_during(served, people, partial(time.sleep, 3)))
            during.append(saved_during(served, people, complete))
    compare(f"saves of {people}", alone, "during an import", during)


def compare(name: str, alone: list[list[float]], when: str, during: list[list[float]]) -> None:
    """Report the medians of the p99 of each round, and their ratio.

    A disk of a shared machine stalls now and then, for longer than any save takes.
    """
    least, most = (
        statistics.median(percentile(each, 99) for each in rounds) for rounds in (alone, during)
    )
    report(f"{name} alone/p99", least, "ms")
    report(f"{name} {when}/p99", most, "ms")
    report(f"{name} {when}/p99 of alone", most / least, "ratio")


def export_again_and_again(served: Service, workspace: str) -> None:
    until = time.perf_counter() + 3
    while time.perf_counter() < until:
        export_of(served, workspace)
