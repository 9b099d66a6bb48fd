"""Documents of notes: read, saved by devices, and following every other change of the text."""

from base64 import b64decode, b64encode

import pytest
from octavo_rules.identity import READ, WRITE
from octavo_rules.problems import ServerBusy
from pycrdt import Doc, Map, Text

from octavo.features.files.api import reading
from octavo.features.usage.api import memory_of
from octavo.http.contract.memory_budget import COUNTED, Hold, MemoryBudget
from tests.fakes.asgi_client import Response
from tests.fakes.notes_api import NOBODYS, Json, Note, NotesApi, refusal
from tests.fakes.refused_memory import refuse_first
from tests.fakes.yjs_device import Device

START = "one\ntwo\nthree\n"


async def device_of(note: Note, client: int = 7) -> Device:
    return Device.of((await note.read()).json(), client)


async def save(note: Note, device: Device, **more: str) -> Response:
    response = await note.api.owner.post(f"{note.place}/saves", device.save(**more))
    if response.status == 200:
        device.take(response.json())
    return response


async def text_of(note: Note) -> str:
    """The text of the head, which is that of the document."""
    file = (await note.read()).json()
    text: str = file["text"]
    assert Device.of(file).text == text
    return text


async def test_note_has_the_document_of_its_text(api: NotesApi) -> None:
    note = await api.note("a.md", "Zoë 🦉\n")
    document = (await note.read()).json()["document"]
    assert document["epoch"] == note.revision
    device = Device(document, 7)
    assert device.text == "Zoë 🦉\n"
    assert b64decode(document["stateVector"]) == device.vector()


async def test_empty_note_has_an_empty_document(api: NotesApi) -> None:
    note = await api.note("a.md", "")
    device = await device_of(note)
    device.insert(0, "first")
    assert (await save(note, device)).status == 200
    assert await text_of(note) == "first"


async def test_text_is_read_without_the_document_on_request(api: NotesApi) -> None:
    note = await api.note("a.md")
    response = await api.owner.get(f"{note.place}?content=text")
    assert response.json()["document"] is None
    assert response.json()["text"] == "text"


async def test_save_creates_a_head_and_returns_nothing_the_device_has(
    api: NotesApi,
) -> None:
    note = await api.note("a.md", START)
    device = await device_of(note)
    device.insert(4, "1.5\n")
    response = await save(note, device)
    document = response.json()
    assert (response.status, document["outcome"], document["position"]) == (200, "merged", 2)
    assert document["epoch"] == note.revision
    assert b64decode(document["update"]) == b"\0\0"
    assert b64decode(document["stateVector"]) == device.vector()
    assert response.header("etag") == f'"{document["revision"]["id"]}"'
    assert await text_of(note) == "one\n1.5\ntwo\nthree\n"
    assert api.announced[-1] == (api.workspace_id, 2)


async def test_save_without_a_state_vector_returns_the_whole_document(
    api: NotesApi,
) -> None:
    note = await api.note("a.md", START)
    device = await device_of(note)
    device.insert(0, "zero\n")
    given = device.save()
    del given["stateVector"]
    response = await api.owner.post(f"{note.place}/saves", given)
    whole = {"epoch": response.json()["epoch"], "state": response.json()["update"]}
    assert Device(whole, 9).text == "zero\n" + START


async def test_devices_with_concurrent_edits_converge(api: NotesApi) -> None:
    note = await api.note("a.md", START)
    first, second = await device_of(note, 7), await device_of(note, 8)
    first.insert(0, "from the first\n")
    second.delete(0, 4)
    second.insert(len(second.text), "from the second 🦉\n")
    assert (await save(note, first)).json()["outcome"] == "merged"
    assert (await save(note, second)).json()["outcome"] == "merged"
    # The first device learns of the second by an empty save.
    response = await save(note, first)
    assert response.json()["outcome"] == "unchanged"
    merged = "from the first\ntwo\nthree\nfrom the second 🦉\n"
    assert (first.text, second.text, await text_of(note)) == (merged, merged, merged)


async def test_save_that_was_sent_before_changes_nothing(api: NotesApi) -> None:
    note = await api.note("a.md", START)
    device = await device_of(note)
    device.insert(0, "once ")
    given = device.save()
    for outcome in ("merged", "unchanged"):
        response = await api.owner.post(f"{note.place}/saves", given)
        assert response.json()["outcome"] == outcome
        assert response.json()["position"] == 2
    assert await text_of(note) == "once " + START


