"""Reading files: heads, lists, revisions, batches."""

import tracemalloc

import pytest
from octavo_rules.content import note_text
from octavo_rules.identity import (
    AccountId,
    ContentId,
    FileId,
    MutationId,
    Position,
    RevisionId,
    WorkspaceId,
)
from octavo_rules.schemas import ReadFiles, WorkspaceFile

from octavo.access.entropy import new_id
from octavo.features.files.api import reading
from octavo.http.contract.call import encoded_json
from octavo.http.contract.paging import cursor
from octavo.model.files.revision import Revision
from octavo.store.queries.files import StoredFile
from tests.fakes.notes_api import NOBODYS, Json, NotesApi, refusal

OTHERS = "01900000-0000-7000-8000-eeeeeeeeeeee"


async def test_file_is_read_with_its_text_and_the_tag_of_its_head(
    api: NotesApi,
) -> None:
    note = await api.note("a.md", "# Hello")
    response = await note.read()
    document = response.json()
    head, yjs = document.pop("head"), document.pop("document")
    assert yjs["epoch"] == note.revision
    assert (response.status, response.header("etag")) == (200, note.tag)
    assert document == {
        "id": note.id,
        "workspaceId": api.workspace_id,
        "path": "a.md",
        "kind": "note",
        "state": "live",
        "text": "# Hello",
    }
    assert (head["id"], head["fileId"], head["position"]) == (note.revision, note.id, 1)
    text = await api.owner.get(f"{note.place}?content=text")
    assert text.json() == {**response.json(), "document": None}
    refused = await api.owner.get(f"{note.place}?content=html")
    assert refusal(refused) == (400, "invalid_request")


@pytest.mark.parametrize(
    ("tags", "status"),
    [
        ("{tag}", 304),
        ("W/{tag}", 304),
        ("*", 304),
        (f'"{NOBODYS}", {{tag}}', 304),
        (f'"{NOBODYS}"', 200),
        ("{bare}", 400),
        ("", 400),
    ],
)
async def test_reader_with_the_current_head_gets_304(api: NotesApi, tags: str, status: int) -> None:
    note = await api.note("a.md")
    response = await note.read(if_none_match=tags.format(tag=note.tag, bare=note.revision))
    assert response.status == status
    if status == 304:
        assert (response.body, response.header("etag")) == (b"", note.tag)
        await note.update(text="new")
        if tags != "*":
            later = await note.read(if_none_match=f'"{NOBODYS}"')
            assert (later.status, later.header("etag")) == (200, note.tag)
    if status == 400:
        assert response.json()["errors"][0]["pointer"] == "/headers/if-none-match"


async def test_text_is_that_of_the_head_whoever_has_read_it_before(api: NotesApi) -> None:
    note = await api.note("a.md", "one")
    place = f"{note.place}?content=text"
    for text in ("one", "two", "three"):
        for _ in range(3):
            response = await api.owner.get(place, if_none_match=f'"{NOBODYS}"')
            assert (response.status, response.header("etag")) == (200, note.tag)
            assert response.json()["text"] == text
            assert response.json()["head"]["id"] == note.revision
        if text == "two":
            await note.update(path="b/c.md", text="three")
        else:
            await note.update(text="two")
    assert (await api.owner.get(place)).json()["path"] == "b/c.md"
    await note.delete()
    assert refusal(await api.owner.get(place)) == (404, "not_found")


@pytest.mark.parametrize("tags", [None, "*", f'"{NOBODYS}"'])
async def test_file_that_is_not_live_is_not_found_whatever_the_readers_tag(
    api: NotesApi, tags: str | None
) -> None:
    note = await api.note("a.md")
    headers = {} if tags is None else {"if_none_match": tags}
    await note.delete()
    assert refusal(await note.read(**headers)) == (404, "not_found")
    await note.purge()
    assert refusal(await note.read(**headers)) == (410, "file_purged")
    missing = await api.owner.get(f"{api.files}/{NOBODYS}", **headers)
    assert refusal(missing) == (404, "not_found")


async def test_head_of_a_file_is_asked_without_its_content(api: NotesApi) -> None:
    note = await api.note("a.md")
    response = await api.owner.ask("HEAD", note.place)
    assert (response.status, response.body, response.header("etag")) == (200, b"", note.tag)


# Lists


async def test_files_are_listed_by_path_without_texts(api: NotesApi) -> None:
    for path in ("b.md", "a.md", "B/a.md", "ä.md"):
        await api.note(path, f"text of {path}")
    response = await api.owner.get(api.files)
    items = response.json()["items"]
    assert [each["path"] for each in items] == ["B/a.md", "a.md", "b.md", "ä.md"]
    assert set(items[0]) == {"id", "workspaceId", "path", "kind", "state", "head"}
    assert response.json()["next"] is None


