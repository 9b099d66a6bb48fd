"""Documents are brought up to date in portions, and in threads that workspaces share fairly."""

import threading
import weakref
from contextlib import closing
from dataclasses import dataclass, field
from typing import TypeVar

import pytest
import trio
from octavo_rules.documents.document import MergeUpdates
from octavo_rules.identity import Epoch, FileId, WorkspaceId

from octavo.actors.workspace.messages import GetUpdateSince, RebuildDocuments
from octavo.actors.workspace.planning import (
    FOLLOWED_AT_ONCE,
    INLINE_BYTES,
    LOADED_AT_ONCE,
    MAX_THREADS,
    Planner,
    read_current,
)
from octavo.store import Script
from octavo.store.fair_turns import FairThreads, working_for
from octavo.store.queries.files import StoredFile, WholeFile
from tests.fakes.restored_workspace import revision
from tests.fakes.stores import open_inline
from tests.fakes.workspace_rig import VAULT, create_workspace, note, serving

T = TypeVar("T")


async def test_workspace_with_much_work_leaves_a_thread_to_another() -> None:
    run, go = FairThreads(MAX_THREADS).run, threading.Event()
    done: list[WorkspaceId] = []

    async def work(workspace_id: WorkspaceId) -> None:
        working_for.set(workspace_id)
        await run(go.wait)
        done.append(workspace_id)

    async with trio.open_nursery() as nursery:
        for _ in range(5):
            nursery.start_soon(work, WorkspaceId("busy"))
        await trio.testing.wait_all_tasks_blocked()
        working_for.set("other")
        with trio.fail_after(5):
            assert await run(lambda: "served") == "served"
        assert done == []
        go.set()


@dataclass
class Folder:
    """Files of which some are behind, or none is known to have been read."""

    behind: list[FileId]
    unread: bool = False
    succeeds: bool = True
    followed: list[int] = field(default_factory=list)
    reads: int = 0

    async def read(self, merge: MergeUpdates | None) -> list[WholeFile]:
        # At first, no document is merged for the reader.
        assert (merge is None) == (self.reads == 0)
        self.reads += 1
        files = [*self.behind, FileId("current")]
        return [
            WholeFile(
                StoredFile(revision(each, f"{each}.md"), ""),
                None,
                behind=each in self.behind,
                unread=self.unread,
            )
            for each in files
        ]

    async def follow(self, message: RebuildDocuments) -> bool:
        self.followed.append(len(message.file_ids))
        if self.succeeds:
            self.unread = False
            self.behind = [each for each in self.behind if each not in message.file_ids]
        return self.succeeds

    async def current(self) -> list[WholeFile]:
        return await read_current(self.read, lambda found: found, self.follow)


def names(count: int) -> list[FileId]:
    return [FileId(f"n{number}") for number in range(count)]


@pytest.mark.parametrize(
    ("folder", "followed", "reads"),
    [
        pytest.param(Folder([]), [], 1, id="none is behind"),
        pytest.param(Folder([], unread=True), [0], 2, id="none has been read before"),
        pytest.param(Folder(names(3)), [3], 2, id="few are behind"),
        pytest.param(Folder(names(20)), [8, 8, 4], 2, id="many are behind"),
        pytest.param(Folder(names(20), succeeds=False), [8], 2, id="they can't follow"),
    ],
)
async def test_files_are_read_when_their_documents_have_followed(
    folder: Folder, followed: list[int], reads: int
) -> None:
    found = await folder.current()
    assert (folder.followed, folder.reads) == (followed, reads)
    assert any(each.behind for each in found) != folder.succeeds


async def test_texts_are_freed_while_documents_follow() -> None:
    class Read(list[WholeFile]):
        """A list that can be referred to weakly."""

    read: list[weakref.ref[Read]] = []
    folder = Folder(names(3))

    async def current(merge: MergeUpdates | None) -> list[WholeFile]:
        found = Read(await folder.read(merge))
        read.append(weakref.ref(found))
        return found

    async def follow(message: RebuildDocuments) -> bool:
        assert [each() for each in read] == [None]
        return await folder.follow(message)

    found = await read_current(current, lambda each: each, follow)
    assert len(found) == 1
    assert folder.followed == [3]


async def test_few_actors_have_long_documents_in_memory_at_once(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    vaults = [WorkspaceId(f"vault-{number}") for number in range(6)]
    with closing(open_inline()) as store:
        for each in vaults:
            await create_workspace(store, each)
        async with serving(store) as rig:
            for each in vaults:
                await rig.push(note(each, "a.md", "x" * INLINE_BYTES * 2), workspace_id=each)
            loading: set[WorkspaceId] = set()
            most: list[int] = []
            read_much = store.read_much

            async def read(script: Script[T]) -> T:
                mine = WorkspaceId(working_for.get())
                loading.add(mine)
                most.append(len(loading))
                await trio.testing.wait_all_tasks_blocked()
                loading.discard(mine)
                return await read_much(script)

            monkeypatch.setattr(store, "read_much", read)
            async with trio.open_nursery() as nursery:
                for each in vaults:
                    missing = GetUpdateSince(FileId(each), Epoch(""), b"\0")
                    nursery.start_soon(rig.directory.ask, each, missing)
    assert most.count(LOADED_AT_ONCE) > 0
    assert max(most) == LOADED_AT_ONCE


async def test_actor_brings_few_documents_up_to_date_at_once(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    at_once: list[int] = []
    documents = Planner.documents

    async def watched(self: Planner, state: object, queries: list[object]) -> object:
        at_once.append(sum(len(getattr(each, "file_ids", "1")) for each in queries))
        return await documents(self, state, queries)  # type: ignore[arg-type]

    monkeypatch.setattr(Planner, "documents", watched)
    files = names(20)
    async with serving() as rig:
        await rig.push(*[note(each, f"{each}.md") for each in files])

        async def ask(file_id: FileId) -> None:
            missing = GetUpdateSince(file_id, Epoch(""), b"\0")
            assert await rig.directory.ask(VAULT, missing) is not None

        async with trio.open_nursery() as nursery:
            for each in files:
                nursery.start_soon(ask, each)
            follow = RebuildDocuments(tuple(files[:5]))
            nursery.start_soon(rig.directory.ask, VAULT, follow)
    assert sum(at_once) == 25
    assert max(at_once) <= FOLLOWED_AT_ONCE
    assert len(at_once) < len(files), "they were not answered together"
