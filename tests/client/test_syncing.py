"""Copies of a workspace by snapshot and feed: complete, or reported as truncated."""

import json
from collections.abc import AsyncIterator

import httpx
import pytest
from octavo_client import (
    Create,
    Purge,
    SnapshotCut,
    UnexpectedResponse,
    Update,
    WorkspaceClient,
)
from octavo_rules.identity import Position
from octavo_rules.schemas import FeedEntry
from trio.testing import MockClock

from packages.client.tests.stub_server import FILE, REVISION, Stub, ok, problem, workspace_of

ENTRY = {
    "position": 1,
    "fileId": FILE,
    "path": "a.md",
    "kind": "note",
    "state": "live",
    "revisionId": REVISION["id"],
    "digest": None,
    "size": 3,
    "mutationId": REVISION["mutationId"],
    "changedAt": "2026-01-01T00:00:00.000Z",
    "text": "one",
}
LINE = json.dumps(ENTRY).encode().replace(b'": ', b'":') + b"\n"
MARK = REVISION["id"]
END = f'{{"position":1,"mark":"{MARK}","files":1}}\n'.encode()


class Broken(httpx.AsyncByteStream):
    """Content that breaks off."""

    def __init__(self, *chunks: bytes) -> None:
        self._chunks = chunks

    async def __aiter__(self) -> AsyncIterator[bytes]:
        for chunk in self._chunks:
            yield chunk
        raise httpx.ReadError("broken")


async def snapshot_of(workspace: WorkspaceClient) -> tuple[list[FeedEntry], Position | None]:
    async with workspace.snapshot() as snapshot:
        entries = [each async for each in snapshot]
    return entries, snapshot.position


async def feed_of(workspace: WorkspaceClient, after: int) -> list[FeedEntry]:
    return [each async for page in workspace.feed(Position(after)) for each in page.entries]


async def test_snapshot_has_live_files_with_texts_and_the_position(
    workspace: WorkspaceClient,
) -> None:
    made = [await workspace.create(f"{name}.md", f"{name}\u2028\x85\r\n") for name in "abc"]
    await workspace.delete(made[0].file_id, made[0].revision.id)
    entries, position = await snapshot_of(workspace)
    assert {each.path: each.text for each in entries} == {
        "b.md": "b\u2028\x85\r\n",
        "c.md": "c\u2028\x85\r\n",
    }
    assert position == 4


async def test_snapshot_of_an_empty_workspace_has_a_position(workspace: WorkspaceClient) -> None:
    assert await snapshot_of(workspace) == ([], 0)


async def test_snapshot_that_is_left_early_leaves_the_client_usable(
    workspace: WorkspaceClient,
) -> None:
    text = "x" * 100_000
    operations = [Create(workspace.new_file_id(), f"{n}.md", text) for n in range(60)]
    await workspace.push(operations)
    async with workspace.snapshot() as snapshot:
        await anext(snapshot)
        assert snapshot.position is None
    assert len((await snapshot_of(workspace))[0]) == 60


@pytest.mark.parametrize(
    "content",
    [b"", LINE, LINE[:40], LINE + END[:5], Broken(), Broken(LINE), Broken(LINE[:30])],
    ids=["nothing", "no end", "half a line", "half an end", "lost at once", "lost", "lost within"],
)
async def test_snapshot_without_its_last_line_is_reported_as_truncated(
    content: bytes | httpx.AsyncByteStream,
) -> None:
    given = {"content": content} if isinstance(content, bytes) else {"stream": content}
    async with Stub([httpx.Response(200, **given)]).client() as client:
        with pytest.raises(SnapshotCut):
            await snapshot_of(workspace_of(client))


@pytest.mark.parametrize(
    "content", [LINE + LINE + END, END.replace(b"1}", b"2}"), b"<html>\n", LINE + END + LINE]
)
async def test_snapshot_that_contradicts_itself_is_refused(content: bytes) -> None:
    async with Stub([httpx.Response(200, content=content)]).client() as client:
        with pytest.raises(UnexpectedResponse):
            await snapshot_of(workspace_of(client))


