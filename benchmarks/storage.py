"""The size of the database: bytes by table, pages written to the log by each save, compression.

Prints one JSON line a figure: ``{"name": …, "value": …, "unit": …}``. The notes are Markdown with
headings, prose, links to each other and code. They are committed and indexed by the scripts of the
service. Saves go over HTTP, from 16 clients that each save a note of 2 KB; the frames of the log
are counted in its file, and assigned to tables by ``dbstat``.

    python benchmarks/storage.py [--quick] [--notes COUNT]
"""

from __future__ import annotations

import sys
from pathlib import Path

ROOT = Path(__file__).parent.parent
# The folder of this script has a module named http, which would hide the standard one.
sys.path[0] = str(ROOT)

import argparse  # noqa: E402
import gc  # noqa: E402
import json  # noqa: E402
import random  # noqa: E402
import sqlite3  # noqa: E402
import tempfile  # noqa: E402
import threading  # noqa: E402
import time  # noqa: E402
import uuid  # noqa: E402
from collections import Counter  # noqa: E402
from collections.abc import Awaitable, Callable, Iterator  # noqa: E402
from contextlib import closing, contextmanager  # noqa: E402
from http.client import HTTPConnection  # noqa: E402

import trio  # noqa: E402
from octavo_rules.content import note_text  # noqa: E402
from octavo_rules.identity import (  # noqa: E402  # noqa: E402
    RANDOM_BYTES,
    START,
    AccountId,
    FileId,
    MutationId,
    Position,
    WorkspaceId,
    uuid7,
)

from benchmarks.clients.prose import sentences, words  # noqa: E402
from benchmarks.http import TEXT, service  # noqa: E402
from octavo.actors.jobs.indexing import index_some  # noqa: E402
from octavo.documents import merged  # noqa: E402
from octavo.features.links.sql.link_index import LINKS  # noqa: E402
from octavo.features.links.sql.link_queries import links_of_file, unresolved_links  # noqa: E402
from octavo.features.search.sql.fulltext_index import WORDS  # noqa: E402
from octavo.model.files.changeset import Changeset, CreateFile, fingerprint  # noqa: E402
from octavo.model.files.plan import Batch  # noqa: E402
from octavo.model.files.tree import Tree  # noqa: E402
from octavo.store.compression import compressed, decompressed  # noqa: E402
from octavo.store.queries import workspaces  # noqa: E402
from octavo.store.queries.changesets import commit_changesets  # noqa: E402
from octavo.store.queries.feed import Since, all_heads, feed, live_at  # noqa: E402
from octavo.store.queries.files import file, files, list_of, revisions_of, whole_file  # noqa: E402
from octavo.store.sqlite import DATABASE, SqliteStore, open_sqlite  # noqa: E402
from octavo.store.transaction import Script  # noqa: E402
from tests.fakes.plain_documents import PlainDocuments  # noqa: E402

WRITERS = 16
SAVES = 30
"""Per writer between two checkpoints: the service makes one at 4,000 pages."""
FRAME_HEADER = 24
LOG_HEADER = 32
ROOMY = 1 << 40
CODE = (
    "```python\ndef {a}_{b}(value: int) -> int:\n    return value * {n}\n```\n",
    "```sh\ncurl --silent https://example.org/{a}/{b} | jq '.{a}[{n}]'\n```\n",
)


def report(name: str, value: float, unit: str) -> None:
    print(json.dumps({"name": name, "value": round(value, 3), "unit": unit}), flush=True)


