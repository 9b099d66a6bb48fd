"""A mirror is the workspace at its position, and follows it through every failure."""

import math
from random import Random, SystemRandom

import httpx
import pytest
import trio
import trio.lowlevel
from octavo_client import (
    Client,
    Create,
    HeadMovedError,
    Mirror,
    Note,
    NoteDocument,
    Retrying,
    SnapshotCut,
    WorkspaceChanged,
    WorkspaceClient,
    WorkspaceGoneError,
)
from octavo_rules.identity import FileId, Position, RevisionId
from trio.testing import MockClock

from packages.client.tests.stub_server import Reply, Stub, workspace_of
from tests.client.test_syncing import END, ENTRY, LINE
from tests.e2e.people import NO_TLS, Person
from tests.e2e.server import PATIENCE
from tests.fakes.losing_transport import LossyTransport

R = RevisionId("r")


async def kept(workspace: WorkspaceClient) -> tuple[dict[FileId, Note], Position | None]:
    """The files on the server."""
    async with workspace.snapshot() as snapshot:
        notes = {
            each.file_id: Note(each.path or "", each.text or "", each.revision_id)
            async for each in snapshot
        }
    return notes, snapshot.position


async def test_first_copy_is_the_workspace_at_its_position(workspace: WorkspaceClient) -> None:
    made = await workspace.create("a.md", "one")
    mirror = Mirror(workspace)
    await mirror.start()
    assert mirror.notes == {made.file_id: Note("a.md", "one", made.revision.id)}
    assert mirror.position == 1


async def test_pull_applies_the_changes(workspace: WorkspaceClient) -> None:
    first, second = [await workspace.create(f"{name}.md", name) for name in "ab"]
    mirror = Mirror(workspace)
    await mirror.start()
    await workspace.update(first.file_id, first.revision.id, text="new", path="c.md")
    await workspace.delete(second.file_id, second.revision.id)
    await workspace.create("d.md", "d")
    await mirror.pull()
    assert (mirror.notes, mirror.position) == await kept(workspace)


async def test_running_mirror_follows(workspace: WorkspaceClient) -> None:
    heard: list[WorkspaceChanged] = []
    mirror = Mirror(workspace)
    with trio.fail_after(PATIENCE):
        async with trio.open_nursery() as nursery:
            await nursery.start(mirror.run, heard.append)
            assert mirror.position == 0
            made = await workspace.create("a.md", "one")
            await mirror.wait_for(made.position)
            assert mirror.notes[made.file_id].text == "one"
            assert heard[-1] == WorkspaceChanged(workspace.id, made.position, made.revision.id)
            nursery.cancel_scope.cancel()


async def test_mirrors_of_devices_with_concurrent_edits_converge(
    workspace: WorkspaceClient, served: tuple[str, Person]
) -> None:
    operations = [Create(workspace.new_file_id(), f"{n}.md", f"{n}\n") for n in range(5)]
    await workspace.push(operations)
    mirrors = [Mirror(workspace) for _ in range(3)]
    last = Position(0)

    async def edit(mirror: Mirror, seed: int) -> None:
        nonlocal last
        rng = Random(seed)
        for count in range(15):
            file_id = rng.choice([each.file_id for each in operations])
            line = f"{seed} {count}\n"
            if rng.random() < 0.5:
                document = await NoteDocument.open(workspace, file_id)
                document.insert(rng.randrange(len(document.text)), line)
                saved = await document.save()
                # Read only now: another device may have saved meanwhile.
                last = max(last, saved.position)
                continue
            try:
                note = mirror.notes[file_id]
                change = await workspace.update(file_id, note.revision_id, text=note.text + line)
            except HeadMovedError:
                await trio.lowlevel.checkpoint()
            else:
                last = max(last, change.position)

    with trio.fail_after(PATIENCE):
        async with trio.open_nursery() as following:
            for mirror in mirrors:
                await following.start(mirror.run)
            async with trio.open_nursery() as editing:
                for seed, mirror in enumerate(mirrors):
                    editing.start_soon(edit, mirror, seed)
            for mirror in mirrors:
                await mirror.wait_for(last)
            following.cancel_scope.cancel()
    expected = await kept(workspace)
    assert all((mirror.notes, mirror.position) == expected for mirror in mirrors)