@pytest.mark.parametrize(
    ("prefix", "found"),
    [
        (
            "",
            ["a", "a/b.md", "a/c/d.md", "a0.md", "b/a.md", "\ud7ff.md", "\U0010ffff\U0010ffff.md"],
        ),
        ("a", ["a", "a/b.md", "a/c/d.md", "a0.md"]),
        ("a/", ["a/b.md", "a/c/d.md"]),
        ("A/", []),
        ("a/c/d.md", ["a/c/d.md"]),
        ("a/c/d.mdx", []),
        ("\ud7ff", ["\ud7ff.md"]),
        ("\U0010ffff", ["\U0010ffff\U0010ffff.md"]),
        ("%", []),
        ("_", []),
    ],
)
async def test_files_are_listed_by_a_prefix_of_their_paths(
    api: NotesApi, prefix: str, found: list[str]
) -> None:
    for path in ("a/b.md", "a/c/d.md", "a0.md", "b/a.md", "\ud7ff.md", "\U0010ffff" * 2 + ".md"):
        await api.note(path)
    quoted = "".join(f"%{byte:02x}" for byte in prefix.encode())
    listed = await api.owner.pages(f"{api.files}?prefix={quoted}", 2)
    assert [each["path"] for each in listed] == [path for path in found if path != "a"]


async def test_file_that_changes_between_two_pages_is_listed(api: NotesApi) -> None:
    creates = [
        {"op": "create", "fileId": api.new_id(), "path": path, "text": ""} for path in "abcd"
    ]
    for each in creates:
        each["path"] += ".md"
    changeset = {"mutationId": api.new_id(), "operations": creates}
    assert (await api.owner.post(f"{api.place}/changesets", changeset)).status == 200
    latest = await api.note("e.md")
    heads = {each["path"]: each for each in (await api.owner.get(api.files)).json()["items"]}
    listed: list[list[str]] = []
    after: str | None = ""
    while after is not None:
        page = (await api.owner.get(f"{api.files}?order=recent&limit=2{after}")).json()
        listed.append([each["path"] for each in page["items"]])
        after = page["next"] and f"&after={page['next']}"
        if len(listed) == 1:
            await latest.update(text="new")
            place, tag = f"{api.files}/{heads['d.md']['id']}", heads["d.md"]["head"]["id"]
            changed = await api.owner.put(place, {"text": "new"}, if_match=f'"{tag}"')
            assert changed.status == 200
    assert listed == [["e.md", "a.md"], ["b.md", "c.md"], ["d.md", "e.md"]]


@pytest.mark.parametrize("parts", [("1", NOBODYS), ("1", NOBODYS, "x", "1"), ("1", "2", "3", "4")])
async def test_cursor_of_another_list_is_refused(api: NotesApi, parts: tuple[str, ...]) -> None:
    response = await api.owner.get(f"{api.files}?order=recent&after={cursor(*parts)}")
    assert refusal(response) == (400, "invalid_request")


async def test_prefix_with_nul_is_refused(api: NotesApi) -> None:
    response = await api.owner.get(f"{api.files}?prefix=a%00")
    assert refusal(response) == (400, "invalid_request")
    assert response.json()["errors"][0]["pointer"] == "/query/prefix"


@pytest.mark.parametrize("limit", [1, 2, 3, 4])
async def test_deleted_files_are_listed_though_they_share_a_path(api: NotesApi, limit: int) -> None:
    ids = []
    for _ in range(3):
        note = await api.note("a.md")
        await note.delete()
        ids.append(note.id)
    await api.note("a.md")
    purged = await api.note("b.md")
    await purged.delete()
    await purged.purge()
    listed = await api.owner.pages(f"{api.files}?state=deleted", limit)
    assert [each["id"] for each in listed] == ids
    assert {each["state"] for each in listed} == {"deleted"}
    response = await api.owner.get(f"{api.files}?state=purged")
    assert refusal(response) == (400, "invalid_request")


async def test_unchanged_file_is_listed_once_while_others_come_and_go(
    api: NotesApi,
) -> None:
    notes = [await api.note(f"{number:02}.md") for number in range(20)]
    seen: list[str] = []
    after = ""
    for turn in range(20):
        page = (await api.owner.get(f"{api.files}?limit=3{after}")).json()
        seen += [each["path"] for each in page["items"]]
        if page["next"] is None:
            break
        after = f"&after={page['next']}"
        await api.note(f"{turn * 3:02}+.md")
        await notes[2 * turn + 1].delete()
    stay = [f"{number:02}.md" for number in range(0, 20, 2)]
    assert [path for path in seen if path in stay] == stay
    assert len(seen) == len(set(seen))


