"""Links that follow the files they lead to, in the changeset that moves the files."""

import pytest

from octavo.actors.jobs import indexing
from octavo.features.links.sql import link_index
from tests.fakes.notes_api import NOBODYS, Note, NotesApi, refusal


async def text_of(note: Note) -> str:
    text: str = (await note.read()).json()["text"]
    return text


def move(note: Note, path: str, **more: object) -> dict[str, object]:
    return {
        "op": "update",
        "fileId": note.id,
        "ifMatch": note.revision,
        "path": path,
        "rewriteLinks": True,
        **more,
    }


async def test_every_link_to_a_moved_note_is_rewritten_in_the_same_changeset(
    api: NotesApi,
) -> None:
    target = await api.note("topic.md", "# Topic\n")
    standard = await api.note("a.md", 'See [it](topic.md#topic "title") and `[[topic]]`.\n')
    wiki = await api.note("deep/b.md", "See [[topic|it]], [other](../a.md).\n")
    other = await api.note("c.md", "No link to the topic.\n")
    response = await target.update(path="far/away/theme.md", rewriteLinks=True)
    assert response.json()["path"] == "far/away/theme.md"
    assert await text_of(standard) == (
        'See [it](far/away/theme.md#topic "title") and `[[topic]]`.\n'
    )
    assert await text_of(wiki) == "See [[theme|it]], [other](../a.md).\n"
    feed = (await api.owner.get(f"{api.place}/feed?after=4", sync_protocol="1")).json()
    assert {each["fileId"] for each in feed["entries"]} == {target.id, standard.id, wiki.id}
    assert {each["position"] for each in feed["entries"]} == {5}
    assert (await other.read()).header("etag") == other.tag


async def test_folder_moves_with_the_links_into_it_and_out_of_it(
    api: NotesApi,
) -> None:
    one = await api.note("old/one.md", "[two](two.md) [up](../home.md)\n")
    two = await api.note("old/two.md", "[one](one.md)\n")
    home = await api.note("home.md", "[one](old/one.md)\n")
    response = await api.push(move(one, "new/sub/one.md"), move(two, "new/sub/two.md"))
    changes = response.json()["changes"]
    assert [each["fileId"] for each in changes] == [one.id, two.id, home.id]
    assert [each["outcome"] for each in changes] == ["updated"] * 3
    assert await text_of(one) == "[two](two.md) [up](../../home.md)\n"
    assert await text_of(two) == "[one](one.md)\n"
    assert await text_of(home) == "[one](new/sub/one.md)\n"


async def test_swap_keeps_each_link_with_its_file(api: NotesApi) -> None:
    one, two = await api.note("1.md", "one"), await api.note("2.md", "two")
    links = await api.note("links.md", "[one](1.md) [two](2.md)")
    assert (await api.push(move(one, "2.md"), move(two, "1.md"))).status == 200
    assert await text_of(links) == "[one](2.md) [two](1.md)"


async def test_move_without_the_option_leaves_links_unchanged(api: NotesApi) -> None:
    target = await api.note("topic.md")
    links = await api.note("a.md", "[it](topic.md)")
    await target.update(path="theme.md")
    assert await text_of(links) == "[it](topic.md)"


async def test_moved_note_with_a_new_text_has_that_text(api: NotesApi) -> None:
    target = await api.note("a/topic.md", "[up](../home.md)")
    await api.note("home.md", "[it](a/topic.md)")
    response = await api.push(move(target, "topic.md", text="[up](home.md)"))
    assert [each["outcome"] for each in response.json()["changes"]] == ["updated"] * 2
    assert await text_of(target) == "[up](home.md)"


@pytest.mark.parametrize("door", ["operation", "changeset"])
async def test_links_of_a_text_that_is_sent_with_a_new_path_keep_their_targets(
    api: NotesApi, door: str
) -> None:
    note = await api.note("tea/green.md", "Green.")
    await api.note("tea/black.md")
    home = await api.note("home.md", "[green](tea/green.md)")
    text = "[black](black.md) [[black]] [none](gone.md) [self](green.md)\n"
    if door == "operation":
        assert (await note.update(text=text, path="a/b/c.md", rewriteLinks=True)).status == 200
    else:
        assert (await api.push(move(note, "a/b/c.md", text=text))).status == 200
    assert await text_of(note) == (
        "[black](../../tea/black.md) [[black]] [none](gone.md) [self](c.md)\n"
    )
    assert await text_of(home) == "[green](a/b/c.md)"


async def test_links_of_a_text_stay_as_they_are_where_another_note_moves(api: NotesApi) -> None:
    target, links = await api.note("topic.md"), await api.note("a.md", "[it](topic.md)")
    given = {"op": "update", "fileId": links.id, "ifMatch": links.revision}
    response = await api.push(move(target, "theme.md"), {**given, "text": "New: [it](topic.md)"})
    assert response.status == 200
    assert await text_of(links) == "New: [it](topic.md)"


@pytest.mark.parametrize("door", ["operation", "changeset", "earlier text"])
async def test_links_of_a_note_that_is_restored_elsewhere_keep_their_targets(
    api: NotesApi, door: str
) -> None:
    await api.note("tea/black.md")
    note = await api.note("tea/green.md", "[black](black.md)")
    first = note.revision
    if door == "earlier text":
        await note.update(text="Green.")
    await note.delete()
    how: dict[str, object] = {"path": "a/b/c.md", "rewriteLinks": True}
    if door == "earlier text":
        how["revisionId"] = first
    if door == "operation":
        assert (await note.restore(**how)).status == 200
    else:
        operation = {"op": "restore", "fileId": note.id, "ifMatch": note.revision, **how}
        assert (await api.push(operation)).status == 200
    assert await text_of(note) == "[black](../../tea/black.md)"


