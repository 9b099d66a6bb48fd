"""Synchronizing devices: the feed, and snapshots that are exact while others write."""

import json
from collections.abc import Awaitable, Callable

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from octavo_rules.identity import NO_MARK

from octavo.features.sync import api as sync
from octavo.store import Transaction
from tests.fakes.asgi_client import Response
from tests.fakes.notes_api import NOBODYS, Json, Note, NotesApi, opened, refusal

START = "2027-01-15T08:00:00.000Z"
Live = dict[str, tuple[str, str]]


async def feed(api: NotesApi, query: str = "", mark: str | None = None) -> Json:
    headers = {} if mark is None else {"sync_mark": mark}
    response = await api.owner.get(f"{api.place}/feed{query}", **headers)
    assert response.status == 200, response.body
    page: Json = response.json()
    return page


async def pull(api: NotesApi, after: int, limit: int) -> tuple[list[Json], int]:
    """Return every entry after a position, page by page, and the final position."""
    entries: list[Json] = []
    while True:
        page = await feed(api, f"?after={after}&limit={limit}&include=text")
        entries += page["entries"]
        after = page["next"]
        if not page["more"]:
            assert after == page["position"]
            return entries, after


def lines(response: Response) -> tuple[list[Json], Json]:
    """The files of a snapshot, and its last line."""
    assert response.status == 200
    assert response.header("content-type") == "application/x-ndjson"
    assert response.body.endswith(b"\n")
    *files, end = map(json.loads, response.body.splitlines())
    assert end["files"] == len(files)
    return files, end


def applied(live: Live, entries: list[Json]) -> Live:
    """The state of a device that had ``live`` and applies the entries."""
    live = dict(live)
    for entry in entries:
        live.pop(entry["fileId"], None)
        if entry["state"] == "live":
            live[entry["fileId"]] = (entry["path"], entry["text"])
    return live


async def live_state(api: NotesApi) -> Live:
    listed = await api.owner.pages(api.files, 500)
    ids = [each["id"] for each in listed]
    read = await api.owner.post(f"{api.files}/read", {"fileIds": ids})
    return {each["id"]: (each["path"], each["text"]) for each in read.json()["items"]}


async def test_versions_of_the_protocol_are_public(api: NotesApi) -> None:
    response = await api.client("stranger").get("/api/sync/protocol")
    assert (response.status, response.json()) == (200, {"versions": [1]})


async def test_feed_of_an_empty_workspace_is_empty(api: NotesApi) -> None:
    assert await feed(api) == {
        "entries": [],
        "next": 0,
        "nextMark": NO_MARK,
        "position": 0,
        "mark": NO_MARK,
        "more": False,
    }


async def test_file_is_in_the_feed_once_at_its_last_change(
    api: NotesApi,
) -> None:
    one, two = await api.note("a.md", "1"), await api.note("b.md", "2")
    edited = await one.update(text="one", mutationId=NOBODYS)
    page = await feed(api)
    assert [(each["fileId"], each["position"]) for each in page["entries"]] == [
        (two.id, 2),
        (one.id, 3),
    ]
    assert page["entries"][1] == {
        "position": 3,
        "fileId": one.id,
        "path": "a.md",
        "kind": "note",
        "state": "live",
        "revisionId": one.revision,
        "digest": edited.json()["revision"]["digest"],
        "size": 3,
        "mutationId": NOBODYS,
        "changedAt": START,
    }
    assert (page["next"], page["position"], page["more"]) == (3, 3, False)


async def test_feed_with_texts_has_those_of_live_files(api: NotesApi) -> None:
    one, two, three = [await api.note(f"{name}.md", name) for name in ("a", "b", "c")]
    await two.delete()
    await three.delete()
    await three.purge()
    entries = (await feed(api, "?include=text"))["entries"]
    assert [(each["fileId"], each["state"], each["text"], each["path"]) for each in entries] == [
        (one.id, "live", "a", "a.md"),
        (two.id, "deleted", None, "b.md"),
        (three.id, "purged", None, None),
    ]


