"""Changing one file: what each state of it allows and refuses."""

from collections.abc import Awaitable, Callable
from hashlib import sha256

import pytest

from octavo.features.files.api.files import LONGEST_CHANGE
from octavo.render.limits import LIMITS
from tests.fakes.asgi_client import Response, ask
from tests.fakes.notes_api import NOBODYS, Note, NotesApi, account_id, refusal, tag_of

NIL = "00000000-0000-0000-0000-000000000000"

MUTATION = "01900000-0000-7000-8000-eeeeeeeeeeee"
OTHER = "01900000-0000-7000-8000-dddddddddddd"
START = "2027-01-15T08:00:00.000Z"
STALE = f'"{NOBODYS}"'

Change = Callable[[NotesApi, Note, str | None], Awaitable[Response]]


def _headers(tag: str | None) -> dict[str, str]:
    return {} if tag is None else {"if_match": tag}


async def update(api: NotesApi, note: Note, tag: str | None) -> Response:
    return await api.owner.put(note.place, {"text": "new"}, **_headers(tag))


async def delete(api: NotesApi, note: Note, tag: str | None) -> Response:
    return await api.owner.delete(note.place, **_headers(tag))


async def restore(api: NotesApi, note: Note, tag: str | None) -> Response:
    return await api.owner.post(f"{note.place}/restore", {}, **_headers(tag))


async def purge(api: NotesApi, note: Note, tag: str | None) -> Response:
    return await api.owner.post(f"{note.place}/purge", {}, **_headers(tag))


async def test_created_note_has_all_its_members(api: NotesApi) -> None:
    text = "# Zoë 🦉\r\n"
    response = await api.owner.post(
        api.files,
        {"fileId": NOBODYS, "path": "a/b.md", "text": text, "mutationId": MUTATION},
    )
    document = response.json()
    revision = document["revision"]
    assert response.status == 201
    assert response.header("etag") == f'"{revision["id"]}"'
    assert document == {
        "fileId": NOBODYS,
        "outcome": "created",
        "position": 1,
        "path": "a/b.md",
        "revision": {
            "id": revision["id"],
            "fileId": NOBODYS,
            "position": 1,
            "kind": "note",
            "path": "a/b.md",
            "digest": sha256(text.encode()).hexdigest(),
            "size": len(text.encode()),
            "mediaType": "text/markdown; charset=utf-8",
            "author": account_id("owner"),
            "createdAt": START,
            "mutationId": MUTATION,
            "origin": "device",
        },
    }
    assert (await api.owner.get(f"{api.files}/{NOBODYS}")).json()["text"] == text
    assert api.announced == [(api.workspace_id, 1)]


async def test_update_changes_text_path_or_both_and_keeps_the_rest(
    api: NotesApi,
) -> None:
    note = await api.note("a.md", "one")
    assert (await note.update(text="two")).json()["path"] == "a.md"
    moved = await note.update(path="b.md")
    assert (moved.json()["path"], moved.json()["outcome"]) == ("b.md", "updated")
    assert (await note.read()).json()["text"] == "two"
    both = await note.update(path="c.md", text="three")
    assert (both.json()["position"], "text" in both.json()["revision"]) == (4, False)
    read = (await note.read()).json()
    assert (read["path"], read["text"], read["head"]["id"]) == ("c.md", "three", note.revision)


async def test_update_without_effect_takes_no_position(api: NotesApi) -> None:
    note = await api.note("a.md", "same")
    before = note.tag
    response = await note.update(path="a.md", text="same")
    assert (response.json()["outcome"], response.json()["position"]) == ("unchanged", 1)
    assert note.tag == before
    assert api.announced == [(api.workspace_id, 1)]


async def test_update_of_nothing_is_refused(api: NotesApi) -> None:
    note = await api.note("a.md")
    assert refusal(await note.update()) == (400, "invalid_request")


async def test_file_is_created_deleted_restored_and_purged(api: NotesApi) -> None:
    note = await api.note("a.md", "kept")
    deleted = await note.delete()
    assert (deleted.json()["outcome"], deleted.json()["path"]) == ("deleted", "a.md")
    assert refusal(await note.read()) == (404, "not_found")
    restored = await note.restore(path="b.md")
    assert (restored.json()["outcome"], restored.json()["path"]) == ("restored", "b.md")
    assert (await note.read()).json()["text"] == "kept"
    await note.delete()
    purged = await note.purge()
    assert (purged.json()["outcome"], purged.json()["path"]) == ("purged", None)
    revision = purged.json()["revision"]
    assert (revision["digest"], revision["size"], revision["mediaType"]) == (None, 0, None)
    assert refusal(await note.read()) == (410, "file_purged")


