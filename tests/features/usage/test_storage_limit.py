"""Writes at the storage limit of an owner."""

from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest
import trio
from octavo_rules.identity import WorkspaceId

from octavo.features.archives import import_commits, import_run
from octavo.store.blobs import BlobKey
from tests.fakes.asgi_client import Response
from tests.fakes.image_files import encoded, picture
from tests.fakes.notes_api import Note, NotesApi, account_id, refusal
from tests.fakes.yjs_device import Device
from tests.features.archives.api.test_imports import archive, start
from tests.features.archives.test_sql import collected

OWNER = account_id("owner")
PNG = encoded(picture((30, 20)), "PNG")
FULL = (413, "storage_limit")
Write = Callable[[NotesApi, Note], Awaitable[Response]]


async def limit(api: NotesApi, maximum: int | None) -> None:
    """Limit the storage of the owner."""
    await api.execute("UPDATE accounts SET storage_limit = $1 WHERE address = 'owner'", maximum)
    api.storage.forget_account(OWNER)


async def create(api: NotesApi, note: Note) -> Response:
    return await api.owner.post(api.files, {"path": "more.md", "text": "x" * 60})


async def update(api: NotesApi, note: Note) -> Response:
    return await note.update(text="x" * 110)


async def push(api: NotesApi, note: Note) -> Response:
    made = {"op": "create", "fileId": api.new_id(), "path": "more.md", "text": "x" * 60}
    return await api.push(made)


async def save(api: NotesApi, note: Note) -> Response:
    device = Device.of((await note.read()).json(), 7)
    device.insert(0, "x" * 60)
    return await api.owner.post(f"{note.place}/saves", device.save())


async def upload(api: NotesApi, note: Note) -> Response:
    return await api.owner.upload(api.place, PNG)


async def restore(api: NotesApi, note: Note) -> Response:
    long, _ = note.revision, await note.update(text="short")
    await limit(api, 40)
    return await note.restore(revisionId=long)


WRITES = (create, update, push, save, upload, restore)


@pytest.mark.parametrize("write", WRITES)
async def test_write_that_needs_more_than_is_left_changes_nothing(
    api: NotesApi, write: Write
) -> None:
    note = await api.note("a.md", "x" * 50)
    await limit(api, 100)
    assert refusal(await write(api, note)) == FULL
    assert [each["path"] for each in (await api.owner.get(api.files)).json()["items"]] == ["a.md"]
    assert api.images.blobs.blobs == {}
    assert (await note.read()).json()["text"] in ("x" * 50, "short")


@pytest.mark.parametrize("write", [create, update, push, save, upload])
async def test_write_is_accepted_when_there_is_room_again(api: NotesApi, write: Write) -> None:
    note = await api.note("a.md", "x" * 50)
    await limit(api, 100)
    assert refusal(await write(api, note)) == FULL
    await limit(api, None)
    assert (await write(api, note)).status < 300


async def test_write_is_refused_alike_for_editors_who_own_nothing(api: NotesApi) -> None:
    await limit(api, 10)
    editor = api.client("editor")
    response = await editor.post(api.files, {"path": "a.md", "text": "x" * 11})
    assert refusal(response) == FULL
    other = await editor.post("/api/workspaces", {"name": "Own"})
    place = f"/api/workspaces/{other.json()['id']}/files"
    assert (await editor.post(place, {"path": "a.md", "text": "x" * 11})).status == 201


async def test_workspace_at_its_limit_can_be_read_shortened_and_emptied(api: NotesApi) -> None:
    note = await api.note("a.md", "x" * 50)
    await limit(api, 10)
    assert refusal(await note.update(text="x" * 51)) == FULL
    assert (await note.read()).status == 200
    assert (await note.update(path="b.md")).status == 200
    assert (await note.update(text="x" * 30)).status == 200
    assert refusal(await note.update(text="x" * 31)) == FULL
    assert (await note.delete()).status == 200
    assert (await note.restore()).status == 200
    assert (await note.delete()).status == 200
    assert (await note.purge()).status == 200
    assert (await api.owner.post(api.files, {"path": "c.md", "text": "x" * 10})).status == 201
    assert refusal(await create(api, note)) == FULL