class Writing:
    """Generates Markdown from the prose of Python's own documentation, deterministically."""

    def __init__(self, seed: int) -> None:
        self._random = random.Random(seed)
        self._sentences = sentences()
        self._words = words()

    def words(self, count: int) -> list[str]:
        return self._random.choices(self._words, k=count)

    def path(self, number: int) -> str:
        folder = ("journal", "projects", "reading", "areas")[number % 4]
        project = self._words[number % 240 * 11]
        return f"{folder}/{project}/{' '.join(self.words(2))} {number}.md"

    def note(self, paths: list[str]) -> str:
        chosen = self._random
        title = " ".join(self.words(4)).capitalize()
        parts = [f"# {title}\n"]
        targets = [chosen.choice(paths) for _ in range(chosen.randint(2, 8))]
        for section in range(chosen.randint(1, 3)):
            if section:
                parts.append(f"## {' '.join(self.words(3)).capitalize()}\n")
            sentences = [self._sentence() for _ in range(chosen.randint(2, 4))]
            if targets:
                sentences.insert(1, self._link(targets.pop()))
            parts.append(f"{' '.join(sentences)}\n")
        parts += [f"- {self._link(target)} {' '.join(self.words(4))}\n" for target in targets]
        if chosen.random() < 0.3:
            a, b = self.words(2)
            parts.append(chosen.choice(CODE).format(a=a, b=b, n=chosen.randint(2, 999)))
        return "\n".join(parts)

    def _sentence(self) -> str:
        # Names and numbers, so that new ones keep appearing.
        chosen = self._random
        sentence = chosen.choice(self._sentences)
        if chosen.random() < 0.3:
            name = "".join(chosen.choices("abdeiklmnorstu", k=7)).capitalize()
            sentence = f"{name} wrote on 20{chosen.randint(10, 29)}-{chosen.randint(1, 12):02}:"
            sentence += f" {chosen.choice(self._sentences)}"
        return sentence

    def _link(self, path: str) -> str:
        name = path.removesuffix(".md")
        kind = self._random.random()
        if kind < 0.6:
            return f"[[{name.rpartition('/')[2]}]]"
        if kind < 0.75:
            return f"[[{name}|{' '.join(self.words(2))}]]"
        if kind < 0.95:
            return f"[{' '.join(self.words(2))}](</{path}>)"
        return f"[[{' '.join(self.words(2))}]]"


def ids(seed: int) -> Callable[[], str]:
    """Generate UUIDs as the service does: each a little later than the previous one."""
    chosen, milliseconds = random.Random(seed), 1_790_000_000_000

    def new_id() -> str:
        nonlocal milliseconds
        milliseconds += chosen.randint(0, 20)
        return uuid7(milliseconds, chosen.randbytes(RANDOM_BYTES))

    return new_id


async def build(store: SqliteStore, count: int) -> tuple[WorkspaceId, list[FileId], int]:
    """Commit this many notes, one per changeset, and index them; return their text bytes."""
    new_id, writing = ids(1), Writing(2)
    owner, workspace_id = AccountId(new_id()), WorkspaceId(new_id())
    await store.write(
        lambda transaction: transaction.execute(
            "INSERT INTO accounts (id, address, display_name, password, role, state, created_at,"
            " updated_at) VALUES ($1::uuid, 'a@example.org', 'A', '', 'member', 'enabled', 0, 0)",
            owner,
        )
    )
    await store.write(workspaces.create(workspace_id, "Bench", owner, 0))
    paths = [writing.path(number) for number in range(count)]
    tree, cursor, size, made = Tree(), START, 0, []
    for at in range(0, count, WRITERS):
        batch = Batch(tree, cursor, 1_790_000_000_000 + at, new_id, PlainDocuments())
        for path in paths[at : at + WRITERS]:
            content = note_text(writing.note(paths))
            size += content.size
            operation = CreateFile(FileId(new_id()), path, content)
            made.append(operation.file_id)
            sent = fingerprint([operation])
            batch.add(Changeset(MutationId(new_id()), sent, owner, (operation,)))
        script = commit_changesets(workspace_id, cursor, batch.plans, 1_790_000_000_000 + at)
        await store.write(script)
        cursor = batch.cursor
        if at % 64 == 0:
            await index_all(store, workspace_id)
    await index_all(store, workspace_id)
    return workspace_id, made, size


async def index_all(store: SqliteStore, workspace_id: WorkspaceId) -> None:
    left = [workspace_id]
    while left:
        left = (await index_some(store, LINKS, left)).left
    left = [workspace_id]
    while left:
        left = (await index_some(store, WORDS, left)).left


def tables_of(connection: sqlite3.Connection) -> dict[str, str]:
    """Return the table that each b-tree belongs to; those of the full-text index count as one."""
    rows = connection.execute("SELECT name, tbl_name FROM sqlite_master")
    return {name: "search" if table.startswith("search_") else table for name, table in rows}