async def test_save_is_repeated_by_its_mutation(api: NotesApi) -> None:
    note = await api.note("a.md", START)
    device = await device_of(note)
    device.insert(0, "once ")
    given = device.save(mutationId=NOBODYS)
    responses = [await api.owner.post(f"{note.place}/saves", given) for _ in range(2)]
    assert [each.json()["outcome"] for each in responses] == ["merged", "merged"]
    device.insert(0, "twice ")
    again = device.save(mutationId=NOBODYS)
    assert refusal(await api.owner.post(f"{note.place}/saves", again)) == (
        409,
        "mutation_reused",
    )


async def test_insertions_deleted_again_are_known_to_later_saves(
    api: NotesApi,
) -> None:
    note = await api.note("a.md", START)
    device = await device_of(note)
    device.insert(0, "gone")
    device.delete(0, 4)
    response = await save(note, device)
    assert response.json()["outcome"] == "merged"
    assert response.json()["revision"]["digest"] == (await note.read()).json()["head"]["digest"]
    device.insert(0, "kept ")
    assert (await save(note, device)).status == 200
    assert await text_of(note) == "kept " + START


async def test_text_write_reaches_the_devices_as_the_smallest_edits(
    api: NotesApi,
) -> None:
    note = await api.note("a.md", START)
    device = await device_of(note)
    device.insert(len(START), "offline\n")
    await note.update(text=START.replace("two", "2"))
    assert (await save(note, device)).status == 200
    assert device.text == "one\n2\nthree\noffline\n"
    assert await text_of(note) == device.text


async def test_deleted_note_is_restored_with_its_document(api: NotesApi) -> None:
    note = await api.note("a.md", START)
    device = await device_of(note)
    device.insert(0, "zero\n")
    await note.delete()
    assert refusal(await save(note, device)) == (404, "not_found")
    await note.restore()
    assert (await save(note, device)).status == 200
    assert await text_of(note) == "zero\n" + START


async def test_earlier_revision_is_restored_into_the_same_document(
    api: NotesApi,
) -> None:
    note = await api.note("a.md", START)
    first = note.revision
    device = await device_of(note)
    await note.update(text="something else\n")
    device.insert(0, "zero\n")
    response = await note.restore(revisionId=first)
    assert response.json()["outcome"] == "restored"
    assert response.json()["revision"]["origin"] == "restore"
    assert (await save(note, device)).status == 200
    assert await text_of(note) == "zero\n" + START
    assert device.text == "zero\n" + START


@pytest.mark.parametrize("way", ["operation", "changeset"])
async def test_memory_for_a_text_is_reserved_before_it_is_restored(
    api: NotesApi, monkeypatch: pytest.MonkeyPatch, way: str
) -> None:
    long = "x" * COUNTED
    note = await api.note("a.md", long)
    first = note.revision
    await note.update(text="later")
    reserved = refuse_first(monkeypatch)

    async def restore() -> Response:
        if way == "operation":
            return await note.restore(revisionId=first)
        operation = {"op": "restore", "fileId": note.id, "ifMatch": note.revision}
        return await api.push(operation | {"revisionId": first})

    assert refusal(await restore()) == (503, "server_busy")
    assert await text_of(note) == "later"
    assert (await restore()).status == 200
    assert reserved == [memory_of(len(long))] * 2
    assert await text_of(note) == long


@pytest.mark.parametrize("awake", [True, False])
async def test_memory_for_a_long_note_is_reserved_before_it_is_saved(
    api: NotesApi, monkeypatch: pytest.MonkeyPatch, awake: bool
) -> None:
    long = "x" * COUNTED
    note = await api.note("a.md", long)
    device = await device_of(note)
    device.insert(0, "zero\n")
    if not awake:
        monkeypatch.setattr(type(api.directory), "answer", lambda *_: None)
    wait = MemoryBudget.wait_briefly
    reserved: list[int] = []

    async def reserve(budget: MemoryBudget, client: str | None, size: int) -> Hold:
        reserved.append(size)
        if len(reserved) == 1:
            raise ServerBusy
        return await wait(budget, client, size)

    monkeypatch.setattr(MemoryBudget, "wait_briefly", reserve)
    assert refusal(await save(note, device)) == (503, "server_busy")
    monkeypatch.setattr(MemoryBudget, "hold", MemoryBudget.reserve_unchecked)
    assert await text_of(note) == long
    assert (await save(note, device)).status == 200
    assert reserved[0] == memory_of(len(long))
    assert await text_of(note) == "zero\n" + long