async def test_snapshot_is_requested_again_while_nothing_arrived(
    autojump_clock: MockClock,
) -> None:
    whole = httpx.Response(200, content=LINE + END)
    stub = Stub([httpx.ReadError, problem(503, "not_ready"), whole])
    async with stub.client() as client:
        entries, position = await snapshot_of(workspace_of(client))
    assert ([each.text for each in entries], position) == (["one"], 1)


async def test_feed_has_each_file_once_at_its_last_change(workspace: WorkspaceClient) -> None:
    first, second, third = [await workspace.create(f"{name}.md", name) for name in "abc"]
    await workspace.update(first.file_id, first.revision.id, text="new")
    await workspace.delete(second.file_id, second.revision.id)
    await workspace.delete(third.file_id, third.revision.id)
    await workspace.push([Purge(third.file_id)])
    received = [(each.position, each.state, each.text) for each in await feed_of(workspace, 0)]
    assert received == [(4, "live", "new"), (5, "deleted", None), (7, "purged", None)]
    assert [each.position for each in await feed_of(workspace, 5)] == [7]
    assert await feed_of(workspace, 7) == []


async def test_feed_continues_over_pages(workspace: WorkspaceClient) -> None:
    for start in (0, 400, 800):
        await workspace.push(
            [
                Create(workspace.new_file_id(), f"{start + number}.md", f"{start + number}")
                for number in range(400)
            ]
        )
    pages = [page async for page in workspace.feed(Position(0))]
    assert len(pages) > 1
    assert pages[-1].next == pages[-1].position == 3
    texts = {each.text for page in pages for each in page.entries}
    assert texts == {str(number) for number in range(1200)}


async def test_texts_too_large_for_a_page_are_read_by_their_revisions(
    workspace: WorkspaceClient,
) -> None:
    text = f"{'0123456789' * 10}\n" * 8_000
    operations = [Create(workspace.new_file_id(), f"{n}.md", f"{n}\n{text}") for n in range(6)]
    await workspace.push(operations)
    entries = await feed_of(workspace, 0)
    assert {each.text for each in entries} == {each.text for each in operations}


async def test_texts_are_asked_for_in_requests_that_hold_them() -> None:
    bare = {name: value for name, value in ENTRY.items() if name != "text"}
    names = [f"01900000-0000-7000-8000-00000000000{number}" for number in range(5)]
    large = [{**bare, "revisionId": name, "size": 4 * 1024 * 1024} for name in names]
    page = {"next": 1, "nextMark": MARK, "position": 1, "mark": MARK, "more": False}
    stub = Stub(
        [
            ok({**page, "entries": large}),
            *[ok({"items": [], "missing": some}) for some in (names[:2], names[2:4], names[4:])],
            ok({**page, "entries": []}),
        ]
    )
    async with stub.client() as client:
        assert await feed_of(workspace_of(client), 0) == []
    asked = [json.loads(each.content)["revisionIds"] for each in stub.requests[1:4]]
    assert asked == [names[:2], names[2:4], names[4:]]


async def test_text_purged_meanwhile_makes_the_page_be_read_again() -> None:
    bare = {name: value for name, value in ENTRY.items() if name != "text"}
    moved = {**ENTRY, "position": 2, "text": "two"}
    page = {"next": 1, "nextMark": MARK, "position": 1, "mark": MARK, "more": False}
    stub = Stub(
        [
            ok({**page, "entries": [bare]}),
            ok({"items": [], "missing": [REVISION["id"]]}),
            ok({**page, "entries": [moved], "next": 2, "position": 2}),
        ]
    )
    async with stub.client() as client:
        entries = await feed_of(workspace_of(client), 0)
    assert [(each.position, each.text) for each in entries] == [(2, "two")]
    assert [each.url.params.get("after") for each in stub.requests] == ["0", None, "0"]


async def test_move_and_text_are_one_entry(workspace: WorkspaceClient) -> None:
    made = await workspace.create("a.md", "one")
    await workspace.push([Update(made.file_id, made.revision.id, "two", "b.md")])
    [entry] = await feed_of(workspace, 1)
    assert (entry.path, entry.text) == ("b.md", "two")