async def test_limit_counts_the_workspaces_of_the_owner_together(api: NotesApi) -> None:
    await api.note("a.md", "x" * 50)
    made = await api.owner.post("/api/workspaces", {"name": "Other"})
    await limit(api, 80)
    files = f"/api/workspaces/{made.json()['id']}/files"
    assert (await api.owner.post(files, {"path": "a.md", "text": "x" * 30})).status == 201
    assert refusal(await api.owner.post(files, {"path": "b.md", "text": "x"})) == FULL
    assert refusal(await api.owner.post(api.files, {"path": "b.md", "text": "x"})) == FULL


async def test_attaching_an_upload_needs_no_more_storage(api: NotesApi) -> None:
    object_id = await api.upload(PNG)
    await limit(api, len(PNG))
    assert refusal(await api.owner.post(api.files, {"path": "b.md", "text": "x"})) == FULL
    place = f"{api.place}/attachments/{object_id}/finalize"
    response = await api.owner.post(place, {"path": "attachments/a.png"})
    assert response.status == 200, response.body
    assert refusal(await api.owner.post(api.files, {"path": "b.md", "text": "x"})) == FULL
    assert refusal(await upload(api, Note(api, "", ""))) == FULL


async def test_concurrent_uploads_do_not_exceed_the_limit(api: NotesApi) -> None:
    images = [encoded(picture((30, 20 + each)), "PNG") for each in range(6)]
    await limit(api, 3 * max(map(len, images)))
    statuses: list[int] = []

    async def send(data: bytes) -> None:
        statuses.append((await api.owner.upload(api.place, data)).status)

    async with trio.open_nursery() as nursery:
        for data in images:
            nursery.start_soon(send, data)
    assert sorted(statuses) == [201] * 3 + [413] * 3


async def test_concurrent_writes_to_a_workspace_do_not_exceed_the_limit(api: NotesApi) -> None:
    await limit(api, 100)
    statuses: list[int] = []

    async def send(number: int) -> None:
        given = {"path": f"{number}.md", "text": "x" * 30}
        statuses.append((await api.owner.post(api.files, given)).status)

    async with trio.open_nursery() as nursery:
        for number in range(10):
            nursery.start_soon(send, number)
    assert sorted(statuses) == [201] * 3 + [413] * 7


async def test_failed_upload_gives_its_storage_back(api: NotesApi) -> None:
    await limit(api, len(PNG))
    api.images.blobs.away = True
    assert (await api.owner.upload(api.place, PNG)).status == 503
    api.images.blobs.away = False
    assert (await api.owner.upload(api.place, PNG)).status == 201


async def test_parts_of_an_archive_need_as_much_room_as_they_have_bytes(api: NotesApi) -> None:
    given = await start(api)
    await limit(api, 100)
    assert (await given.send(1, b"x" * 60)).status == 200
    assert refusal(await given.send(2, b"x" * 41)) == FULL
    assert (await given.send(1, b"x" * 55)).status == 200
    assert (await given.send(2, b"x" * 45)).status == 200


async def test_parts_of_all_open_imports_share_the_storage(api: NotesApi) -> None:
    made = await api.owner.post("/api/workspaces", {"name": "Other"})
    first, second, by_editor = await start(api), await start(api), await start(api, "editor")
    elsewhere = await start(api)
    elsewhere.place = f"/api/workspaces/{made.json()['id']}/imports"
    started = await api.owner.post(elsewhere.place, {})
    elsewhere.place += f"/{started.json()['importId']}"
    await limit(api, 100)
    assert (await first.send(1, b"x" * 60)).status == 200
    for each in (second, by_editor, elsewhere):
        assert refusal(await each.send(1, b"x" * 41)) == FULL
    assert (await second.send(1, b"x" * 40)).status == 200
    await second.client.delete(second.place)
    assert (await elsewhere.send(1, b"x" * 40)).status == 200


async def test_concurrent_parts_do_not_exceed_the_limit(api: NotesApi) -> None:
    given = await start(api)
    await limit(api, 100)
    statuses: list[int] = []

    async def send(number: int) -> None:
        statuses.append((await given.send(number, b"%d" % number * 30)).status)

    async with trio.open_nursery() as nursery:
        for number in range(1, 10):
            nursery.start_soon(send, number)
    assert sorted(statuses) == [200] * 3 + [413] * 6
    assert len(api.images.blobs.blobs) == 3


