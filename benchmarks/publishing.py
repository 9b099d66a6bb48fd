"""Published pages: hits, misses, what other people's saves notice of misses, folders, memory.

Prints one JSON line a figure: ``{"name": …, "value": …, "unit": …}``. For hits, the server has one
core and the client another. Misses are notes that nobody has read before, so that each is rendered
in a worker process; the server and its workers have one core there, too.

    python benchmarks/publishing.py [--quick]
"""

from __future__ import annotations

import sys
from pathlib import Path

ROOT = Path(__file__).parent.parent
# This script's folder would hide the package http of the standard library.
sys.path[0] = str(ROOT)

import argparse  # noqa: E402
import json  # noqa: E402
import os  # noqa: E402
import statistics  # noqa: E402
import subprocess  # noqa: E402
import time  # noqa: E402
import urllib.request  # noqa: E402
from collections.abc import Sequence  # noqa: E402
from functools import partial  # noqa: E402

from benchmarks.archive_bystanders import percentile, saved_during  # noqa: E402
from benchmarks.clients.prose import prose  # noqa: E402
from benchmarks.clients.raw import load  # noqa: E402
from benchmarks.figures import report  # noqa: E402
from benchmarks.http import Service, service, tell  # noqa: E402

SERVER, CLIENT = 0, 1
LINE = (
    "- [ ] Ask [Ada](people/ada.md) about *the proof*, see [[people/ada|her notes]] and"
    " <https://example.org/proof>.\n- Second **point**, with `code`.\n\n"
)
TABLE = "| step | hours | degrees |\n|---|--:|--:|\n| rest | 12 | 5 |\n| bake | 1 | 250 |\n\n"


def markdown(size: int, number: int = 0) -> str:
    """Return a note of about ``size`` characters: prose, lists, links, a table; no code."""
    parts = [f"# Note {number}\n\n"]
    while sum(map(len, parts)) < size:
        section = sum(map(len, parts))
        parts.append(
            f"## Section {section}\n\n{prose(1_200, 1_000 * number + section)}\n\n{LINE}{TABLE}"
        )
    return "".join(parts)


class PageRegistry:
    """A workspace with notes, and a link of them."""

    def __init__(self, served: Service, texts: Sequence[str]) -> None:
        self.served = served
        self.workspace = served.workspace()
        place = f"/api/workspaces/{self.workspace}"
        self.ids: list[str] = []
        for number, text in enumerate(texts):
            body = {"path": f"notes/{number:05}.md", "text": text}
            self.ids.append(str(served.ask("POST", f"{place}/files", body)["fileId"]))
        target = {"target": {"kind": "folder", "path": "notes"}}
        self.token = str(served.ask("POST", f"{place}/publications", target)["token"])

    def path(self, note: str = "") -> str:
        """The path of a page."""
        return f"/published/{self.token}" + (f"?note={note}" if note else "")

    def read(self, note: str = "") -> bytes:
        """Read a page."""
        url = f"http://127.0.0.1:{self.served.port}{self.path(note)}"
        with urllib.request.urlopen(url) as response:
            return bytes(response.read())

    def read_all(self, notes: Sequence[str], readers: int) -> None:
        """Read each note once, by so many readers at the same time, in another process."""
        given = json.dumps([self.served.port, [self.path(each) for each in notes], readers])
        command = [sys.executable, "-m", "benchmarks.clients.page_readers"]
        subprocess.run(command, cwd=ROOT, input=given, text=True, check=True)


def get(path: str) -> bytes:
    return f"GET {path} HTTP/1.1\r\nhost: localhost\r\n\r\n".encode()


def again(sent: bytes, _status: int, _tag: bytes) -> bytes:
    return sent


def hits(seconds: float) -> None:
    """Report how many pages of notes that were read before are served."""
    with service(SERVER) as served:
        for size in (2_000, 20_000):
            site = PageRegistry(served, [markdown(size)])
            sent = get(site.path(site.ids[0]))
            for _ in range(3):
                site.read(site.ids[0])
            found = load(served.port, [partial(again, sent)] * 16, seconds)
            tell(f"hit_{size // 1000}KB", found, 200, "pages/s")


def misses(count: int) -> None:
    """Report how many notes are rendered and served on one core."""
    with service(SERVER) as served:
        site = PageRegistry(served, [markdown(20_000, number) for number in range(count + 1)])
        began = time.perf_counter()
        site.read(site.ids[0])
        report("first_miss_20KB", (time.perf_counter() - began) * 1000, "ms")
        began = time.perf_counter()
        site.read_all(site.ids[1:], 4)
        report("misses_20KB", count / (time.perf_counter() - began), "pages/s")


def bystanders(count: int, rounds: int) -> None:
    """Report the saves of other people without and during misses, in alternating rounds."""
    with service(None) as served:
        for people in (8, 1):
            ratios: list[float] = []
            for number in range(rounds):
                texts = [markdown(20_000, number * count + each) for each in range(count)]
                site = PageRegistry(served, texts)
                # Links and searches of the new notes are indexed by then.
                time.sleep(10)
                alone = saved_during(served, people, partial(time.sleep, 4))
                during = saved_during(served, people, partial(site.read_all, site.ids, 4))
                ratios.append(percentile(during, 99) / percentile(alone, 99))
            report(f"saves_of_{people}_during_misses/p99_ratio", statistics.median(ratios), "times")


def folder(count: int, seconds: float) -> None:
    """Report the list of a large folder, first and again, and the memory of the server."""
    with service(SERVER) as served:
        before = served.memory()
        site = PageRegistry(served, [f"# Note {number}\n" for number in range(count)])
        began = time.perf_counter()
        page = site.read()
        report(f"folder_of_{count}/first", (time.perf_counter() - began) * 1000, "ms")
        report(f"folder_of_{count}/size", len(page) / 1024, "KiB")
        sent = get(site.path())
        found = load(served.port, [partial(again, sent)] * 4, seconds)
        tell(f"folder_of_{count}", found, 200, "pages/s")
        report("memory_of_server", served.memory() - before, "MiB above idle")


def main() -> None:
    os.sched_setaffinity(0, {CLIENT})
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="measure for a shorter time")
    quick = parser.parse_args().quick
    hits(2.0 if quick else 8.0)
    misses(60 if quick else 400)
    folder(1_000, 1.0 if quick else 4.0)
    os.sched_setaffinity(0, {SERVER, CLIENT})
    bystanders(60 if quick else 300, 2 if quick else 5)


if __name__ == "__main__":
    main()
