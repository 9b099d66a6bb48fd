"""The database is put back to an earlier moment while processes keep what they have read of it.

As after a failover that lost commits, or a data folder that was put back.
"""

import os
import sqlite3
from collections.abc import AsyncIterator, Iterator
from contextlib import AsyncExitStack, asynccontextmanager, closing, suppress
from functools import partial
from itertools import count
from pathlib import Path
from random import Random
from typing import Protocol

import pytest
import trio
from octavo_rules.changes import PurgeFile
from octavo_rules.identity import FileId, Position
from octavo_rules.problems import EpochMismatch

from octavo.actors.workspace.messages import NoWorkspace
from octavo.model.files.changeset import DeleteFile
from octavo.model.refusal import FileMissing, HeadMoved, PathConflict
from octavo.store import Store, StoreUnavailable
from octavo.store.queries.feed import Since, feed
from octavo.store.queries.marks import CursorUnknown, cursor_of
from tests.actors.workspace.test_actor import text_of
from tests.actors.workspace.test_documents import device_of, head_id, lacking, save_of, take
from tests.fakes.inline_documents import inline_documents
from tests.fakes.postgres_server import PostgresServer, running_server
from tests.fakes.stores import open_inline, open_postgres
from tests.fakes.workspace_rig import VAULT, Rig, create_workspace, edit, note, serving


class Disk(Protocol):
    """A database that can be put back to a moment, and two processes that use it."""

    store: Store
    other: Store

    async def keep(self) -> None:
        """Remember this moment."""

    async def put_back(self) -> None:
        """Return to the moment that was kept last."""


