"""Differences between two revisions: by lines, by words, and their author."""

from itertools import pairwise

import pytest
import trio

from octavo.http.contract import memory_budget
from tests.fakes.asgi_client import Response
from tests.fakes.image_files import encoded, picture
from tests.fakes.notes_api import NOBODYS, Note, NotesApi, account_id, refusal

FIRST = "# Title\n\none\ntwo\nthree\n"
SECOND = "# Title\n\none\n2\nthree\nfour\n"


async def diff(note: Note, **query: str) -> Response:
    asked = "&".join(f"{name}={value}" for name, value in query.items())
    return await note.api.owner.get(f"{note.place}/diff?{asked}")


async def test_default_diff_is_the_change_of_the_head(api: NotesApi) -> None:
    note = await api.note("a.md", FIRST)
    first = note.revision
    await note.update(text=SECOND)
    document = (await diff(note)).json()
    assert (document["old"]["id"], document["new"]["id"]) == (first, note.revision)
    assert document["words"] is None
    assert document["unified"] == (
        "--- a/a.md\n+++ b/a.md\n@@ -1,5 +1,6 @@\n # Title\n \n one\n-two\n+2\n three\n+four\n"
    )
    [hunk] = document["hunks"]
    assert [hunk[name] for name in ("oldStart", "oldLines", "newStart", "newLines")] == [1, 5, 1, 6]
    assert {"kind": "removed", "text": "two\n"} in hunk["lines"]


async def test_diff_of_the_first_revision_adds_all(api: NotesApi) -> None:
    note = await api.note("a.md", "one\n")
    document = (await diff(note)).json()
    assert document["old"] is None
    assert document["unified"] == "--- /dev/null\n+++ b/a.md\n@@ -0,0 +1 @@\n+one\n"


async def test_diff_by_words_concatenates_to_both_texts(api: NotesApi) -> None:
    note = await api.note("a.md", FIRST)
    await note.update(text=SECOND)
    pieces = (await diff(note, by="words")).json()["words"]
    old = "".join(each["text"] for each in pieces if each["kind"] != "added")
    new = "".join(each["text"] for each in pieces if each["kind"] != "removed")
    assert (old, new) == (FIRST, SECOND)
    assert {"kind": "removed", "text": "two"} in pieces


@pytest.mark.parametrize("by", ["lines", "words"])
@pytest.mark.parametrize("limit", [1, 2, 3, 100])
async def test_difference_begins_with_as_much_as_is_asked_for(
    api: NotesApi, by: str, limit: int
) -> None:
    note = await api.note("a.md", "one\n\ntwo\nthree\n" * 20)
    await note.update(text="one\n\n2\nthree\n" * 20)
    whole = (await diff(note, by=by, context="0")).json()
    part = (await diff(note, by=by, context="0", limit=str(limit))).json()
    if by == "words":
        assert part["words"] == whole["words"][:limit]
        assert part["cut"] is (limit < len(whole["words"]))
    else:
        lines = [line for hunk in part["hunks"] for line in hunk["lines"]]
        every = [line for hunk in whole["hunks"] for line in hunk["lines"]]
        assert len(lines) == min(limit, len(every))
        assert (part["cut"], part["unified"]) == (
            (True, None) if limit < len(every) else (False, whole["unified"])
        )
    assert whole["cut"] is False


async def test_difference_of_any_text_is_json(api: NotesApi) -> None:
    old = '","hunks":[],"words":[]\n' * 700
    note = await api.note("a.md", old)
    new = old.replace("w", 'W"hunks":[]\x01')
    await note.update(text=new)
    document = (await diff(note)).json()
    assert (
        "".join(
            line["text"]
            for hunk in document["hunks"]
            for line in hunk["lines"]
            if line["kind"] != "removed"
        )
        == new
    )
    words = (await diff(note, by="words")).json()["words"]
    assert "".join(each["text"] for each in words if each["kind"] != "added") == old


@pytest.mark.parametrize("letter", ["x", "\N{SPARKLES}"])
@pytest.mark.parametrize("query", [{"by": "words"}, {"context": "1000"}, {"limit": "10"}])
async def test_longest_notes_are_compared(
    api: NotesApi, letter: str, query: dict[str, str]
) -> None:
    text = "".join(f"{at:09d} a line {letter}\n" for at in range(90_000))
    note = await api.note("a.md", text)
    await note.update(text=text.replace("a line", "another"))
    assert (await diff(note, **query)).status == 200