@pytest.mark.parametrize("awake", [True, False])
@pytest.mark.parametrize("way", ["save", "full", "many", "revision", "difference", "restore"])
async def test_no_memory_is_reserved_for_what_the_caller_does_not_see(
    api: NotesApi, monkeypatch: pytest.MonkeyPatch, way: str, awake: bool
) -> None:
    async def reserve(budget: MemoryBudget, client: str | None, size: int) -> Hold:
        raise AssertionError(size)

    note = await api.note("secret/a.md", "x" * COUNTED)
    # What was read before is expected again, whoever reads it.
    device = Device({"epoch": note.revision, "state": b64encode(b"\0\0").decode()}, 7)
    if not awake:
        monkeypatch.setattr(type(api.directory), "answer", lambda *_: None)
    monkeypatch.setattr(MemoryBudget, "wait_briefly", reserve)
    monkeypatch.setattr(MemoryBudget, "hold", lambda *given: pytest.fail(f"{given} is reserved"))
    confined = api.key(READ, WRITE, folder="open")
    for who in (api.client("stranger"), confined):
        if way == "save":
            response = await who.post(f"{note.place}/saves", device.save())
        elif way == "full":
            response = await who.get(f"{note.place}?content=full")
        elif way == "many":
            body = {"fileIds": [note.id], "revisionIds": [note.revision], "content": "full"}
            response = await who.post(f"{api.files}/read", body)
        elif way == "difference":
            names = f"old={note.revision}&new={note.revision}"
            response = await who.get(f"{note.place}/diff?{names}")
        elif way == "restore":
            body = {"revisionId": note.revision}
            response = await who.post(f"{note.place}/restore", body, if_match=note.tag)
        else:
            response = await who.get(f"{note.place}/revisions/{note.revision}")
        if way == "many" and who is confined:
            assert response.json()["items"] == []
        elif way == "restore" and who is confined:
            assert refusal(response) == (400, "invalid_request")
        else:
            assert refusal(response) == (404, "not_found")


async def test_deleted_note_is_restored_to_an_earlier_revision(api: NotesApi) -> None:
    note = await api.note("a.md", START)
    first = note.revision
    await note.update(text="later")
    await note.delete()
    assert (await note.restore(revisionId=first, path="b.md")).json()["path"] == "b.md"
    assert await text_of(note) == START


async def test_repeated_restore_gets_its_first_response_after_the_text_is_gone(
    api: NotesApi,
) -> None:
    note = await api.note("a.md", START)
    first, tag = note.revision, (await note.update(text="later")).header("etag") or ""
    given = {"revisionId": first, "mutationId": NOBODYS}
    place = f"{note.place}/restore"
    response = await api.owner.post(place, given, if_match=tag)
    operation = {"op": "restore", "fileId": note.id, "ifMatch": tag.strip('"'), "revisionId": first}
    note.tag = response.header("etag") or ""
    await note.delete()
    await note.purge()
    again = await api.owner.post(place, given, if_match=tag)
    assert (again.status, again.json()["outcome"]) == (200, "restored")
    pushed = await api.push(operation, mutation=NOBODYS)
    assert (pushed.status, pushed.json()["changes"][0]["outcome"]) == (200, "restored")
    other = await api.owner.post(place, {**given, "path": "b.md"}, if_match=tag)
    assert refusal(other) == (409, "mutation_reused")
    new = {**given, "mutationId": api.new_id()}
    assert refusal(await api.owner.post(place, new, if_match=tag)) == (
        410,
        "file_purged",
    )


async def test_revision_of_another_file_is_not_restored(api: NotesApi) -> None:
    note, other = await api.note("a.md"), await api.note("b.md", "secret")
    response = await note.restore(revisionId=other.revision)
    assert refusal(response) == (400, "invalid_request")
    assert response.json()["errors"][0]["pointer"] == "/revisionId"