def sizes(path: Path, text: int) -> None:
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        tables = tables_of(connection)
        found: Counter[str] = Counter()
        unused: Counter[str] = Counter()
        for name, used, free in connection.execute(
            "SELECT name, SUM(pgsize), SUM(unused) FROM dbstat GROUP BY name"
        ):
            found[tables.get(name, name)] += used
            unused[tables.get(name, name)] += free
    for table, used in found.most_common():
        if used > 64 * 1024:
            report(f"size/{table}", used / 1e6, "MB")
            report(f"size/{table}/unused", unused[table] / 1e6, "MB")
    report("size/text", text / 1e6, "MB")
    report("size/database", path.stat().st_size / 1e6, "MB")
    report("size/database per byte of text", path.stat().st_size / text, "bytes")


def compression() -> None:
    """Time the compression of notes of about 1 KB, and of texts of 100 KB made of such notes."""
    writing = Writing(2)
    paths = [writing.path(number) for number in range(1000)]
    notes = [writing.note(paths) for _ in range(2000)]
    joined = "".join(notes)
    long = [joined[at : at + 100_000] for at in range(0, len(joined) - 100_000, 100_000)]
    for name, texts in (("note", notes), ("100 KB", long)):
        fastest = {"compress": float("inf"), "decompress": float("inf")}
        for _ in range(5):
            began = time.perf_counter()
            stored = [compressed(text) for text in texts]
            between = time.perf_counter()
            for data in stored:
                decompressed(data, name)
            ended = time.perf_counter()
            fastest["compress"] = min(fastest["compress"], between - began)
            fastest["decompress"] = min(fastest["decompress"], ended - between)
        for what, took in fastest.items():
            report(f"text/{name}/{what}", took / len(texts) * 1e6, "µs")
        share = sum(map(len, stored)) / sum(len(text.encode()) for text in texts)
        report(f"text/{name}/compressed", share * 100, "%")