async def test_page_of_the_feed_never_splits_a_position(api: NotesApi) -> None:
    def creates(count: int) -> list[Json]:
        return [
            {
                "op": "create",
                "fileId": api.new_id(),
                "path": f"{api.new_id()}.md",
                "text": "",
            }
            for _ in range(count)
        ]

    for count in (1, 2, 3, 5):
        await api.push(*creates(count))
    sizes = []
    after = 0
    for _ in range(4):
        page = await feed(api, f"?after={after}&limit=3")
        sizes.append([each["position"] for each in page["entries"]])
        after = page["next"]
        if not page["more"]:
            break
    assert sizes == [[1, 2, 2], [3, 3, 3], [4] * 5]


async def test_pages_with_texts_are_limited_by_size_and_others_are_not(
    api: NotesApi, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sync, "MAX_BYTES", 100)
    for number in range(4):
        await api.note(f"{number}.md", "x" * 40)
    page = await feed(api, "?include=text")
    assert (len(page["entries"]), page["next"], page["more"]) == (2, 2, True)
    rest, _ = await pull(api, page["next"], 500)
    assert len(rest) == 2
    await api.note("long.md", "x" * 1000)
    assert len((await pull(api, 4, 1))[0]) == 1
    assert len((await feed(api))["entries"]) == 5


@pytest.mark.parametrize(
    ("query", "pointer"),
    [
        ("after=4", "/query/after"),
        ("after=9007199254740991", "/query/after"),
        ("after=9007199254740992", "/query/after"),
        ("after=99999999999999999999999", "/query/after"),
        ("after=-1", "/query/after"),
        ("after=x", "/query/after"),
        ("limit=0", "/query/limit"),
        ("limit=501", "/query/limit"),
        ("limit=1_0", "/query/limit"),
        ("limit=%2B1", "/query/limit"),
        ("limit=%201", "/query/limit"),
        ("limit=1.0", "/query/limit"),
        ("limit=" + "1" * 5000, "/query/limit"),
        ("limit=%D9%A1", "/query/limit"),
        ("include=html", "/query/include"),
    ],
)
async def test_malformed_cursor_of_the_feed_is_refused(
    api: NotesApi, query: str, pointer: str
) -> None:
    for number in range(3):
        await api.note(f"{number}.md")
    response = await api.owner.get(f"{api.place}/feed?{query}")
    assert refusal(response) == (400, "invalid_request")
    assert [each["pointer"] for each in response.json()["errors"]] == [pointer]


@pytest.mark.parametrize("place", ["feed", "snapshot"])
async def test_unsupported_protocol_is_refused(api: NotesApi, place: str) -> None:
    response = await api.owner.get(f"{api.place}/{place}", sync_protocol="2")
    assert refusal(response) == (400, "unsupported_protocol")
    assert (await api.owner.get(f"{api.place}/{place}", sync_protocol="1")).status == 200


async def test_every_cursor_that_was_given_is_known(api: NotesApi) -> None:
    cursors = [(0, NO_MARK)]
    for count in (1, 3, 2):
        response = await api.push(
            *[
                {"op": "create", "fileId": api.new_id(), "path": f"{api.new_id()}.md", "text": ""}
                for _ in range(count)
            ]
        )
        made = response.json()
        cursors.append((made["position"], made["mark"]))
        after, more = cursors[0], True
        while more:
            page = await feed(api, f"?after={after[0]}&limit=1", mark=after[1])
            after, more = (page["next"], page["nextMark"]), page["more"]
            cursors.append(after)
        _, end = lines(await api.owner.get(f"{api.place}/snapshot"))
        cursors.append((end["position"], end["mark"]))
        assert {(page["position"], page["mark"])} == {cursors[-1], (made["position"], made["mark"])}
    for position, mark in cursors:
        page = await feed(api, f"?after={position}", mark=mark)
        assert {each["position"] for each in page["entries"]} == {*range(position + 1, 4)}


@pytest.mark.parametrize(("after", "whose"), [(1, 0), (2, 1), (2, 0), (3, 2), (3, 0), (9, 0)])
async def test_cursor_of_another_history_is_unknown(api: NotesApi, after: int, whose: int) -> None:
    note = await api.note("a.md")
    marks = [api.new_id(), note.revision]
    marks.append((await note.update(text="new")).json()["revision"]["id"])
    response = await api.owner.get(f"{api.place}/feed?after={after}", sync_mark=marks[whose])
    assert refusal(response) == (409, "cursor_unknown")
    assert (response.json()["position"], response.json()["mark"]) == (2, marks[2])