async def test_revisions_of_each_others_files_are_refused_together(api: NotesApi) -> None:
    first, second = await api.note("a.md", "1"), await api.note("b.md", "2")
    for note in (first, second):
        await note.update(text="later")
    operations = [
        {"op": "restore", "fileId": of.id, "ifMatch": of.tag.strip('"'), "revisionId": revision}
        for of, revision in ((first, second.revision), (second, first.revision))
    ]
    response = await api.push(*operations)
    assert refusal(response) == (400, "invalid_request")
    for note in (first, second):
        assert (await note.read()).json()["text"] == "later"


async def test_live_file_without_a_revision_is_not_restored(api: NotesApi) -> None:
    note = await api.note("a.md")
    response = await note.restore()
    assert refusal(response) == (409, "file_live")
    assert "give its revisionId" in response.json()["detail"]


async def test_changeset_saves_and_writes_together(api: NotesApi) -> None:
    one, two = (
        await api.note("one.md", START),
        await api.note("two.md", START),
    )
    first = await device_of(one)
    first.insert(0, "saved ")
    given = first.save()
    response = await api.push(
        {"op": "save", "fileId": one.id, "epoch": given["epoch"], "update": given["update"]},
        {"op": "update", "fileId": two.id, "ifMatch": two.revision, "text": "written"},
        {"op": "create", "fileId": NOBODYS, "path": "three.md", "text": ""},
    )
    outcomes = [each["outcome"] for each in response.json()["changes"]]
    assert outcomes == ["merged", "updated", "created"]
    assert await text_of(one) == "saved " + START


async def test_refused_changeset_leaves_every_document_unchanged(
    api: NotesApi,
) -> None:
    one, two = (
        await api.note("one.md", START),
        await api.note("two.md", START),
    )
    devices = [await device_of(each) for each in (one, two)]
    for device in devices:
        device.insert(0, "saved ")
    given = [device.save() for device in devices]
    response = await api.push(
        {"op": "save", "fileId": one.id, "epoch": given[0]["epoch"], "update": given[0]["update"]},
        {"op": "save", "fileId": two.id, "epoch": NOBODYS, "update": given[1]["update"]},
    )
    assert refusal(response) == (409, "epoch_mismatch")
    assert response.json()["fileIds"] == [two.id]
    assert [await text_of(each) for each in (one, two)] == [START, START]
    for note, device in zip((one, two), devices, strict=True):
        assert (await save(note, device)).json()["outcome"] == "merged"
        assert await text_of(note) == "saved " + START


def encoded(doc: Doc[Text]) -> str:
    return b64encode(doc.get_update()).decode()


def other_root() -> str:
    doc: Doc[Text] = Doc(client_id=9)
    doc.get("title", type=Text).insert(0, "x")
    return encoded(doc)


def map_entries() -> str:
    doc: Doc[Map[str]] = Doc(client_id=9)
    doc.get("text", type=Map)["x"] = "y"
    return b64encode(doc.get_update()).decode()


def formats() -> str:
    doc: Doc[Text] = Doc(client_id=9)
    text = doc.get("text", type=Text)
    text.insert(0, "x", {"bold": True})
    return encoded(doc)


def nul() -> str:
    doc: Doc[Text] = Doc(client_id=9)
    doc.get("text", type=Text).insert(0, "a\0b")
    return encoded(doc)


def later_half() -> str:
    doc: Doc[Text] = Doc(client_id=9)
    text = doc.get("text", type=Text)
    text.insert(0, "x")
    between = doc.get_state()
    text.insert(1, "y")
    return b64encode(doc.get_update(between)).decode()


@pytest.mark.parametrize(
    ("update", "refused"),
    [
        ("AQ==", (422, "document_malformed")),
        ("", (422, "document_malformed")),
        (b64encode(b"no update").decode(), (422, "document_malformed")),
        (later_half(), (422, "document_dependency_missing")),
        (other_root(), (422, "document_unsupported")),
        (map_entries(), (422, "document_unsupported")),
        (formats(), (422, "document_unsupported")),
        (nul(), (422, "invalid_content")),
        ("%%%", (400, "invalid_request")),
    ],
)
async def test_update_that_cannot_be_accepted_leaves_the_note_unchanged(
    api: NotesApi, update: str, refused: tuple[int, str]
) -> None:
    note = await api.note("a.md", START)
    device = await device_of(note)
    given = {"epoch": note.revision, "update": update}
    for _ in range(2):
        response = await api.owner.post(f"{note.place}/saves", given)
        assert refusal(response) == refused
    assert (await note.read()).header("etag") == note.tag
    device.insert(0, "still ")
    assert (await save(note, device)).status == 200
    assert await text_of(note) == "still " + START