async def reads(store: SqliteStore, workspace_id: WorkspaceId, made: list[FileId]) -> None:
    """Time the reads of the service, each over many files."""
    chosen = random.Random(3)
    some = chosen.sample(made, min(300, len(made)))

    async def each(name: str, script: Callable[[FileId], Script[object]]) -> None:
        best = float("inf")
        for _ in range(5):
            began = time.perf_counter()
            for file_id in some:
                await store.read(script(file_id))
            best = min(best, (time.perf_counter() - began) / len(some))
        report(f"read/{name}", best * 1e6, "µs")

    async def whole(name: str, call: Callable[[], Awaitable[object]]) -> None:
        best = float("inf")
        for _ in range(5):
            gc.collect()
            began = time.perf_counter()
            await call()
            best = min(best, time.perf_counter() - began)
        report(f"read/{name}", best * 1000, "ms")

    async def snapshot() -> None:
        after: FileId | None = FileId("00000000-0000-0000-0000-000000000000")
        while after is not None:
            _, after = await store.read(
                live_at(workspace_id, Position(len(made) // 2), after, 500, ROOMY)
            )

    async def whole_feed(texts: bool) -> None:
        page = await store.read(feed(workspace_id, Since(Position(0)), 500, ROOMY, texts=texts))
        while page is not None and page.following != page.cursor:
            script = feed(workspace_id, Since(*page.following), 500, ROOMY, texts=texts)
            page = await store.read(script)

    nowhere = "00000000-0000-0000-0000-000000000000"
    await each("file", lambda name: file(workspace_id, name))
    await each("file with document", lambda name: whole_file(workspace_id, name, merged))
    await each("revisions", lambda name: revisions_of(workspace_id, name, Position(1 << 62), 100))
    await each("links of note, and to it", lambda name: links_of_file(workspace_id, name, 100))
    await whole("all heads", lambda: store.read(all_heads(workspace_id)))
    await whole("feed", lambda: whole_feed(False))
    await whole("feed with texts", lambda: whole_feed(True))
    await whole("snapshot at half", snapshot)
    await whole(
        "list of 500", lambda: store.read(list_of(workspace_id, "live", "", ("", nowhere), 500))
    )
    await whole("100 files", lambda: store.read(files(workspace_id, some[:100], [], ROOMY)))
    await whole(
        "500 unresolved links",
        lambda: store.read(unresolved_links(workspace_id, (nowhere, -1), 500)),
    )


def save_often(port: int, key: str, path: str, count: int, failures: list[object]) -> None:
    """Save one note this many times, each time on top of the previous save."""
    headers = {"authorization": f"Bearer {key}", "content-type": "application/json"}
    with closing(HTTPConnection("127.0.0.1", port)) as connection:
        connection.request("GET", path, headers=headers)
        response = connection.getresponse()
        response.read()
        tag = response.headers["etag"]
        for number in range(count):
            body = json.dumps({"text": f"{uuid.uuid4().hex[:6]} {number}\n{TEXT}"})
            connection.request("PUT", path, body, {**headers, "if-match": tag})
            response = connection.getresponse()
            response.read()
            if response.status != 200:
                failures.append(response.status)
                return
            tag = response.headers["etag"]


def frames(database: Path) -> tuple[list[int], int]:
    """Return the page number of each frame in the log, and the size of the log."""
    log = Path(f"{database}-wal").read_bytes()
    if not log:
        return [], 0
    page_size = int.from_bytes(log[8:12])
    step = page_size + FRAME_HEADER
    salt = log[16:24]
    starts = range(LOG_HEADER, len(log) - step + 1, step)
    valid = [at for at in starts if log[at + 8 : at + 16] == salt]
    return [int.from_bytes(log[at : at + 4]) for at in valid], len(valid) * step


def saves(rounds: int) -> None:
    """Count the log frames of saves over HTTP."""
    with service(0) as served:
        folder = Path(f"/proc/{served.pid}/cwd").resolve()
        database = folder / "data" / DATABASE
        workspace = served.workspace()
        notes = [served.note(workspace, str(number))[0] for number in range(WRITERS)]
        paths = [f"/api/workspaces/{workspace}/files/{note}" for note in notes]
        pages: Counter[int] = Counter()
        written = 0
        time.sleep(3)
        with closing(sqlite3.connect(database)) as connection:
            for _ in range(rounds):
                failures: list[object] = []
                connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()
                threads = [
                    threading.Thread(
                        target=save_often, args=(served.port, served.key, path, SAVES, failures)
                    )
                    for path in paths
                ]
                for thread in threads:
                    thread.start()
                for thread in threads:
                    thread.join()
                found, size = frames(database)
                if failures or len(found) > 3900:
                    raise SystemExit(f"{failures}, {len(found)} frames")
                pages.update(found)
                written += size
            tables = tables_of(connection)
            owners = dict(connection.execute("SELECT pageno, name FROM dbstat"))
        count = rounds * WRITERS * SAVES
        by_tree: Counter[str] = Counter()
        for page, often in pages.items():
            name = owners.get(page, "free")
            by_tree[tables.get(name, name) if tables.get(name) == "search" else name] += often
        for name, often in by_tree.most_common():
            report(f"save/pages/{name}", often / count, "pages")
        report("save/pages", pages.total() / count, "pages")
        report("save/bytes", written / count, "bytes")


@contextmanager
def folder_of(given: str | None) -> Iterator[Path]:
    if given is not None:
        yield Path(given)
        return
    with tempfile.TemporaryDirectory() as name:
        yield Path(name)


async def store_figures(folder: Path, count: int) -> None:
    async with open_sqlite(folder) as store:
        began = time.perf_counter()
        workspace_id, made, text = await build(store, count)
        report("build", time.perf_counter() - began, "s")
        sizes(folder / DATABASE, text)
        await reads(store, workspace_id, made)


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="3,000 notes and one round of saves")
    parser.add_argument("--notes", type=int, help="how many notes the database has")
    parser.add_argument("--folder", help="an empty folder for the database, which is left there")
    arguments = parser.parse_args()
    compression()
    saves(1 if arguments.quick else 3)
    with folder_of(arguments.folder) as folder:
        trio.run(store_figures, folder, arguments.notes or (3_000 if arguments.quick else 30_000))


if __name__ == "__main__":
    main()
