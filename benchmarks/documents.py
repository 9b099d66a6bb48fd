"""Documents, copies and search, with the whole service: devices are bare, others the typed client.

Prints one JSON line a figure: ``{"name": …, "value": …, "unit": …}``. The server has one core; the
clients, in processes of their own, have the others. The client is in Python: ``server cpu`` is the
work of the server, even where the client is the limit. Peaks are ``VmHWM``, reset before each part.

    python benchmarks/documents.py [--quick] [--only saves|copies] [--write]
"""

from __future__ import annotations

import sys
from pathlib import Path

ROOT = Path(__file__).parent.parent
# Here, its name would hide packages of the same name.
sys.path[0] = str(ROOT)

import argparse  # noqa: E402
import json  # noqa: E402
import os  # noqa: E402
import random  # noqa: E402
import re  # noqa: E402
from collections.abc import Awaitable, Callable, Sequence  # noqa: E402
from functools import partial  # noqa: E402
from itertools import accumulate  # noqa: E402

import trio  # noqa: E402
from octavo_client import Client, Create, Update, WorkspaceClient  # noqa: E402
from octavo_rules.identity import Position  # noqa: E402

from benchmarks.clients.corpus import note  # noqa: E402
from benchmarks.clients.devices import edit_together  # noqa: E402
from benchmarks.figures import report, write_tables  # noqa: E402
from benchmarks.http import Service, service  # noqa: E402

LONG = 100_000
SHORT = 2_000
"""The approximate bytes of a note."""
PUSH_AT_ONCE = 500
TICK = os.sysconf("SC_CLK_TCK")
QUERIES = {
    "rare word": "xylograph",
    "common word": "lantern",
    "phrase": '"orange lanterns at dusk"',
    "prefix": "lant*",
    "two Chinese characters": "灯笼",
}


def client_of(port: int, key: str) -> Client:
    return Client(f"http://127.0.0.1:{port}", entropy=random.SystemRandom(), key=key)


def peak(pid: int | str) -> float:
    """The peak of resident memory since `forget_peak`, in megabytes."""
    [kilobytes] = re.findall(r"VmHWM:\s+([0-9]+) kB", Path(f"/proc/{pid}/status").read_text())
    return int(kilobytes) / 1024


def forget_peak(pid: int | str) -> float:
    """Reset the peak; return the resident memory now."""
    Path(f"/proc/{pid}/clear_refs").write_text("5")
    return peak(pid)