async def test_malformed_state_vector_is_refused_before_any_effect(
    api: NotesApi,
) -> None:
    note = await api.note("a.md", START)
    device = await device_of(note)
    device.insert(0, "x")
    given = {**device.save(), "stateVector": "/w=="}
    response = await api.owner.post(f"{note.place}/saves", given)
    assert refusal(response) == (422, "document_malformed")
    assert await text_of(note) == START


async def test_many_files_are_read_with_their_documents(api: NotesApi) -> None:
    notes = [await api.note(f"{number}.md", START) for number in range(3)]
    await notes[1].update(text="new")
    given = {"fileIds": [each.id for each in notes], "content": "full"}
    items = (await api.owner.post(f"{api.files}/read", given)).json()["items"]
    assert [Device.of(each).text for each in items] == [START, "new", START]
    assert items == [(await each.read()).json() for each in notes]


async def test_documents_count_against_the_byte_limit_of_reads(
    api: NotesApi, monkeypatch: pytest.MonkeyPatch
) -> None:
    note = await api.note("a.md", "x" * 100)
    await note.read()
    await note.update(text="y" * 100)
    monkeypatch.setattr(reading, "MAX_BYTES", 150)
    given = {"fileIds": [note.id]}
    assert (await api.owner.post(f"{api.files}/read", given)).status == 200
    response = await api.owner.post(f"{api.files}/read", {**given, "content": "full"})
    assert refusal(response) == (422, "too_many_files")


async def test_image_has_no_document(api: NotesApi) -> None:
    note = await api.note("a.md")
    await api.execute(
        "UPDATE files SET kind = 'attachment', path = 'attachments/a.png' WHERE file_id = $1::uuid",
        note.id,
    )
    assert (await note.read()).json()["document"] is None


async def test_purged_note_has_no_document(api: NotesApi) -> None:
    note = await api.note("a.md", START)
    device = await device_of(note)
    device.insert(0, "x")
    await save(note, device)
    note.tag = (await note.read()).header("etag") or ""
    await note.delete()
    await note.purge()
    assert refusal(await save(note, device)) == (410, "file_purged")


async def test_revisions_have_their_origin(api: NotesApi) -> None:
    note = await api.note("a.md")
    revisions: list[Json] = (await api.owner.get(f"{note.place}/revisions")).json()["items"]
    assert [each["origin"] for each in revisions] == ["device"]


async def test_notes_can_be_read_when_documents_cannot_be_stored(api: NotesApi) -> None:
    notes = [await api.note(f"{number}.md", "one") for number in range(2)]
    device = await device_of(notes[0])
    for note in notes:
        await note.update(text="two")
    api.store.failures = 100
    for note in notes:
        response = await note.read()
        assert response.status == 200
        assert Device.of(response.json()).text == "two"
    given = {"fileIds": [each.id for each in notes], "content": "full"}
    many = await api.owner.post(f"{api.files}/read", given)
    assert [Device.of(each).text for each in many.json()["items"]] == ["two", "two"]
    api.store.failures = 0
    # The document of the device goes on afterwards; edits of the other one have to be transferred.
    stranger = Device.of((many.json()["items"])[0], 8)
    stranger.insert(0, "!")
    assert refusal(await save(notes[0], stranger)) == (409, "epoch_mismatch")
    device.insert(0, "and ")
    assert (await save(notes[0], device)).status == 200
    assert await text_of(notes[0]) == "and two"


async def test_document_of_a_note_that_is_not_returned_stays_as_it_is(api: NotesApi) -> None:
    note, gone = await api.note("tea/a.md", "one"), await api.note("gone.md", "one")
    for each in (note, gone):
        await each.read()
        await each.update(text="two")
    await gone.delete()
    writes = api.store.writes
    assert (await gone.read()).status == 404
    assert (await api.key(READ, folder="mint").get(note.place)).status == 404
    assert api.store.writes == writes
