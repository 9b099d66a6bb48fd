"""What a durable save costs, by the number of writers that save at once.

Prints one JSON line a figure: ``{"name": …, "value": …, "unit": …}``. A save is what a changeset of
one note does: move the position of its workspace, insert receipt, revision and 2 KB of text, and
put the head of the file in place. Each is answered after its fsync. Absolute figures depend on the
disk, so the figure of a bare fsync stands beside them.

    python benchmarks/store.py [--quick] [--postgres URL]
"""

from __future__ import annotations

import argparse
import json
import os
import random
import tempfile
import time
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from functools import partial
from pathlib import Path

import trio

from octavo.actors.core import Supervisor
from octavo.actors.group_commit import GroupCommit, storage
from octavo.store import Script, Store, Transaction
from octavo.store.postgres import open_postgres
from octavo.store.sqlite import open_inline, open_sqlite

MICRO = 1e6
TEXT = "A line of a note, of which there are many.\n" * 48
COLUMNS = (
    "(workspace_id, file_id, state, kind, path, revision_id, position, content_id, digest, size,"
    " media_type, author, mutation_id, changed_at)"
    " VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14)"
)
OpenStore = Callable[[], AbstractAsyncContextManager[Store]]


def report(name: str, value: float, unit: str) -> None:
    figure = {"name": name, "value": round(value, 3), "unit": unit}
    print(json.dumps(figure, ensure_ascii=False), flush=True)


def make_workspace(workspace: str) -> Script[int]:
    async def script(transaction: Transaction) -> int:
        return await transaction.execute(
            "INSERT INTO workspaces (id, name, position, created_at) VALUES ($1, $1, 0, 0)"
            " ON CONFLICT DO NOTHING",
            workspace,
        )

    return script


def position_of(workspace: str) -> Script[int]:
    async def script(transaction: Transaction) -> int:
        row = await transaction.fetch_one(
            "SELECT position FROM workspaces WHERE id = $1", workspace
        )
        assert row is not None
        return int(row[0])

    return script


def save(workspace: str, position: int) -> Script[None]:
    file, revision = f"{workspace}-file-{position % 100}", f"{workspace}-{position:08}"

    async def script(transaction: Transaction) -> None:
        moved = await transaction.execute(
            "UPDATE workspaces SET position = $3 WHERE id = $1 AND position = $2",
            workspace,
            position - 1,
            position,
        )
        assert moved == 1
        await transaction.execute(
            "INSERT INTO receipts (workspace_id, mutation_id, fingerprint, position, changes,"
            " created_at) VALUES ($1, $2, $3, $4, $5, $6)",
            workspace,
            revision,
            "f" * 64,
            position,
            '[{"outcome": "updated"}]',
            position,
        )
        where = (workspace, file, "live", "note", f"{file}.md", revision, position)
        what = (revision, "d" * 64, len(TEXT), "text/markdown", "author", revision, position)
        await transaction.execute(
            f"INSERT INTO files {COLUMNS}"
            " ON CONFLICT (workspace_id, file_id) DO UPDATE SET revision_id = $6, position = $7,"
            " content_id = $8, mutation_id = $13, changed_at = $14",
            *where,
            *what,
        )
        await transaction.execute(
            f"INSERT INTO revisions {COLUMNS}",
            *where,
            *what,
        )
        await transaction.execute(
            "INSERT INTO contents (workspace_id, content_id, text) VALUES ($1, $2, $3)",
            workspace,
            revision,
            TEXT,
        )

    return script


async def saver(store: Store, workspace: str, count: int, latencies: list[float]) -> None:
    await store.write(make_workspace(workspace))
    position = await store.read(position_of(workspace))
    for following in range(position + 1, position + count + 1):
        begun = time.perf_counter()
        await store.write(save(workspace, following))
        latencies.append(time.perf_counter() - begun)


async def bench_writers(name: str, store: Store, writers: int, seconds: float) -> None:
    """Save from so many workspaces at once; report the best of three rounds."""
    best, rate = 0.0, 20.0
    typical: list[float] = []
    for _ in range(3):
        each = max(5, int(rate * seconds / 3 / writers))
        latencies: list[float] = []
        begun = time.perf_counter()
        async with trio.open_nursery() as nursery:
            for writer in range(writers):
                nursery.start_soon(saver, store, f"workspace-{writer}", each, latencies)
        rate = each * writers / (time.perf_counter() - begun)
        if rate > best:
            best, typical = rate, sorted(latencies)
    report(f"{name}_saves_{writers}", best, "1/s")
    report(f"{name}_save_p50_{writers}", typical[len(typical) // 2] * 1000, "ms")
    report(f"{name}_save_p99_{writers}", typical[len(typical) * 99 // 100] * 1000, "ms")


async def bench_reads(name: str, store: Store, count: int) -> None:
    script = position_of("workspace-0")
    for kind, read in (("read", store.read), ("read_much", store.read_much)):
        begun = time.perf_counter()
        for _ in range(count):
            await read(script)
        report(f"{name}_{kind}", (time.perf_counter() - begun) / count * MICRO, "µs")


def bench_fsync(folder: Path, count: int) -> None:
    """The floor: append 4 KiB and fsync."""
    with open(folder / "floor", "wb", buffering=0) as file:
        times = []
        for _ in range(count):
            begun = time.perf_counter()
            file.write(b"\0" * 4096)
            os.fdatasync(file.fileno())
            times.append(time.perf_counter() - begun)
    report("fdatasync_p50", sorted(times)[count // 2] * MICRO, "µs")


@asynccontextmanager
async def group_commit(folder: Path) -> AsyncIterator[Store]:
    async with open_sqlite(folder / "group") as engine:
        root = Supervisor("bench")
        actor = root.add(storage(engine))
        async with root.running():
            yield GroupCommit(actor, engine)


@asynccontextmanager
async def inline() -> AsyncIterator[Store]:
    store = open_inline()
    try:
        yield store
    finally:
        store.close()


async def bench(name: str, opened: OpenStore, seconds: float, writers: tuple[int, ...]) -> None:
    async with opened() as store:
        for count in writers:
            await bench_writers(name, store, count, seconds)
        await bench_reads(name, store, int(1000 * seconds))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--quick", action="store_true", help="less work, under 20 seconds")
    parser.add_argument("--postgres", metavar="URL", help="a PostgreSQL database to measure, too")
    arguments = parser.parse_args()
    seconds = 1.5 if arguments.quick else 10.0
    with tempfile.TemporaryDirectory(dir=".") as folder:
        bench_fsync(Path(folder), int(100 * seconds))
        trio.run(bench, "sqlite", partial(group_commit, Path(folder)), seconds, (1, 16, 64))
    trio.run(bench, "inline_memory", inline, seconds, (1,))
    if arguments.postgres is not None:
        opened = partial(open_postgres, arguments.postgres, random=random.random)
        trio.run(bench, "postgres", opened, seconds, (1, 4, 16))


if __name__ == "__main__":
    main()