# Revisions


async def test_revisions_are_listed_newest_first_and_outlive_the_file(
    api: NotesApi,
) -> None:
    note = await api.note("a.md", "0")
    revisions = [note.revision]
    for number in range(1, 5):
        await note.update(text=str(number))
        revisions.append(note.revision)
    await note.delete()
    revisions.append(note.revision)
    for limit in (1, 4, 6, 100):
        listed = await api.owner.pages(f"{note.place}/revisions", limit)
        assert [each["id"] for each in listed] == revisions[::-1]
    assert listed[0]["position"] == 6


async def test_revisions_listed_during_changes_appear_once(
    api: NotesApi,
) -> None:
    note = await api.note("a.md")
    for number in range(3):
        await note.update(text=str(number))
    first = (await api.owner.get(f"{note.place}/revisions?limit=2")).json()
    await note.update(text="late")
    rest = (await api.owner.get(f"{note.place}/revisions?after={first['next']}")).json()
    assert [each["position"] for each in (*first["items"], *rest["items"])] == [4, 3, 2, 1]


async def test_every_revision_is_read_with_the_text_it_had(api: NotesApi) -> None:
    note = await api.note("a.md", "one")
    first = note.revision
    await note.update(text="two")
    await note.update(path="b.md")
    moved = note.revision
    await note.delete()
    read = await api.owner.get(f"{note.place}/revisions/{first}")
    assert (read.json()["text"], read.json()["path"], read.json()["head"]["id"]) == (
        "one",
        "a.md",
        first,
    )
    read = await api.owner.get(f"{note.place}/revisions/{moved}")
    assert (read.json()["text"], read.json()["path"]) == ("two", "b.md")
    deleted = await api.owner.get(f"{note.place}/revisions/{note.revision}")
    assert (deleted.json()["state"], deleted.json()["text"]) == ("deleted", "two")


async def test_revisions_of_a_purged_file_have_only_their_times(
    api: NotesApi,
) -> None:
    note = await api.note("secret.md", "secret")
    first = note.revision
    await note.delete()
    await note.purge()
    response = await api.owner.get(f"{note.place}/revisions")
    assert b"secret" not in response.body
    assert [(each["position"], each["digest"]) for each in response.json()["items"]] == [
        (3, None),
        (2, None),
        (1, None),
    ]
    read = await api.owner.get(f"{note.place}/revisions/{first}")
    assert refusal(read) == (410, "file_purged")


async def test_revision_of_another_file_is_not_found(api: NotesApi) -> None:
    note, other = await api.note("a.md"), await api.note("b.md")
    for revision in (other.revision, NOBODYS):
        response = await api.owner.get(f"{note.place}/revisions/{revision}")
        assert refusal(response) == (404, "not_found")
    missing = await api.owner.get(f"{api.files}/{NOBODYS}/revisions")
    assert refusal(missing) == (404, "not_found")


@pytest.mark.parametrize("cursor", ["WyJhIl0", "WyItMSJd", "WyIxMjM0NTY3ODkwMTIzNDU2Nzg5MCJd"])
async def test_malformed_cursor_of_revisions_is_refused(api: NotesApi, cursor: str) -> None:
    note = await api.note("a.md")
    response = await api.owner.get(f"{note.place}/revisions?after={cursor}")
    assert refusal(response) == (400, "invalid_request")
    assert response.json()["errors"][0]["pointer"] == "/query/after"


# Batches


async def read(api: NotesApi, **document: list[str]) -> Json:
    response = await api.owner.post(f"{api.files}/read", document)
    assert response.status == 200, response.body
    found: Json = response.json()
    return found


async def test_files_and_revisions_are_read_in_the_order_asked(
    api: NotesApi,
) -> None:
    one, two = await api.note("a.md", "1"), await api.note("b.md", "2")
    old = one.revision
    await one.update(text="1 anew")
    found = await read(api, fileIds=[two.id, one.id, two.id], revisionIds=[one.revision, old])
    assert [each["text"] for each in found["items"]] == ["2", "1 anew", "2", "1 anew", "1"]
    assert found["missing"] == []
    alone = await api.owner.get(f"{one.place}?content=text")
    assert found["items"][1] == alone.json()