class SqliteDisk:
    """A database of SQLite."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._kept = sqlite3.connect(":memory:")
        self.inline = open_inline(path)
        self.store: Store = self.inline
        self.other: Store = self.inline

    async def keep(self) -> None:
        with closing(sqlite3.connect(self._path)) as database:
            database.backup(self._kept)

    async def put_back(self) -> None:
        with closing(sqlite3.connect(self._path)) as database:
            self._kept.backup(database)

    def close(self) -> None:
        self._kept.close()
        self.inline.close()


class PostgresDisk:
    """A database of a server whose data folder is put back, or of which a replica is promoted.

    The replica lacks what was committed since the moment.
    """

    def __init__(
        self, server: PostgresServer, stores: tuple[Store, Store], *, promotes: bool
    ) -> None:
        self._server = server
        self._promotes = promotes
        self.store, self.other = stores

    async def keep(self) -> None:
        await trio.to_thread.run_sync(self._server.keep)
        await self._reconnect()

    async def put_back(self) -> None:
        await trio.to_thread.run_sync(partial(self._server.put_back, promotes=self._promotes))
        await self._reconnect()

    async def _reconnect(self) -> None:
        """Use connections until none is left that the server has ended."""
        for store in (self.store, self.other):
            for _ in range(2 * CONNECTIONS):
                with suppress(StoreUnavailable):
                    await store.read(cursor_of(VAULT))
            assert await store.read(cursor_of(VAULT)) is not None


CONNECTIONS = 2
POSTGRES = os.environ.get("OCTAVO_FAILOVERS") == "1"
"""Whether every case is tried on PostgreSQL, too, in both ways."""


@pytest.fixture(scope="module")
def own_server() -> Iterator[PostgresServer]:
    with running_server() as server:
        yield server


@asynccontextmanager
async def on_postgres(server: PostgresServer, *, promotes: bool) -> AsyncIterator[Disk]:
    name = f"case_{next(_databases)}"
    server.create_database(name)
    opened = partial(
        open_postgres, server.url(name), random=Random(7).random, connections=CONNECTIONS
    )
    async with opened() as store, opened() as other:
        await create_workspace(store)
        yield PostgresDisk(server, (store, other), promotes=promotes)


_databases = count()


@pytest.fixture(
    params=["sqlite", *(["data folder", "replica"] if POSTGRES else [])],
)
async def disk(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[Disk]:
    if request.param == "sqlite":
        disk = SqliteDisk(tmp_path / "octavo.sqlite3")
        await create_workspace(disk.store)
        yield disk
        disk.close()
        return
    server = request.getfixturevalue("own_server")
    async with on_postgres(server, promotes=request.param == "replica") as made:
        yield made


@pytest.fixture
async def here(disk: Disk) -> AsyncIterator[Rig]:
    async with serving(disk.store, shared=True, documents=inline_documents(client=101)) as rig:
        yield rig


@pytest.fixture
async def there(disk: Disk, here: Rig) -> AsyncIterator[Rig]:
    documents = inline_documents(client=102)
    async with serving(disk.other, shared=True, documents=documents, name="s") as rig:
        rig.ids = here.ids
        yield rig


@pytest.mark.parametrize("promotes", [False, True], ids=["data folder", "replica"])
async def test_nothing_of_a_lost_history_is_taken_for_known_on_postgres(
    own_server: PostgresServer, promotes: bool
) -> None:
    """The cases below in a row, for a server takes a second to be put back."""
    async with (
        on_postgres(own_server, promotes=promotes) as disk,
        serving(disk.store, shared=True, documents=inline_documents(client=101)) as here,
        serving(disk.other, shared=True, documents=inline_documents(client=102), name="s") as there,
    ):
        there.ids = here.ids
        await here.push(note("a", "a.md", "start"), note("b", "b.md"), note("c", "c.md"))
        device, other = await device_of(here, 7), await device_of(here, 8)
        before = {file: await head_id(here, file) for file in "abc"}
        await disk.keep()
        await here.push(edit(before["b"], file="b", text="lost"))
        lost = await head_id(here, "b")
        await here.push(DeleteFile(FileId("c"), frozenset({before["c"]})), note("d", "d.md"))
        created = await head_id(here, "d")
        device.insert(0, "lost ")
        newest = await here.push(save_of(device))
        take(device, await lacking(here, device))
        await disk.put_back()
        # Another process writes, so that there are as many positions again.
        await there.push(edit(before["b"], file="b", text="theirs"))
        other.insert(0, "x")
        await there.push(save_of(other))
        assert isinstance(await here.refusal(edit(lost, file="b", text="ours")), HeadMoved)
        assert isinstance(await here.refusal(note("e", "c.md")), PathConflict)
        assert isinstance(await here.refusal(edit(created, file="d", text="ours")), FileMissing)
        device.insert(0, "more ")
        assert not isinstance(await here.refusal(save_of(device)), EpochMismatch)
        take(other, await lacking(here, other))
        other.insert(0, "y")
        await here.push(save_of(other))
        assert await text_of(here, "a") == other.text == "yxstart"
        for file in "abcd":
            assert await here.head(file) == await there.head(file)
        with pytest.raises(CursorUnknown):
            await disk.store.read(feed(VAULT, Since(*newest.cursor), 10, 1000, texts=True))


async def test_save_that_expects_a_lost_revision_is_refused(disk: Disk, here: Rig) -> None:
    await here.push(note("a", "a.md", "one"))
    await disk.keep()
    await here.push(edit("r0", text="two"))
    lost = await head_id(here)
    await disk.put_back()
    assert isinstance(await here.refusal(edit(lost, text="three")), HeadMoved)
    await here.push(edit("r0", text="four"))
    assert await text_of(here, "a") == "four"


async def test_save_of_another_process_at_the_same_position_is_not_replaced(
    disk: Disk, here: Rig, there: Rig
) -> None:
    await here.push(note("a", "a.md", "one"))
    await disk.keep()
    await here.push(edit("r0", text="lost"))
    lost = await head_id(here)
    await disk.put_back()
    # Both processes have position 2, of different histories.
    await there.push(edit("r0", text="theirs"))
    assert isinstance(await here.refusal(edit(lost, text="ours")), HeadMoved)
    assert await text_of(here, "a") == "theirs"


@pytest.mark.parametrize("later", [0, 1, 3])
async def test_everything_is_read_anew_wherever_the_new_history_is(
    disk: Disk, here: Rig, there: Rig, later: int
) -> None:
    await here.push(note("a", "a.md", "one"), note("b", "b.md"))
    await disk.keep()
    await here.push(edit("r0", text="lost"))
    await here.push(note("c", "c.md"), DeleteFile(FileId("b"), frozenset({"r1"})))
    await disk.put_back()
    for number in range(later):
        await there.push(note(f"new{number}", f"new{number}.md"))
    assert await here.head("c") is None
    for file in ("a", "b", *[f"new{number}" for number in range(later)]):
        assert await here.head(file) == await there.head(file)
        head = await here.head(file)
        assert head is not None
        assert head.state == "live"


async def test_lost_deletion_and_a_new_note_are_not_both_at_one_path(disk: Disk, here: Rig) -> None:
    await here.push(note("a", "a.md"))
    await disk.keep()
    await here.push(DeleteFile(FileId("a"), frozenset({"r0"})))
    await disk.put_back()
    assert isinstance(await here.refusal(note("b", "a.md")), PathConflict)


async def test_edit_of_a_note_that_was_lost_is_refused(disk: Disk, here: Rig) -> None:
    await here.push(note("a", "a.md"))
    await disk.keep()
    await here.push(note("b", "b.md"))
    lost = await head_id(here, "b")
    await disk.put_back()
    refusal = await here.refusal(edit(lost, file="b", text="x"), edit("r0", text="y"))
    assert isinstance(refusal, FileMissing)
    assert await text_of(here, "a") == "text"


async def test_purge_that_was_lost_leaves_the_note_deleted(disk: Disk, here: Rig) -> None:
    await here.push(note("a", "a.md"))
    await here.push(DeleteFile(FileId("a"), frozenset({"r0"})))
    await disk.keep()
    await here.push(PurgeFile(FileId("a")))
    await disk.put_back()
    head = await here.head("a")
    assert head is not None
    assert head.state == "deleted"


async def test_workspace_that_was_lost_is_gone(here: Rig, disk: Disk) -> None:
    await disk.keep()
    other = VAULT.replace("v", "w")
    await create_workspace(disk.store, other)  # type: ignore[arg-type]
    await here.push(note("a", "a.md"), workspace_id=other)  # type: ignore[arg-type]
    await disk.put_back()
    with pytest.raises(NoWorkspace):
        await here.push(note("b", "b.md"), workspace_id=other)  # type: ignore[arg-type]


async def test_cursor_of_the_new_history_is_announced(disk: Disk, here: Rig) -> None:
    await here.push(note("a", "a.md"))
    await disk.keep()
    await here.push(edit("r0", text="two"))
    await disk.put_back()
    await here.head("a")
    assert here.announced[-2:] == [2, 1]


async def test_document_with_lost_edits_is_saved_by_others(
    disk: Disk, here: Rig, there: Rig
) -> None:
    await here.push(note("a", "a.md", "start"))
    device, other = await device_of(here, 7), await device_of(here, 8)
    await disk.keep()
    device.insert(0, "lost ")
    await here.push(save_of(device))
    take(device, await lacking(here, device))
    await disk.put_back()
    device.insert(0, "more ")
    # It has edits that are based on lost ones: the server can't merge them.
    refusal = await here.refusal(save_of(device))
    assert not isinstance(refusal, EpochMismatch)
    for rig in (here, there, here):
        other.insert(0, "x")
        await rig.push(save_of(other))
        take(other, await lacking(rig, other))
    assert await text_of(here, "a") == other.text == "xxxstart"


@pytest.mark.parametrize("asleep", [False, True])
async def test_edits_of_the_server_after_the_loss_differ_from_the_lost_ones(
    disk: Disk, asleep: bool
) -> None:
    documents = inline_documents(client=101)
    async with AsyncExitStack() as stack:
        rig = await stack.enter_async_context(serving(disk.store, shared=True, documents=documents))
        await rig.push(note("a", "a.md", "start"))
        device = await device_of(rig)
        await disk.keep()
        await rig.push(edit("r0", text="lost start"))
        # The device has the edit of the server, which is lost then.
        take(device, await lacking(rig, device))
        assert device.text == "lost start"
        if asleep:
            await stack.aclose()
            rig = await stack.enter_async_context(
                serving(disk.store, shared=True, documents=documents, name="later")
            )
        await disk.put_back()
        await rig.push(edit("r0", text="start anew"))
        take(device, await lacking(rig, device))
        assert device.text == "lost start anew"


async def test_cursor_of_a_device_is_unknown_after_the_loss(disk: Disk, here: Rig) -> None:
    await here.push(note("a", "a.md"))
    await disk.keep()
    lost = await here.push(edit("r0", text="lost"))
    await disk.put_back()
    found = await here.push(edit("r0", text="new"))
    with pytest.raises(CursorUnknown) as unknown:
        await disk.store.read(feed(VAULT, Since(*lost.cursor), 10, 1000, texts=True))
    assert unknown.value.cursor == found.cursor
    page = await disk.store.read(feed(VAULT, Since(*found.cursor), 10, 1000, texts=True))
    assert page is not None
    assert page.entries == []
    # Without a mark, the position alone decides.
    page = await disk.store.read(feed(VAULT, Since(Position(2)), 10, 1000, texts=True))
    assert page is not None


async def test_saves_of_two_processes_never_replace_each_other_whatever_is_lost(
    disk: Disk, here: Rig, there: Rig
) -> None:
    await here.push(note("a", "a.md", "0"))
    head = await head_id(here)
    for round_ in range(8):
        await disk.keep()
        await here.push(edit(head, text=f"lost {round_}"))
        lost = await head_id(here)
        await disk.put_back()
        await there.push(edit(head, text=f"{round_}"))
        head = await head_id(there)
        async with trio.open_nursery() as nursery:
            for rig in (here, there):
                nursery.start_soon(rig.refusal, edit(lost, text="again"))
        assert await head_id(here) == head
        assert await text_of(here, "a") == f"{round_}"