def cpu(pid: int) -> float:
    """The processor seconds that a process has used."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / TICK


def percentiles(name: str, seconds: Sequence[float]) -> None:
    ordered = sorted(seconds)
    for percent in (50, 99):
        value = ordered[min(len(ordered) - 1, len(ordered) * percent // 100)]
        report(f"{name}/p{percent}", value * 1000, "ms")


# Saves


async def saves(served: Service, count: int, processes: int, seconds: float) -> None:
    # Devices count in characters here, and documents in bytes.
    text = note(LONG, LONG // 200, 1).encode("ascii", "ignore").decode()
    async with client_of(served.port, served.key) as client:
        workspace = await client.create_workspace("Saves")
        made = await workspace.create("note.md", text)
    share = [count // processes + (number < count % processes) for number in range(processes)]
    spent = cpu(served.pid)
    found: list[float] = []

    async def run(devices_here: int) -> None:
        path = f"/api/workspaces/{workspace.id}/files/{made.file_id}"
        asked = json.dumps([served.port, served.key, path, devices_here, seconds])
        command = [sys.executable, __file__, "--devices", asked]
        done = await trio.run_process(command, capture_stdout=True)
        found.extend(json.loads(done.stdout))

    async with trio.open_nursery() as nursery:
        for devices_here in share:
            if devices_here:
                nursery.start_soon(run, devices_here)
    name = f"document saves/100 KB/{count}"
    report(f"{name}/rate", len(found) / seconds, "saves/s")
    report(f"{name}/server cpu", (cpu(served.pid) - spent) / len(found) * 1000, "ms/save")
    percentiles(name, found)


# Copies


def vault(count: int) -> list[str]:
    """Texts of about `SHORT` bytes, with a realistic distribution of words."""
    rng = random.Random(1)
    letters = "abcdefghijklmnopqrstuvwxyz"
    words = ["".join(rng.choices(letters, k=rng.randint(3, 9))) for _ in range(20_000)]
    weights = [*accumulate(1 / rank for rank in range(1, len(words) + 1))]
    texts = []
    for number in range(count):
        lines = [
            " ".join(rng.choices(words, cum_weights=weights, k=10)) for _ in range(SHORT // 60)
        ]
        content = f"# Note {number}\n\nA lantern for each note.\n\n" + "\n".join(lines) + "\n"
        content += "Orange lanterns at dusk.\n" * (number % 20 == 0)
        content += "湖上的灯笼亮了。\n" * (number % 50 == 0)
        texts.append(content + "A xylograph.\n" * (number == count // 2))
    return texts


async def push(workspace: WorkspaceClient, texts: Sequence[str]) -> list[Update]:
    """Create the notes; return a change of each."""
    changes: list[Update] = []
    made = [
        Create(workspace.new_file_id(), f"{number % 100}/{number}.md", text)
        for number, text in enumerate(texts)
    ]
    for start in range(0, len(made), PUSH_AT_ONCE):
        some = made[start : start + PUSH_AT_ONCE]
        result = await workspace.push(some)
        changes += [
            Update(each.file_id, each.revision.id, f"{asked.text}More.\n")
            for each, asked in zip(result.changes, some, strict=True)
        ]
    return changes


async def copies(served: Service, count: int) -> None:
    async with client_of(served.port, served.key) as client:
        workspace = await client.create_workspace("Copies")
        began = trio.current_time()
        changes = await push(workspace, vault(count))
        report(f"push/{count}", count / (trio.current_time() - began), "files/s")
        await measured(served, f"snapshot/{count}", count, partial(snapshot, workspace))
        for start in range(0, count, PUSH_AT_ONCE):
            await workspace.push(changes[start : start + PUSH_AT_ONCE])
        behind = Position(-(-count // PUSH_AT_ONCE))
        await measured(served, f"feed/{count}", count, partial(catch_up, workspace, behind))
        await search(served, workspace, count)


async def snapshot(workspace: WorkspaceClient) -> int:
    count = 0
    async with workspace.snapshot() as found:
        async for _ in found:
            count += 1
    return count


async def catch_up(workspace: WorkspaceClient, behind: Position) -> int:
    return sum([len(page.entries) async for page in workspace.feed(behind)])


async def measured(
    served: Service, name: str, count: int, copy: Callable[[], Awaitable[int]]
) -> None:
    server, own = forget_peak(served.pid), forget_peak("self")
    spent, began = cpu(served.pid), trio.current_time()
    if await copy() != count:
        raise SystemExit(f"{name}: not all files came")
    report(f"{name}/rate", count / (trio.current_time() - began), "files/s")
    report(f"{name}/server cpu", (cpu(served.pid) - spent) / count * 1e6, "µs/file")
    report(f"{name}/server peak", peak(served.pid) - server, "MB above idle")
    report(f"{name}/client peak", peak("self") - own, "MB above idle")


async def search(served: Service, workspace: WorkspaceClient, count: int) -> None:
    began = trio.current_time()
    while not (await workspace.search("words")).complete:
        pass
    report(f"search/{count}/words taken in", trio.current_time() - began, "s")
    for name, query in QUERIES.items():
        if not (await workspace.search(query)).items:
            raise SystemExit(f"search: nothing found for {query}")
        took: list[float] = []
        spent = cpu(served.pid)
        for _ in range(200):
            began = trio.current_time()
            await workspace.search(query)
            took.append(trio.current_time() - began)
        percentiles(f"search/{count}/{name}", took)
        report(f"search/{count}/{name}/server cpu", (cpu(served.pid) - spent) * 1000 / 200, "ms")


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--quick", action="store_true", help="fewer notes, a second a figure")
    parser.add_argument("--only", choices=("saves", "copies"), help="one group")
    parser.add_argument("--write", action="store_true", help="write docs/performance.md, too")
    parser.add_argument("--devices", help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.devices:
        print(json.dumps(trio.run(edit_together, *json.loads(arguments.devices))))
        return
    cores = sorted(os.sched_getaffinity(0))
    os.sched_setaffinity(0, set(cores[1:] or cores))
    with service(cores[0]) as served:
        if arguments.only in (None, "saves"):
            for count in (16,) if arguments.quick else (1, 16, 64):
                processes = min(count, max(1, len(cores) - 1))
                trio.run(saves, served, count, processes, 1.0 if arguments.quick else 10.0)
        if arguments.only in (None, "copies"):
            trio.run(copies, served, 1_000 if arguments.quick else 10_000)
    if arguments.write:
        write_tables()


if __name__ == "__main__":
    main()
