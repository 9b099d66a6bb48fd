"""Files at their heads: what is cached is as current as the database, and is forgotten."""

from dataclasses import dataclass, field
from functools import partial
from typing import Any

import pytest
import trio
import trio.testing
from greenroom.testing import Fault, FaultPlan
from octavo_rules.changes import PurgeFile
from octavo_rules.identity import FileId, WorkspaceId

from octavo.actors.workspace.current_files import LONGEST_CACHED, MAX_BYTES, CurrentFiles
from octavo.model.files.changeset import DeleteFile
from octavo.store import Script
from octavo.store.queries.files import StoredFile
from octavo.store.sqlite import InlineStore
from tests.fakes.stores import open_inline
from tests.fakes.workspace_rig import VAULT, Rig, create_workspace, edit, note, serving

A = FileId("a")


@dataclass
class Counting:
    """A store that counts reads, and texts, and can hold reads up when they are done."""

    store: InlineStore
    reads: int = 0
    texts: int = 0
    gate: trio.Event = field(default_factory=trio.Event)

    def __post_init__(self) -> None:
        self.gate.set()

    async def read(self, script: Script[Any]) -> Any:  # noqa: ANN401
        self.reads += 1
        found = await self.store.read(script)
        self.texts += isinstance(found, StoredFile) and found.text is not None
        await self.gate.wait()
        return found

    read_much = read


def made(workspace_id: WorkspaceId, stored: StoredFile, caches: bool) -> str:
    return f"{stored.revision.path}: {stored.text}"


def current(rig: Rig, store: Counting, max_bytes: int = MAX_BYTES) -> CurrentFiles[str]:
    return CurrentFiles(rig.directory, store, made, len, max_bytes)  # type: ignore[arg-type]


async def text(files: CurrentFiles[str]) -> str | None:
    found = await files.read(VAULT, A)
    return None if found is None else found.value


@pytest.fixture
async def store() -> Counting:
    opened = open_inline()
    await create_workspace(opened)
    return Counting(opened)


async def test_file_is_read_once_while_its_head_stays(store: Counting) -> None:
    async with serving(store.store) as rig:
        files = current(rig, store)
        await rig.push(note("a", "a.md", "one"))
        assert [await text(files) for _ in range(3)] == ["a.md: one"] * 3
        assert store.reads == 1
        await rig.push(note("b", "b.md"))
        await text(files)
        assert store.reads == 1
        head = await rig.head("a")
        assert head is not None
        await rig.push(edit(head, text="two"))
        assert [await text(files) for _ in range(2)] == ["a.md: two"] * 2
        assert store.reads == 2
        head = await rig.head("a")
        assert head is not None
        await rig.push(edit(head, path="c.md"))
        assert await text(files) == "c.md: two"


async def test_database_is_read_while_the_actor_sleeps_or_works(
    store: Counting, autojump_clock: trio.testing.MockClock
) -> None:
    async with serving(store.store) as rig:
        files = current(rig, store)
        await rig.push(note("a", "a.md", "one"))
        await text(files)
    delay = FaultPlan(0, [Fault("delay", "workspace.planned", delay=5)])
    async with serving(store.store, faults=delay, name="s") as rig, trio.open_nursery() as nursery:
        files = current(rig, store)
        assert [await text(files) for _ in range(2)] == ["a.md: one"] * 2
        # It was not woken.
        assert store.reads == 3
        assert rig.directory.statistics().activations == 0
        head = await rig.head("a")
        assert head is not None
        assert [await text(files) for _ in range(2)] == ["a.md: one"] * 2
        assert store.reads == 3
        nursery.start_soon(partial(rig.push, edit(head, text="two"), mutation="later"))
        await trio.testing.wait_all_tasks_blocked()
        with trio.fail_after(1):
            assert await text(files) == "a.md: one"
        assert store.reads == 4
        await trio.sleep(6)
        assert await text(files) == "a.md: two"


@pytest.mark.parametrize("asleep", [False, True])
async def test_memory_for_a_long_text_is_reserved_before_it_is_read(
    store: Counting, asleep: bool
) -> None:
    reserved: list[tuple[int, int]] = []

    async def reserve(size: int) -> None:
        reserved.append((size, store.texts))

    async with serving(store.store) as rig:
        await rig.push(note("a", "a.md", "x" * LONGEST_CACHED), note("b", "b.md", "é" * 40_000))
        if not asleep:
            files = current(rig, store)
            await files.read(VAULT, A, reserve)
            await files.read(VAULT, FileId("b"), reserve)
    if asleep:
        async with serving(store.store, name="s") as rig:
            files = current(rig, store)
            await files.read(VAULT, A, reserve)
            await files.read(VAULT, FileId("b"), reserve)
    # The text of the second was not among those read by then.
    assert reserved == [(80_000, 1)]
    assert store.texts == 2


async def test_file_that_is_not_live_is_read_each_time(store: Counting) -> None:
    async with serving(store.store) as rig:
        files = current(rig, store)
        assert await text(files) is None
        receipt = await rig.push(note("a", "a.md", "one"))
        head = receipt.outcomes[0].head
        await text(files)
        await rig.push(DeleteFile(A, frozenset({head.revision_id})))
        assert len(files.cache.contents) == 1
        found = await files.read(VAULT, A)
        assert found is not None
        assert found.head.state == "deleted"
        await rig.push(PurgeFile(A))
        files.forget()
        for _ in range(2):
            found = await files.read(VAULT, A)
            assert found is not None
            assert (found.head.state, found.value) == ("purged", ": None")
        assert not files.cache.contents


async def test_what_is_read_while_it_is_forgotten_is_not_cached(store: Counting) -> None:
    async with serving(store.store) as rig, trio.open_nursery() as nursery:
        files = current(rig, store)
        await rig.push(note("a", "a.md", "one"))
        store.gate = trio.Event()
        nursery.start_soon(text, files)
        await trio.testing.wait_all_tasks_blocked()
        files.forget()
        store.gate.set()
        await trio.testing.wait_all_tasks_blocked()
        assert not files.cache.contents


async def test_large_files_are_not_cached_and_none_is_without_room(
    store: Counting, monkeypatch: pytest.MonkeyPatch
) -> None:
    told: list[bool] = []

    def make(workspace_id: WorkspaceId, stored: StoredFile, caches: bool) -> str:
        told.append(caches)
        return "made"

    async with serving(store.store) as rig:
        await rig.push(note("a", "a.md", "four"))
        for longest, max_bytes, cached in ((4, 100, 1), (3, 100, 0), (4, 0, 0)):
            monkeypatch.setattr("octavo.actors.workspace.current_files.LONGEST_CACHED", longest)
            files = CurrentFiles(rig.directory, store, make, len, max_bytes)  # type: ignore[arg-type]
            assert await files.read(VAULT, A)
            assert len(files.cache.contents) == cached
    # So that nothing is prepared that is not used again.
    assert told == [True, False, False]


async def test_heads_that_another_process_may_change_are_read_each_time(store: Counting) -> None:
    async with serving(store.store, shared=True) as rig:
        files = current(rig, store)
        await rig.push(note("a", "a.md", "one"))
        assert [await text(files) for _ in range(2)] == ["a.md: one"] * 2
        assert store.reads == 2