async def test_missing_items_are_listed_next_to_found_ones(api: NotesApi) -> None:
    deleted, purged = await api.note("a.md"), await api.note("b.md")
    of_deleted, of_purged = deleted.revision, purged.revision
    for note in (deleted, purged):
        await note.delete()
    await purged.purge()
    found = await read(
        api,
        fileIds=[deleted.id, purged.id, NOBODYS],
        revisionIds=[of_deleted, of_purged, OTHERS],
    )
    assert [each["head"]["id"] for each in found["items"]] == [of_deleted]
    assert found["missing"] == [deleted.id, purged.id, NOBODYS, of_purged, OTHERS]


async def test_nothing_asked_is_nothing_found(api: NotesApi) -> None:
    assert await read(api) == {"items": [], "missing": []}


async def test_five_hundred_files_and_as_many_revisions_are_read_together(
    api: NotesApi,
) -> None:
    operations: list[Json] = [
        {
            "op": "create",
            "fileId": api.new_id(),
            "path": f"{number}.md",
            "text": str(number),
        }
        for number in range(500)
    ]
    pushed = (await api.push(*operations)).json()
    ids = [each["fileId"] for each in operations]
    revisions = [each["revision"]["id"] for each in pushed["changes"]]
    found = await read(api, fileIds=ids, revisionIds=revisions)
    assert [each["text"] for each in found["items"]] == [str(n % 500) for n in range(1000)]
    response = await api.owner.post(f"{api.files}/read", {"fileIds": [*ids, NOBODYS]})
    assert refusal(response) == (400, "invalid_request")
    assert response.json()["errors"][0]["pointer"] == "/fileIds"


async def test_files_too_large_for_one_response_are_refused(
    api: NotesApi, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(reading, "MAX_BYTES", 1 << 20)
    note = await api.note("a.md", "x" * (1 << 19))
    assert len((await read(api, fileIds=[note.id] * 2))["items"]) == 2
    other = await api.note("b.md", "y")
    response = await api.owner.post(
        f"{api.files}/read",
        {"fileIds": [note.id, other.id], "revisionIds": [note.revision]},
    )
    assert refusal(response) == (422, "too_many_files")


async def test_files_are_read_up_to_the_byte_limit_and_not_beyond(
    api: NotesApi,
) -> None:
    text = ("x" * 1023 + "\n") * (reading.MAX_BYTES // 4 // 1024)
    large = [await api.note(f"{number}.md", text) for number in range(4)]
    found = (await read(api, fileIds=[each.id for each in large]))["items"]
    assert sum(len(each["text"]) for each in found) == reading.MAX_BYTES
    other = await api.note("more.md", "y")
    response = await api.owner.post(
        f"{api.files}/read",
        {"fileIds": [each.id for each in (*large, other)], "revisionIds": []},
    )
    assert refusal(response) == (422, "too_many_files")


def test_response_of_the_worst_text_is_six_times_as_long() -> None:
    text = "\x01" * reading.MAX_BYTES
    item = WorkspaceFile.model_construct(text=text)
    response = ReadFiles.model_construct(items=(item,), missing=())
    encoded = ReadFiles.__pydantic_serializer__.to_json(response, warnings=False)
    assert len(encoded) - 6 * len(text) < 1000
    assert 6 * len(text) == 48 * 1024 * 1024


@pytest.mark.parametrize(
    "text",
    [
        "tide " * 400,
        "\u0436" * 20_000,
        "\u00e9" * 20_000,
        "\U0001f600" + "x" * 60_000,
        "\x01" * 9_000,
    ],
    ids=["ascii", "two bytes", "one byte", "four bytes", "escapes"],
)
def test_size_of_a_cached_response_is_about_that_in_memory(text: str) -> None:
    as_stored = text.encode()
    # What is made once alone does not count.
    cached_response(as_stored)
    tracemalloc.start()
    try:
        before, _ = tracemalloc.get_traced_memory()
        response = cached_response(as_stored)
        after, _ = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert 0.6 < reading._size_in_memory(response) / (after - before) < 1.6


def cached_response(as_stored: bytes) -> reading.TextResponse:
    """Make the response for a note with this text, and send it once."""
    revision = Revision(
        FileId(new_id()),
        "live",
        "note",
        "Folder/note.md",
        RevisionId(new_id()),
        Position(1),
        ContentId(new_id()),
        note_text(as_stored.decode()).digest,
        len(as_stored),
        "text/markdown",
        AccountId(new_id()),
        MutationId(new_id()),
        1,
    )
    stored = StoredFile(revision, as_stored.decode())
    response = reading._text_response(WorkspaceId("w"), stored, True)
    assert response.reply.encoded is not None
    # This may leave the UTF-8 of the text in memory.
    encoded_json(response.reply.body)
    return response
