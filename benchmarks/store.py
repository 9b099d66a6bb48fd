"""The cost of a durable save, by the number of concurrent writers.

Prints one JSON line a figure: ``{"name": …, "value": …, "unit": …}``. A save is the commit of a
changeset of one note with 2 KB of text; every writer has its own workspace. A save returns after
its fsync. Absolute figures depend on the disk, so that of a bare fsync is printed, too.

    python benchmarks/store.py [--quick] [--postgres URL]
"""

from __future__ import annotations

import sys
from pathlib import Path

ROOT = Path(__file__).parent.parent
# The folder of this script has a module named http, which would hide the standard one.
sys.path[0] = str(ROOT)

import argparse  # noqa: E402
import json  # noqa: E402
import os  # noqa: E402
import random  # noqa: E402
import tempfile  # noqa: E402
import time  # noqa: E402
import uuid  # noqa: E402
from collections.abc import AsyncIterator, Callable  # noqa: E402
from contextlib import AbstractAsyncContextManager, asynccontextmanager  # noqa: E402
from functools import partial  # noqa: E402

import trio  # noqa: E402
from greenroom import Supervisor  # noqa: E402
from octavo_rules.content import MARKDOWN, note_text  # noqa: E402
from octavo_rules.identity import (  # noqa: E402
    START,
    AccountId,
    ContentId,
    Cursor,
    FileId,
    MutationId,
    Position,
    RevisionId,
    WorkspaceId,
)

from benchmarks.clients.prose import prose  # noqa: E402
from octavo.actors.group_commit import GroupCommit, storage_spec  # noqa: E402
from octavo.model.files.changeset import Changeset, UpdateFile, fingerprint  # noqa: E402
from octavo.model.files.plan import Change, Plan  # noqa: E402
from octavo.model.files.revision import Revision  # noqa: E402
from octavo.store import Script, Store  # noqa: E402
from octavo.store.postgres.store import open_postgres  # noqa: E402
from octavo.store.queries.changesets import commit_changesets  # noqa: E402
from octavo.store.queries.marks import cursor_of  # noqa: E402
from octavo.store.sqlite import InlineStore, open_sqlite  # noqa: E402

MICRO = 1e6
FILES = 100
"""Notes of each workspace."""
CONTENT = note_text(prose(2_000))
AUTHOR = AccountId(str(uuid.uuid4()))
OpenStore = Callable[[], AbstractAsyncContextManager[Store]]


def report(name: str, value: float, unit: str) -> None:
    figure = {"name": name, "value": round(value, 3), "unit": unit}
    print(json.dumps(figure, ensure_ascii=False), flush=True)


async def make_workspace(store: Store) -> WorkspaceId:
    workspace_id = WorkspaceId(str(uuid.uuid4()))
    await store.write(
        lambda transaction: transaction.execute(
            "INSERT INTO workspaces (id, name, position, created_at) VALUES ($1::uuid, '', 0, 0)",
            workspace_id,
        )
    )
    return workspace_id


class Writer:
    """Saves the notes of a workspace, one after the other."""

    def __init__(self, workspace_id: WorkspaceId, files: list[FileId]) -> None:
        self._workspace_id = workspace_id
        self._files = files
        self._cursor = START
        self._heads: dict[FileId, RevisionId] = {}

    async def run(self, store: Store, count: int, latencies: list[float]) -> None:
        for _ in range(count):
            begun = time.perf_counter()
            await store.write(self._save())
            latencies.append(time.perf_counter() - begun)

    def _save(self) -> Script[None]:
        """Commit the next changeset, which changes or creates one note."""
        position = Position(self._cursor.position + 1)
        file_id = self._files[position % FILES]
        revision_id = str(uuid.uuid4())
        operation = UpdateFile(file_id, frozenset({revision_id}), CONTENT)
        head = Revision(
            file_id=file_id,
            state="live",
            kind="note",
            path=f"{file_id}.md",
            revision_id=RevisionId(revision_id),
            position=position,
            content_id=ContentId(revision_id),
            digest=CONTENT.digest,
            size=CONTENT.size,
            media_type=MARKDOWN,
            author=AUTHOR,
            mutation_id=MutationId(revision_id),
            created_at=position,
        )
        changeset = Changeset(head.mutation_id, fingerprint([operation]), AUTHOR, (operation,))
        base = self._heads.get(file_id)
        change = Change("created" if base is None else "updated", head, base, CONTENT)
        cursor = Cursor(position, head.revision_id)
        plan = Plan(changeset, cursor, (change,), (change,), growth=0, needed=0)
        script = commit_changesets(self._workspace_id, self._cursor, [plan], position)
        self._cursor = cursor
        self._heads[file_id] = head.revision_id
        return script


async def bench_writers(name: str, store: Store, writers: int, seconds: float) -> None:
    """Save to this many workspaces concurrently; report the best of three rounds."""
    best, rate = 0.0, 20.0
    files = [FileId(str(uuid.uuid4())) for _ in range(FILES)]
    active = [Writer(await make_workspace(store), files) for _ in range(writers)]
    typical: list[float] = []
    for _ in range(3):
        each = max(5, int(rate * seconds / 3 / writers))
        latencies: list[float] = []
        begun = time.perf_counter()
        async with trio.open_nursery() as nursery:
            for writer in active:
                nursery.start_soon(writer.run, store, each, latencies)
        rate = each * writers / (time.perf_counter() - begun)
        if rate > best:
            best, typical = rate, sorted(latencies)
    report(f"{name}_saves_{writers}", best, "1/s")
    report(f"{name}_save_p50_{writers}", typical[len(typical) // 2] * 1000, "ms")
    report(f"{name}_save_p99_{writers}", typical[len(typical) * 99 // 100] * 1000, "ms")


async def bench_reads(name: str, store: Store, count: int) -> None:
    script = cursor_of(await make_workspace(store))
    for kind, read in (("read", store.read), ("read_much", store.read_much)):
        begun = time.perf_counter()
        for _ in range(count):
            await read(script)
        report(f"{name}_{kind}", (time.perf_counter() - begun) / count * MICRO, "µs")


def bench_fsync(folder: Path, count: int) -> None:
    """The lower bound: append 4 KiB and fsync."""
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
        actor = root.add(storage_spec(engine))
        async with root.running():
            yield GroupCommit(actor, engine)


@asynccontextmanager
async def inline() -> AsyncIterator[Store]:
    store = InlineStore()
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
    parser.add_argument(
        "--postgres",
        metavar="URL",
        help="a PostgreSQL database to measure, too, with its password in PGPASSWORD",
    )
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