@pytest.mark.parametrize(
    ("state", "change", "refused"),
    [
        ("live", restore, (409, "file_live")),
        ("live", purge, (409, "file_live")),
        ("deleted", update, (404, "not_found")),
        ("deleted", delete, (404, "not_found")),
        ("purged", update, (410, "file_purged")),
        ("purged", delete, (410, "file_purged")),
        ("purged", restore, (410, "file_purged")),
        ("purged", purge, (410, "file_purged")),
        ("missing", update, (404, "not_found")),
        ("missing", delete, (404, "not_found")),
        ("missing", restore, (404, "not_found")),
        ("missing", purge, (404, "not_found")),
    ],
)
async def test_change_not_allowed_in_the_state_of_the_file_is_refused(
    api: NotesApi, state: str, change: Change, refused: tuple[int, str]
) -> None:
    note = await api.note("a.md")
    if state in ("deleted", "purged"):
        await note.delete()
    if state == "purged":
        await note.purge()
    if state == "missing":
        note.id = NOBODYS
    before = len(api.announced)
    assert refusal(await change(api, note, note.tag)) == refused
    assert len(api.announced) == before


@pytest.mark.parametrize("state", ["live", "deleted", "purged"])
async def test_used_id_creates_no_second_file(api: NotesApi, state: str) -> None:
    note = await api.note("a.md")
    if state != "live":
        await note.delete()
    if state == "purged":
        await note.purge()
    document = {"fileId": note.id, "path": "b.md", "text": ""}
    response = await api.owner.post(api.files, document)
    expected = (410, "file_purged") if state == "purged" else (409, "file_exists")
    assert refusal(response) == expected


@pytest.mark.parametrize("change", [update, delete, restore])
@pytest.mark.parametrize(
    ("tag", "refused"),
    [
        (None, (428, "if_match_required")),
        ("*", (428, "if_match_required")),
        (" * ", (428, "if_match_required")),
        (STALE, (412, "head_moved")),
        (f"{STALE}, {STALE}", (412, "head_moved")),
        ("W/{tag}", (412, "head_moved")),
        ('"*"', (412, "head_moved")),
        ("{revision}", (400, "invalid_request")),
        ("*, {tag}", (400, "invalid_request")),
        ("", (400, "invalid_request")),
        ('"', (400, "invalid_request")),
    ],
)
async def test_tag_that_does_not_name_the_head_changes_nothing(
    api: NotesApi, change: Change, tag: str | None, refused: tuple[int, str]
) -> None:
    note = await api.note("a.md")
    if change is restore:
        await note.delete()
    given = None if tag is None else tag.format(tag=note.tag, revision=note.revision)
    before = len(api.announced)
    response = await change(api, note, given)
    assert refusal(response) == refused
    assert len(api.announced) == before
    if refused[0] == 412:
        assert response.json()["fileIds"] == [note.id]
    if refused[0] == 400:
        assert [each["pointer"] for each in response.json()["errors"]] == ["/headers/if-match"]


@pytest.mark.parametrize("change", [update, delete, restore])
@pytest.mark.parametrize("tags", ["{tag}", " {tag} ", f"{STALE}, {{tag}}", ",W/{tag},,{tag} ,"])
async def test_list_with_a_strong_tag_of_the_head_is_accepted(
    api: NotesApi, change: Change, tags: str
) -> None:
    note = await api.note("a.md")
    if change is restore:
        await note.delete()
    assert (await change(api, note, tags.format(tag=note.tag))).status == 200


async def test_head_that_moved_is_refused_and_stays(api: NotesApi) -> None:
    note = await api.note("a.md", "one")
    old = note.tag
    await note.update(text="two")
    response = await update(api, note, old)
    assert refusal(response) == (412, "head_moved")
    assert (await note.read()).json()["text"] == "two"


# Paths and contents


@pytest.mark.parametrize(
    ("taken", "path", "refused"),
    [
        ("a.md", "a.md", (409, "path_conflict")),
        ("a.md", "A.MD", (422, "invalid_path")),
        ("a.md", "A.md", (409, "path_conflict")),
        ("straße.md", "STRASSE.md", (409, "path_conflict")),
        ("é.md", "É.md", (409, "path_conflict")),
        ("a.md/b.md", "a.md", (422, "invalid_graph")),
        ("a.md/b.md", "A.md", (422, "invalid_graph")),
        ("a.md", "a.md/b.md", (422, "invalid_graph")),
        ("a.md", "A.md/b/c.md", (422, "invalid_graph")),
    ],
)
@pytest.mark.parametrize("way", ["create", "move", "restore"])
async def test_taken_path_is_refused_for_every_operation(
    api: NotesApi, way: str, taken: str, path: str, refused: tuple[int, str]
) -> None:
    await api.note(taken)
    if way == "create":
        response = await api.owner.post(api.files, {"path": path, "text": ""})
    else:
        note = await api.note("elsewhere.md")
        if way == "restore":
            await note.delete()
        response = await (note.update(path=path) if way == "move" else note.restore(path=path))
    assert refusal(response) == refused
    # The file, but no id that the client has never seen.
    assert response.json().get("fileIds") == (None if way == "create" else [note.id])
    paths = [each["path"] for each in await api.owner.pages(api.files, 9)]
    assert paths.count(taken) == 1
    assert path in (taken, *({path} - set(paths)))