@pytest.mark.parametrize("mark", ["", "x", "0" * 36, NO_MARK.upper() + "0"])
async def test_malformed_mark_is_refused(api: NotesApi, mark: str) -> None:
    response = await api.owner.get(f"{api.place}/feed", sync_mark=mark)
    assert refusal(response) == (400, "invalid_request")
    assert [each["pointer"] for each in response.json()["errors"]] == ["/headers/sync-mark"]


async def test_receipt_has_the_mark_of_its_position_again(api: NotesApi) -> None:
    operation = {"op": "create", "fileId": api.new_id(), "path": "a.md", "text": "x"}
    mutation = api.new_id()
    made = await api.owner.post(
        f"{api.place}/changesets", {"mutationId": mutation, "operations": [operation]}
    )
    again = await api.owner.get(f"{api.place}/receipts/{mutation}")
    assert (
        made.json()["mark"] == again.json()["mark"] == made.json()["changes"][0]["revision"]["id"]
    )
    head = made.json()["changes"][0]["revision"]["id"]
    unchanged = {"op": "update", "fileId": operation["fileId"], "ifMatch": head, "text": "x"}
    mutation = api.new_id()
    for _ in range(2):
        same = await api.owner.post(
            f"{api.place}/changesets", {"mutationId": mutation, "operations": [unchanged]}
        )
        assert (same.json()["position"], same.json()["mark"]) == (1, head)


async def test_cursor_of_any_age_leads_to_the_current_state(api: NotesApi) -> None:
    notes = [await api.note(f"{number}.md", str(number)) for number in range(4)]
    for note in notes[:2]:
        await note.update(text="new")
    await notes[2].delete()
    now = await live_state(api)
    old: Live = {note.id: (f"{at}.md", str(at)) for at, note in enumerate(notes)}
    for position in range(8):
        held = dict(list(old.items())[:position]) if position < 4 else old
        for limit in (1, 2, 500):
            entries, end = await pull(api, min(position, 4), limit)
            assert applied(held, entries) == now
            assert end == 7


async def test_snapshot_has_every_live_file_with_its_text(api: NotesApi) -> None:
    one, two, three = [await api.note(f"{name}.md", name) for name in ("a", "b", "c")]
    await two.delete()
    await three.update(text="new", path="d.md")
    files, end = lines(await api.owner.get(f"{api.place}/snapshot"))
    assert end == {"position": 5, "mark": files[-1]["revisionId"], "files": 2}
    assert [(each["fileId"], each["path"], each["text"], each["position"]) for each in files] == [
        (one.id, "a.md", "a", 1),
        (three.id, "d.md", "new", 5),
    ]
    by_feed = {each["fileId"]: each for each in (await feed(api, "?include=text"))["entries"]}
    assert files == [by_feed[one.id], by_feed[three.id]]


async def test_snapshot_of_an_empty_workspace_is_only_its_last_line(api: NotesApi) -> None:
    files, end = lines(await api.owner.get(f"{api.place}/snapshot"))
    assert (files, end) == ([], {"position": 0, "mark": NO_MARK, "files": 0})


async def snapshot(api: NotesApi, meanwhile: list[Callable[[], Awaitable[object]]]) -> Response:
    """Read a snapshot, two files per step, with one of ``meanwhile`` before each step."""

    async def act() -> None:
        if meanwhile:
            await meanwhile.pop(0)()
        api.store.before_read = act

    async def wait_for_the_position() -> None:
        api.store.before_read = act

    async def wait_for_the_usage() -> None:
        api.store.before_read = wait_for_the_position

    api.store.before_read = wait_for_the_usage
    try:
        return await api.owner.get(f"{api.place}/snapshot")
    finally:
        api.store.before_read = None


async def test_snapshot_is_exact_at_its_position_while_others_write(
    api: NotesApi, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sync, "_STEP", 2)
    notes = [await api.note(f"{number}.md", str(number)) for number in range(8)]

    async def edit() -> None:
        await notes[7].update(text="late", path="late.md")
        await api.note("new.md")

    async def delete() -> None:
        await notes[6].delete()

    files, end = lines(await snapshot(api, [edit, delete]))
    assert end["position"] == 8
    assert [(each["path"], each["text"]) for each in files] == [
        (f"{number}.md", str(number)) for number in range(8)
    ]