@pytest.mark.parametrize("door", ["operation", "changeset"])
async def test_links_of_an_earlier_text_are_understood_from_the_path_of_its_revision(
    api: NotesApi, door: str
) -> None:
    await api.note("n/t.md", "right")
    await api.note("d/t.md", "wrong")
    note = await api.note("n/x.md", "[t](t.md)")
    first = note.revision
    assert (await note.update(path="d/x.md", rewriteLinks=True)).status == 200
    how = {"path": "n/x2.md", "rewriteLinks": True, "revisionId": first}
    if door == "operation":
        assert (await note.restore(**how)).status == 200
    else:
        operation = {"op": "restore", "fileId": note.id, "ifMatch": note.revision, **how}
        assert (await api.push(operation)).status == 200
    assert await text_of(note) == "[t](t.md)"


async def test_note_that_is_restored_elsewhere_without_the_option_has_its_text(
    api: NotesApi,
) -> None:
    await api.note("tea/black.md")
    note = await api.note("tea/green.md", "[black](black.md)")
    await note.delete()
    assert (await note.restore(path="a/b/c.md")).status == 200
    assert await text_of(note) == "[black](black.md)"


async def test_live_note_is_not_restored_by_its_links(api: NotesApi) -> None:
    await api.note("tea/black.md")
    note = await api.note("tea/green.md", "[black](black.md)")
    response = await note.restore(path="a/b/c.md", rewriteLinks=True)
    assert refusal(response) == (409, "file_live")
    assert await text_of(note) == "[black](black.md)"


async def test_refused_move_changes_no_link(api: NotesApi) -> None:
    target = await api.note("topic.md")
    await api.note("taken.md")
    links = await api.note("a.md", "[it](topic.md)")
    assert refusal(await api.push(move(target, "taken.md"))) == (409, "path_conflict")
    stale = {**move(target, "free.md"), "ifMatch": NOBODYS}
    assert refusal(await api.push(stale)) == (412, "head_moved")
    assert await text_of(links) == "[it](topic.md)"


async def test_repeated_move_has_one_effect_and_one_response(
    api: NotesApi,
) -> None:
    target = await api.note("topic.md")
    links = await api.note("a.md", "[it](topic.md)")
    first = await api.push(move(target, "theme.md"), mutation=NOBODYS)
    again = await api.push(move(target, "theme.md"), mutation=NOBODYS)
    assert (again.status, again.json()) == (200, first.json())
    assert await text_of(links) == "[it](theme.md)"
    without = {**move(target, "theme.md"), "rewriteLinks": False}
    assert refusal(await api.push(without, mutation=NOBODYS)) == (409, "mutation_reused")


async def test_links_older_than_the_index_are_also_rewritten(
    api: NotesApi,
) -> None:
    target = await api.note("topic.md")
    links = [await api.note(f"{n}.md", "[it](topic.md)") for n in range(120)]
    await api.forget_indexes()
    assert (await target.update(path="theme.md", rewriteLinks=True)).status == 200
    assert {await text_of(each) for each in links} == {"[it](theme.md)"}


async def test_move_is_temporarily_refused_when_the_index_is_not_ready(
    api: NotesApi, monkeypatch: pytest.MonkeyPatch
) -> None:
    target = await api.note("topic.md")
    links = await api.note("a.md", "[it](topic.md)")
    await api.forget_indexes()
    with monkeypatch.context() as patch:
        patch.setattr(link_index, "MAX_FILES", 1)
        patch.setattr(indexing, "CATCH_UP_SECONDS", 0.0)
        response = await target.update(path="theme.md", rewriteLinks=True)
    assert refusal(response) == (503, "storage_unavailable")
    assert response.header("retry-after") == "1"
    assert (await target.read()).json()["path"] == "topic.md"
    assert await text_of(links) == "[it](topic.md)"
    assert (await target.update(path="theme.md", rewriteLinks=True)).status == 200
    assert await text_of(links) == "[it](theme.md)"


async def test_link_does_not_lead_to_a_file_restored_with_the_move(
    api: NotesApi,
) -> None:
    restored = await api.note("x.md", "old")
    await restored.delete()
    target = await api.note("a/y.md")
    links = await api.note("n.md", "[[y]]")
    back = {"op": "restore", "fileId": restored.id, "ifMatch": restored.revision}
    assert (await api.push(back, move(target, "b/x.md"))).status == 200
    assert await text_of(links) == "[[b/x]]"


async def test_link_of_a_note_to_itself_is_no_back_link(api: NotesApi) -> None:
    note = await api.note("there.md", "[[there]] [[#top]] [here](there.md)")
    links = (await api.owner.get(f"{note.place}/links")).json()
    assert [each["fileId"] for each in links["outgoing"]] == [note.id] * 3
    assert links["incoming"] == []


async def test_links_without_a_move_are_a_mistake(api: NotesApi) -> None:
    note = await api.note("a.md")
    given = {"text": "x", "rewriteLinks": True}
    response = await api.owner.put(note.place, given, if_match=note.tag)
    assert refusal(response) == (400, "invalid_request")
    assert response.json()["errors"][0]["pointer"] == "/rewriteLinks"
    operation = {"op": "update", "fileId": note.id, "ifMatch": note.revision, **given}
    response = await api.push(operation)
    assert response.json()["errors"][0]["pointer"] == "/operations/0/rewriteLinks"
    await note.delete()
    response = await note.restore(rewriteLinks=True)
    assert response.json()["errors"][0]["pointer"] == "/rewriteLinks"
    operation = {"op": "restore", "fileId": note.id, "ifMatch": note.revision}
    response = await api.push({**operation, "rewriteLinks": True})
    assert response.json()["errors"][0]["pointer"] == "/operations/0/rewriteLinks"