async def test_path_of_a_deleted_file_is_free_and_not_returned(
    api: NotesApi,
) -> None:
    note = await api.note("a.md")
    await note.delete()
    await api.note("A.md")
    assert refusal(await note.restore()) == (409, "path_conflict")
    assert (await note.restore(path="b.md")).status == 200


async def test_file_moves_to_another_spelling_of_its_own_path(api: NotesApi) -> None:
    note = await api.note("a.md")
    assert (await note.update(path="A.md")).json()["outcome"] == "updated"
    assert (await note.update(path="a.md/a.md")).status == 200


@pytest.mark.parametrize(
    "path",
    [
        "",
        "/a.md",
        "a//b.md",
        "./a.md",
        "../a.md",
        "a/../b.md",
        "a/.",
        "a",
        "a.txt",
        ".md",
        "a/.md",
        "attachments/a.png",
        "a\\b.md",
        "a:b.md",
        "a*.md",
        'a".md',
        "a\tb.md",
        "a\0.md",
        "a\x7f.md",
        "a./b.md",
        "a /b.md",
        "CON.md",
        "lpt1.x.md",
        "e\u0301.md",
        "x" * 253 + ".md",
        "x/" * 32 + "y.md",
        ("x" * 249 + "/") * 4 + "x" * 21 + "y.md",
    ],
)
async def test_nonportable_path_is_refused(api: NotesApi, path: str) -> None:
    response = await api.owner.post(api.files, {"path": path, "text": ""})
    assert refusal(response) == (422, "invalid_path")
    note = await api.note("b.md")
    assert refusal(await note.update(path=path)) == (422, "invalid_path")


@pytest.mark.parametrize(
    "path",
    [
        "a.md",
        "x" * 252 + ".md",
        "x/" * 31 + "y.md",
        ("x" * 249 + "/") * 4 + "x" * 20 + "y.md",
        "…/ä 🦉.md",
        ".a/..b.md",
        "\U0010ffff.md",
    ],
)
async def test_portable_path_is_accepted(api: NotesApi, path: str) -> None:
    note = await api.note(path)
    assert (await note.read()).json()["path"] == path
    assert [each["path"] for each in await api.owner.pages(api.files, 5)] == [path]


async def test_text_with_nul_is_refused(api: NotesApi) -> None:
    response = await api.owner.post(api.files, {"path": "a.md", "text": "a\0b"})
    assert refusal(response) == (422, "invalid_content")
    note = await api.note("a.md")
    assert refusal(await note.update(text="\0")) == (422, "invalid_content")


@pytest.mark.parametrize(
    ("body", "pointer"),
    [
        (b'{"path": "a.md", "text": "\\ud800"}', ""),
        (b'{"path": "\\udfff.md", "text": ""}', ""),
        (b'{"path": "a.md", "text": 1' + b"0" * 5000 + b"}", ""),
        (b'{"path": "a.md", "text": 10000000000000000000000000}', "/text"),
        (b'{"path": "a.md", "text": ' + b"[" * 100_000, ""),
        (b'{"path": "a.md", "text": "", "text": "b"}', "/text"),
        (b'{"path": "a.md", "text": null}', "/text"),
        (b'{"path": "a.md"}', "/text"),
        (b'{"path": "a.md", "text": "", "kind": "note"}', "/kind"),
        (b'{"path": "a.md", "text": "", "fileId": "1"}', "/fileId"),
        (b'{"path": "a.md", "text": "", "fileId": "' + NIL.encode() + b'"}', "/fileId"),
        (b'{"path": "a.md", "text": "", "fileId": "' + NOBODYS.upper().encode() + b'"}', "/fileId"),
        (b'{"path": "a.md", "text": "", "mutationId": null}', "/mutationId"),
        (b'{"path": "a.md", "text": "\xff"}', ""),
        (b"[]", ""),
        (b"", ""),
    ],
)
async def test_malformed_body_is_refused_with_its_path(
    api: NotesApi, body: bytes, pointer: str
) -> None:
    response = await api.owner.post(api.files, body)
    assert refusal(response) == (400, "invalid_request")
    assert [each["pointer"] for each in response.json()["errors"]] == [pointer]
    assert api.announced == []


