"""What links cost: saves of notes with links, imports, and queries of links over HTTP.

Prints one JSON line a figure: ``{"name": …, "value": …, "unit": …}``, the median of the rounds. The
server has one core, the clients another. The vault has 1,067 notes with 153,000 links. With
``--against``, the rounds of this checkout and of another one alternate.

    python benchmarks/links.py [--quick] [--only saves|imports|queries] [--against FOLDER]
"""

from __future__ import annotations

import sys
from pathlib import Path

ROOT = Path(__file__).parent.parent
# The folder of this script has a module named http, which would hide the standard one.
sys.path[0] = str(ROOT)

import argparse  # noqa: E402
import os  # noqa: E402
import random  # noqa: E402
import sqlite3  # noqa: E402
import statistics  # noqa: E402
import threading  # noqa: E402
import time  # noqa: E402
import uuid  # noqa: E402
from collections import defaultdict  # noqa: E402
from collections.abc import Iterator  # noqa: E402
from contextlib import closing  # noqa: E402
from urllib.error import HTTPError  # noqa: E402

from benchmarks.clients.prose import sentences, words  # noqa: E402
from benchmarks.clients.raw import Found, load  # noqa: E402
from benchmarks.figures import checkout, report  # noqa: E402
from benchmarks.http import Service, saving, service  # noqa: E402
from octavo.store.sqlite import DATABASE  # noqa: E402

CHANGESET = 500
WRITERS = (1, 16, 64)
NOTES_OF_VAULT = 1_067
LINKS_OF_VAULT = 153_000
IMPORTED = 10_000
UNINDEXED = (500, 10_000)
INDEXES = ("link_index", "link_targets", "link_sources")
CURSORS = ("index_cursors", "fulltext_cursors")
Body = dict[str, object]
Figures = dict[str, list[float]]
"""The values of each figure, by its name and unit, separated by a tab."""


class Vault:
    """Generates notes that link to each other, deterministically."""

    def __init__(self, notes: int, seed: int) -> None:
        self._random = random.Random(seed)
        names = self._random.choices(words(), k=2 * notes)
        self.paths = [
            f"{names[2 * number]}/{names[2 * number + 1]} {number}.md" for number in range(notes)
        ]

    def note(self, links: int, size: int = 0) -> str:
        """Return Markdown with this many links, and prose up to ``size`` characters."""
        text = "# Note\n"
        for _ in range(links):
            text += f"- {self._link()} {self._random.choice(words())}\n"
        while len(text) < size:
            text += f"{self._random.choice(sentences())}\n"
        return text

    def _link(self) -> str:
        path = self._random.choice(self.paths)
        name = path.removesuffix(".md").rpartition("/")[2]
        kind = self._random.random()
        if kind < 0.7:
            return f"[[{name}]]"
        if kind < 0.9:
            return f"[{name}](</{path}>)"
        return f"[[{self._random.choice(words())}]]"


def with_links(notes: int) -> Iterator[tuple[str, str]]:
    """Generate the paths and texts of notes of 2 KB with ten links."""
    vault = Vault(notes, 1)
    for path in vault.paths:
        yield path, vault.note(10, 2_000)


def vault_of_links() -> Iterator[tuple[str, str]]:
    """Generate the paths and texts of the vault."""
    vault = Vault(NOTES_OF_VAULT, 2)
    left = LINKS_OF_VAULT
    for number, path in enumerate(vault.paths):
        links = left // (NOTES_OF_VAULT - number)
        left -= links
        yield path, vault.note(links)


def changesets(notes: Iterator[tuple[str, str]]) -> tuple[list[Body], str]:
    """Return changesets that create notes, and the id of the first one."""
    operations = [
        {"op": "create", "fileId": str(uuid.uuid4()), "path": path, "text": text}
        for path, text in notes
    ]
    bodies: list[Body] = [
        {"mutationId": str(uuid.uuid4()), "operations": operations[at : at + CHANGESET]}
        for at in range(0, len(operations), CHANGESET)
    ]
    return bodies, str(operations[0]["fileId"])


def push_all(served: Service, workspace: str, bodies: list[Body]) -> float:
    """Push changesets one after the other; return the seconds."""
    began = time.perf_counter()
    for body in bodies:
        served.ask("POST", f"/api/workspaces/{workspace}/changesets", body)
    return time.perf_counter() - began


def seconds_to_words(served: Service, workspace: str) -> float:
    """Return the seconds until a search covers everything that was saved."""
    began = time.perf_counter()
    while not served.ask("GET", f"/api/workspaces/{workspace}/search?q=note&limit=1")["complete"]:
        time.sleep(0.05)
    return time.perf_counter() - began