async def test_comparing_takes_no_more_memory_than_there_is(
    api: NotesApi, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(memory_budget, "ROOM_SECONDS", 0.2)
    note = await api.note("a.md", "".join(f"{at} old\n" for at in range(90_000)))
    await note.update(text="".join(f"{at} new\n" for at in range(90_000)))
    statuses: list[int] = []

    async def ask() -> None:
        statuses.append((await diff(note, context="1000")).status)

    async with trio.open_nursery() as nursery:
        for _ in range(6):
            nursery.start_soon(ask)
    # Those that found no room have read nothing.
    assert {200, 503} == set(statuses)
    assert (await diff(note)).status == 200


async def test_any_two_revisions_are_compared_in_either_order(
    api: NotesApi,
) -> None:
    note = await api.note("a.md", "1\n")
    names = [note.revision]
    for text in ("2\n", "3\n"):
        await note.update(text=text)
        names.append(note.revision)
    there = (await diff(note, old=names[0], new=names[2], context="0")).json()["unified"]
    back = (await diff(note, old=names[2], new=names[0], context="0")).json()["unified"]
    assert there.endswith("-1\n+3\n")
    assert back.endswith("-3\n+1\n")


async def test_equal_texts_have_an_empty_diff(api: NotesApi) -> None:
    note = await api.note("a.md", FIRST)
    await note.update(path="b.md")
    document = (await diff(note)).json()
    assert (document["unified"], document["hunks"]) == ("", [])


async def test_deleted_note_still_has_diffs_of_its_revisions(api: NotesApi) -> None:
    note = await api.note("a.md", FIRST)
    first = note.revision
    await note.update(text=SECOND)
    second = note.revision
    await note.delete()
    assert (await diff(note, old=first, new=second)).status == 200
    assert (await diff(note)).json()["hunks"] == []
    await note.purge()
    assert refusal(await diff(note, old=first, new=second)) == (410, "file_purged")


async def test_revision_that_is_not_of_the_file_is_not_found(api: NotesApi) -> None:
    note, other = await api.note("a.md"), await api.note("b.md", "secret")
    for query in ({"old": other.revision}, {"new": other.revision}, {"new": NOBODYS}):
        response = await diff(note, **query)
        assert refusal(response) == (404, "not_found")
        [name] = query.values()
        assert name in response.json()["detail"]


@pytest.mark.parametrize(("name", "value"), [("by", "letters"), ("context", "-1"), ("old", "x")])
async def test_malformed_query_is_refused(api: NotesApi, name: str, value: str) -> None:
    note = await api.note("a.md")
    response = await diff(note, **{name: value})
    assert refusal(response) == (400, "invalid_request")
    assert response.json()["errors"][0]["pointer"] == f"/query/{name}"


async def test_each_revision_has_its_author_and_its_origin(api: NotesApi) -> None:
    note = await api.note("a.md", FIRST)
    first = note.revision
    await note.update(text=SECOND)
    await note.restore(revisionId=first)
    items = (await api.owner.get(f"{note.place}/revisions")).json()["items"]
    assert [(each["author"], each["origin"]) for each in items] == [
        (account_id("owner"), "restore"),
        (account_id("owner"), "device"),
        (account_id("owner"), "device"),
    ]
    assert all(newer["position"] > older["position"] for newer, older in pairwise(items))


async def test_images_are_refused_before_memory_for_comparing_is_reserved(
    api: NotesApi, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def reserve(budget: object, client: object, size: int) -> object:
        raise AssertionError(size)

    png = encoded(picture((40, 30)), "PNG") + bytes(memory_budget.COUNTED)
    object_id = await api.upload(png)
    made = await api.owner.post(
        f"{api.place}/attachments/{object_id}/finalize", {"path": "attachments/a.png"}
    )
    assert made.status == 200, made.body
    place = f"{api.files}/{made.json()['fileId']}/diff"
    revision = made.json()["revision"]["id"]
    monkeypatch.setattr(memory_budget.MemoryBudget, "wait_briefly", reserve)
    for query in ("", f"?new={revision}", f"?old={revision}&new={revision}"):
        assert refusal(await api.owner.get(place + query)) == (422, "invalid_content")