async def test_file_purged_during_a_snapshot_is_omitted_and_in_the_feed(
    api: NotesApi, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sync, "_STEP", 2)
    notes = [await api.note(f"{number}.md", "secret") for number in range(6)]

    async def purge() -> None:
        await notes[5].delete()
        await notes[5].purge()

    files, end = lines(await snapshot(api, [purge]))
    assert [each["fileId"] for each in files] == [note.id for note in notes[:5]]
    entries, _ = await pull(api, end["position"], 10)
    assert [(each["fileId"], each["state"]) for each in entries] == [(notes[5].id, "purged")]


async def test_snapshot_step_is_limited_by_the_former_file_sizes(
    api: NotesApi, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sync, "STEP_BYTES", 100)
    notes = [await api.note(f"{number}.md", "x" * 90) for number in range(4)]

    async def shorten() -> None:
        for note in notes:
            await note.update(text="")

    before = api.store.reads
    files, _ = lines(await snapshot(api, [shorten]))
    assert [len(each["text"]) for each in files] == [90] * 4
    of_updates = len(notes)
    # The role, the usage, the position, and for each file one step and the role again.
    assert api.store.reads - before - of_updates == 3 + 2 * len(notes)


async def test_snapshot_of_a_workspace_deleted_meanwhile_has_no_last_line(
    api: NotesApi, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sync, "_STEP", 2)
    for number in range(6):
        await api.note(f"{number}.md")

    async def nothing() -> None:
        pass

    async def delete() -> None:
        await api.owner.delete(api.place)

    response = await snapshot(api, [nothing, delete])
    received = [json.loads(line) for line in response.body.splitlines()]
    assert len(received) < 6
    assert not any("files" in each for each in received)


async def test_snapshot_ends_when_membership_ends(
    api: NotesApi, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sync, "_STEP", 2)
    for number in range(6):
        await api.note(f"{number}.md")

    async def nothing() -> None:
        pass

    async def remove() -> None:
        async def script(transaction: Transaction) -> int:
            return await transaction.execute("DELETE FROM members")

        await api.store.write(script)

    response = await snapshot(api, [nothing, remove])
    received = [json.loads(line) for line in response.body.splitlines()]
    assert len(received) < 6
    assert not any("files" in each for each in received)


CHANGES = st.lists(
    st.lists(
        st.tuples(
            st.sampled_from(["create", "edit", "move", "delete", "restore", "purge"]),
            st.integers(0, 5),
        ),
        max_size=4,
    ),
    max_size=6,
)


class Writer:
    """Changes files as instructed; a refused change has no effect."""

    def __init__(self, api: NotesApi) -> None:
        self.api = api
        self.notes: list[Note] = []
        self.count = 0

    async def change(self, kind: str, which: int) -> None:
        self.count += 1
        if kind == "create" or not self.notes:
            self.notes.append(await self.api.note(f"{self.count}.md", str(self.count)))
            return
        note = self.notes[which % len(self.notes)]
        if kind == "edit":
            await note.update(text=f"edit {self.count}")
        elif kind == "move":
            await note.update(path=f"moved/{self.count}.md")
        elif kind == "delete":
            await note.delete()
        elif kind == "restore":
            await note.restore()
        else:
            await note.purge()

    def changing(self, changes: list[tuple[str, int]]) -> Callable[[], Awaitable[object]]:
        async def change() -> None:
            for kind, which in changes:
                await self.change(kind, which)

        return change


@settings(max_examples=40)
@given(before=CHANGES, during=CHANGES, limit=st.integers(1, 4))
async def test_snapshot_and_the_following_feed_lead_to_the_live_state(
    before: list[list[tuple[str, int]]], during: list[list[tuple[str, int]]], limit: int
) -> None:
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(sync, "_STEP", 2)
        async with opened() as api:
            writer = Writer(api)
            for changes in before:
                await writer.changing(changes)()
            files, end = lines(await snapshot(api, list(map(writer.changing, during))))
            assert end["position"] <= len(api.announced)
            entries, _ = await pull(api, end["position"], limit)
            assert applied(applied({}, files), entries) == await live_state(api)