def saves(served: Service, figures: Figures, seconds: float) -> None:
    text = next(with_links(1_000))[1]
    for count in WRITERS:
        workspace = served.workspace()
        writers = [
            saving(served, workspace, *served.note(workspace, str(number)), text)
            for number in range(count)
        ]
        keep(figures, f"saves of ten links/{count}", load(served.port, writers, seconds))


def imports(served: Service, figures: Figures) -> None:
    """Import many notes, and the vault, alone and while somebody else saves until it is indexed."""
    workspace = served.workspace()
    bodies, _ = changesets(with_links(IMPORTED))
    seconds = push_all(served, workspace, bodies)
    figures[f"import of {IMPORTED:,}/rate\tnotes/s"].append(IMPORTED / seconds)
    figures[f"import of {IMPORTED:,}/words\ts"].append(seconds_to_words(served, workspace))
    bodies, _ = changesets(vault_of_links())
    seconds = push_all(served, served.workspace(), bodies)
    figures["import/rate\tnotes/s"].append(NOTES_OF_VAULT / seconds)
    time.sleep(10)
    bodies, _ = changesets(vault_of_links())
    other = served.workspace()
    writer = saving(served, other, *served.note(other, "note"))
    importing = threading.Thread(target=push_all, args=(served, served.workspace(), bodies))
    importing.start()
    keep(figures, "saves of another during an import/1", load(served.port, [writer], 10))
    importing.join()


def queries(served: Service, figures: Figures, count: int) -> None:
    """Time queries of back links: after an import, with nothing indexed, and with everything.

    A query that is refused is repeated as `retry-after` says, and timed with its repetitions.
    """
    workspace = served.workspace()
    bodies, first = changesets(with_links(count))
    push_all(served, workspace, bodies)
    path = f"/api/workspaces/{workspace}/files/{first}/links"

    def ask(name: str) -> None:
        began = time.perf_counter()
        refused = 0
        while True:
            try:
                found = served.ask("GET", path)
            except HTTPError as error:
                if error.code != 503:
                    raise
                refused += 1
                time.sleep(int(error.headers["retry-after"]))
            else:
                break
        figures[f"back links/{count}/{name}\tms"].append((time.perf_counter() - began) * 1000)
        figures[f"back links/{count}/{name}/refused\tresponses"].append(refused)
        if not found["incoming"]:
            raise SystemExit("no links were found")

    ask("after the import")
    database = Path(f"/proc/{served.pid}/cwd").resolve() / "data" / DATABASE
    with closing(sqlite3.connect(database, isolation_level=None, timeout=60)) as connection:
        tables = {row[0] for row in connection.execute("SELECT name FROM sqlite_master")}
        connection.execute("BEGIN IMMEDIATE")
        for table in tables.intersection((*INDEXES, *CURSORS)):
            connection.execute(f"DELETE FROM {table}")
        connection.execute("COMMIT")
    ask("nothing indexed")
    ask("everything indexed")


def keep(figures: Figures, name: str, found: Found) -> None:
    figures[f"{name}/rate\tsaves/s"].append(found.rate(200))
    figures[f"{name}/p50\tms"].append(found.percentile(50))
    figures[f"{name}/p99\tms"].append(found.percentile(99))


def measure(root: Path, core: int, figures: Figures, seconds: float, only: str | None) -> None:
    """Run one round, each group on a server of its own."""
    if only in (None, "saves"):
        with service(core, root=root) as served:
            saves(served, figures, seconds)
    if only in (None, "imports"):
        with service(core, root=root) as served:
            imports(served, figures)
    if only in (None, "queries"):
        for count in UNINDEXED:
            with service(core, root=root) as served:
                queries(served, figures, count)


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="one round of a second a figure")
    parser.add_argument("--against", type=checkout, help="another checkout, with the same packages")
    parser.add_argument("--only", choices=("saves", "imports", "queries"), help="one group")
    arguments = parser.parse_args()
    cores = sorted(os.sched_getaffinity(0))
    os.sched_setaffinity(0, {cores[-1]})
    checkouts = {"": ROOT}
    if arguments.against is not None:
        checkouts["against/"] = arguments.against
    found: dict[str, Figures] = {name: defaultdict(list) for name in checkouts}
    for _ in range(1 if arguments.quick else 3):
        for name, root in checkouts.items():
            seconds = 1.0 if arguments.quick else 4.0
            measure(root, cores[0], found[name], seconds, arguments.only)
    for figure in found[""]:
        for name, figures in found.items():
            title, unit = figure.split("\t")
            report(f"{name}{title}", statistics.median(figures[figure]), unit)


if __name__ == "__main__":
    main()