async def test_largest_text_is_accepted_and_one_byte_more_is_not(api: NotesApi) -> None:
    lines = "x" * 1023 + "\n"
    text = lines * (LIMITS["length"] // len(lines))
    response = await api.owner.post(api.files, {"path": "a.md", "text": text + "x"})
    assert refusal(response) == (422, "unrenderable_note")
    maximum = LIMITS["length"]
    refused = {"limit": "length", "maximum": maximum, "found": maximum + 1}
    assert response.json()["noteRefusal"] == refused
    assert (await api.owner.post(api.files, {"path": "a.md", "text": text})).status == 201
    [listed] = await api.owner.pages(api.files, 5)
    assert listed["head"]["size"] == maximum


async def test_body_of_more_than_eight_mebibytes_is_not_read(api: NotesApi) -> None:
    frame = len(b'{"path":"a.md","text":""}')
    text = b"x" * (8 * 1024 * 1024 - frame)
    for more, refused in ((b"x", (413, "document_too_large")), (b"", (422, "unrenderable_note"))):
        body = b'{"path":"a.md","text":"' + text + more + b'"}'
        assert refusal(await api.owner.post(api.files, body)) == refused


@pytest.mark.parametrize(
    ("method", "path", "code"),
    [
        ("POST", "/files", "document_too_large"),
        ("PUT", "/files/{id}", "document_too_large"),
        ("POST", "/files/{id}/saves", "document_too_large"),
        # Several changes may be too large together, and these have no text.
        ("POST", "/changesets", "body_too_large"),
        ("POST", "/files/{id}/restore", "body_too_large"),
        ("POST", "/files/{id}/purge", "body_too_large"),
    ],
)
@pytest.mark.parametrize("declared", [True, False])
async def test_note_that_is_too_large_is_told_from_a_request_that_is(
    api: NotesApi, method: str, path: str, code: str, declared: bool
) -> None:
    note = await api.note("a.md", "text")
    # What is declared is not read.
    size = LONGEST_CHANGE + 1
    length = (b"content-length", b"%d" % size)
    response = await ask(
        api.application,
        method,
        f"{api.place}{path.format(id=note.id)}",
        headers=[
            (b"authorization", b"owner"),
            (b"content-type", b"application/json"),
            *([length] if declared else []),
        ],
        body=[b"{"] if declared else [b" " * 65_536] * (size // 65_536 + 1),
    )
    assert refusal(response) == (413, code)
    assert (await note.read()).json()["text"] == "text"


# Repeating the same change


async def test_repeated_change_has_one_effect_and_one_response(
    api: NotesApi,
) -> None:
    document = {"path": "a.md", "text": "one", "mutationId": MUTATION, "fileId": NOBODYS}
    first = await api.owner.post(api.files, document)
    again = await api.owner.post(api.files, document)
    assert (again.status, again.body) == (first.status, first.body)
    assert again.header("etag") == first.header("etag")
    note = Note(api, NOBODYS, tag_of(first))
    tag = note.tag
    await note.update(text="two", mutationId=OTHER)
    late = await api.owner.put(note.place, {"text": "two", "mutationId": OTHER}, if_match=tag)
    assert (late.json()["outcome"], late.json()["position"]) == ("updated", 2)
    assert len(api.announced) == 2


async def test_file_with_a_server_generated_id_is_created_once(
    api: NotesApi,
) -> None:
    document = {"path": "a.md", "text": "one", "mutationId": MUTATION}
    first = await api.owner.post(api.files, document)
    again = await api.owner.post(api.files, document)
    assert (again.status, again.body) == (201, first.body)
    assert len(await api.owner.pages(api.files, 5)) == 1


@pytest.mark.parametrize(
    "document",
    [
        {"path": "b.md", "text": "one"},
        {"path": "a.md", "text": "two"},
        {"path": "a.md", "text": "one", "fileId": NOBODYS},
    ],
)
async def test_mutation_of_another_change_is_refused(
    api: NotesApi, document: dict[str, str]
) -> None:
    await api.note("a.md", "one", mutationId=MUTATION)
    response = await api.owner.post(api.files, {**document, "mutationId": MUTATION})
    assert refusal(response) == (409, "mutation_reused")


async def test_repeated_restore_and_purge_get_their_first_responses(
    api: NotesApi,
) -> None:
    note = await api.note("a.md")
    await note.delete()
    tag = note.tag
    first = await note.restore(mutationId=MUTATION)
    document = {"mutationId": MUTATION}
    again = await api.owner.post(f"{note.place}/restore", document, if_match=tag)
    assert again.body == first.body
    await note.delete()
    purged = await note.purge(mutationId=OTHER)
    assert (await note.purge(mutationId=OTHER)).body == purged.body