async def test_part_is_refused_when_the_room_was_used_while_it_was_stored(
    api: NotesApi, monkeypatch: pytest.MonkeyPatch
) -> None:
    given, put = await start(api), api.images.blobs.put
    await limit(api, 100)

    async def put_later(key: BlobKey, path: Path) -> None:
        await api.note("a.md", "x" * 50)
        await put(key, path)

    monkeypatch.setattr(api.images.blobs, "put", put_later)
    assert refusal(await given.send(1, b"x" * 60)) == FULL
    assert (await given.read()).json()["parts"] == []
    assert await collected(api.store) == [*api.images.blobs.blobs]
    assert len(api.archives.removals) == 1


async def test_part_that_replaces_another_has_the_old_bytes_collected(api: NotesApi) -> None:
    given = await start(api)
    await given.send(1, b"first")
    [old] = api.images.blobs.blobs
    assert api.archives.removals == []
    await given.send(1, b"second")
    assert len(api.archives.removals) == 1
    assert await collected(api.store) == [old]


@pytest.mark.parametrize("files", [{"a.md": "x" * 5000}, {"a.md": "x", "attachments/a.png": PNG}])
async def test_import_without_room_extracts_and_imports_nothing(
    api: NotesApi, files: dict[str, str | bytes], monkeypatch: pytest.MonkeyPatch
) -> None:
    async def extract(*_: object) -> None:
        pytest.fail("files were extracted")

    given = await start(api)
    assert (await given.send(1, archive(files))).status == 200
    size = sum(map(len, files.values()))
    await limit(api, size - 1)
    with monkeypatch.context() as patch:
        patch.setattr(import_run, "check_archive", extract)
        response = await given.complete()
    assert refusal(response) == (507, "storage_full")
    assert response.header("retry-after") is not None
    failure = (await given.read()).json()["failure"]
    assert failure == {"code": "storage_full", "detail": response.json()["detail"]}
    assert (await api.owner.get(api.files)).json()["items"] == []
    await limit(api, size)
    assert (await given.complete()).status == 200
    assert refusal(await api.owner.post(api.files, {"path": "b.md", "text": "x"})) == FULL


async def test_import_whose_room_is_used_meanwhile_can_be_completed_again(
    api: NotesApi, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(import_commits, "NOTES_AT_ONCE", 1)
    given = await start(api)
    files = {f"{number}.md": f"{number}" * 10 for number in range(5)}
    assert (await given.send(1, archive(files))).status == 200
    await limit(api, 50)
    workspace_id, room = WorkspaceId(api.workspace_id), api.storage.remaining

    async def enough_at_first(_: WorkspaceId) -> int | None:
        monkeypatch.setattr(api.storage, "remaining", room)
        return 50

    monkeypatch.setattr(api.storage, "remaining", enough_at_first)
    await room(workspace_id)
    api.storage.grew(workspace_id, 25)
    response = await given.complete()
    assert refusal(response) == (503, "import_incomplete")
    assert response.json()["files"] == 2
    await limit(api, None)
    assert (await given.complete()).status == 200
    assert len((await api.owner.get(api.files)).json()["items"]) == 5


async def test_change_that_is_repeated_at_the_limit_returns_its_receipt(api: NotesApi) -> None:
    given = {"path": "a.md", "text": "x" * 50, "mutationId": api.new_id()}
    first = await api.owner.post(api.files, given)
    await limit(api, 10)
    again = await api.owner.post(api.files, given)
    assert (again.status, again.json()) == (201, first.json())


async def test_writes_of_unlimited_owners_ask_for_no_figures(api: NotesApi) -> None:
    note = await api.note("a.md")
    await note.update(text="known")
    reads: list[int] = []
    for maximum in (None, 1 << 40, 1 << 40):
        if maximum is not None and len(reads) == 1:
            await limit(api, maximum)
        before = api.store.reads
        await note.update(text=f"text {len(reads)}")
        reads.append(api.store.reads - before)
    # Figures that were just read are used for some seconds.
    assert [each - reads[0] for each in reads] == [0, 1, 0]