async def test_mirror_follows_by_polling_without_notices(
    workspace: WorkspaceClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("octavo_client.notices.PATH", "/api/nowhere")
    mirror = Mirror(workspace, poll_every=0.05)
    with trio.fail_after(PATIENCE):
        async with trio.open_nursery() as nursery:
            await nursery.start(mirror.run)
            made = await workspace.create("a.md", "one")
            await mirror.wait_for(made.position)
            nursery.cancel_scope.cancel()


async def test_mirror_continues_after_the_feed_was_unavailable(
    workspace: WorkspaceClient, served: tuple[str, Person]
) -> None:
    url, person = served
    lossy_transport = LossyTransport("GET")
    retrying = Retrying(attempts=1, first=0.01)
    client = Client(
        url,
        entropy=SystemRandom(),
        key=person.key,
        retrying=retrying,
        transport=lossy_transport,
        tls=NO_TLS,
    )
    async with client:
        mirror = Mirror(client.workspace(workspace.id))
        with trio.fail_after(PATIENCE):
            async with trio.open_nursery() as nursery:
                await nursery.start(mirror.run)
                lossy_transport.fates = ["request lost", "response lost", "response lost"]
                made = await workspace.create("a.md", "one")
                await mirror.wait_for(made.position)
                nursery.cancel_scope.cancel()
    assert lossy_transport.fates == []
    assert list(mirror.notes) == [made.file_id]


async def test_mirror_of_a_deleted_workspace_raises(client: Client) -> None:
    elsewhere = Mirror(client.workspace("01900000-0000-7000-8000-00000000000a"))
    elsewhere.position = Position(0)
    with trio.fail_after(PATIENCE), pytest.raises(WorkspaceGoneError):
        await elsewhere.run()


async def test_copy_ahead_of_the_server_is_replaced(workspace: WorkspaceClient) -> None:
    made = await workspace.create("a.md", "one")
    mirror = Mirror(workspace)
    await mirror.start()
    mirror.position = Position(100)
    await mirror.pull()
    assert (mirror.position, list(mirror.notes)) == (1, [made.file_id])


async def test_running_mirror_replaces_a_copy_of_another_history(
    workspace: WorkspaceClient,
) -> None:
    _, second = [await workspace.create(f"{name}.md", name) for name in "ab"]
    mirror = Mirror(workspace, poll_every=math.inf)
    await mirror.start()
    last = await workspace.delete(second.file_id, second.revision.id)
    # As after a restored backup: as many changes, of which the last is another one.
    mirror.position, mirror.mark = last.position, RevisionId(workspace.new_file_id())
    with trio.fail_after(PATIENCE):
        async with trio.open_nursery() as nursery:
            await nursery.start(mirror.run)
            while mirror.mark != last.revision.id:  # noqa: ASYNC110 - nothing else tells of it
                await trio.sleep(0.01)
            nursery.cancel_scope.cancel()
    assert (mirror.notes, mirror.position) == await kept(workspace)


async def test_truncated_snapshot_is_restarted(autojump_clock: MockClock) -> None:
    stub = Stub([_lines(LINE), _lines(b""), _lines(LINE + END)])
    async with stub.client() as client:
        mirror = Mirror(workspace_of(client))
        await mirror.start()
    assert [each.text for each in mirror.notes.values()] == [ENTRY["text"]]
    assert len(stub.requests) == 3


async def test_snapshot_that_is_always_truncated_is_given_up(
    autojump_clock: MockClock,
) -> None:
    stub = Stub([_lines(LINE)])
    async with stub.client(attempts=3) as client:
        with pytest.raises(SnapshotCut):
            await Mirror(workspace_of(client)).start()
    assert len(stub.requests) == 3


def _lines(content: bytes) -> Reply:
    return lambda: httpx.Response(200, content=content)


@pytest.mark.parametrize("other", [Note("a.md", "x", R), Note("b.md", "y", R)])
def test_notes_are_equal_only_in_all_their_members(other: Note) -> None:
    assert Note("a.md", "y", R) != other
