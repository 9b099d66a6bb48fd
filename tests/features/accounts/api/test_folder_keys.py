"""Keys that are limited to a folder learn of no file outside it, and change none."""

import io
import json
import re
import zipfile
from dataclasses import dataclass, field
from itertools import product

import pytest
from octavo_rules.identity import READ, WRITE

from tests.fakes.asgi_client import Response
from tests.fakes.image_files import encoded, picture
from tests.fakes.notes_api import NOBODYS, Client, Json, Note, NotesApi, refusal, tag_of

_MARK = re.compile(r'"(mark|nextMark)":"[^"]*"')
WORDS = ("zebra", "heron", "otter", "lynx", "bison", "gecko", "raven")
"""They occur outside only, in paths and in texts."""


@pytest.fixture
def key(api: NotesApi) -> Client:
    return api.key(WRITE, folder="tea")


def texts_of(response: Response) -> str:
    """The text of a response, with that of the files in an archive."""
    if response.header("content-type") != "application/zip":
        return response.body.decode("utf-8", "replace")
    with zipfile.ZipFile(io.BytesIO(response.body)) as archive:
        names = archive.namelist()
        return "\n".join((*names, *(archive.read(name).decode("latin-1") for name in names)))


@dataclass
class Secrets:
    """Files outside in every state, and what must not be learned of them."""

    api: NotesApi
    files: dict[str, Note] = field(default_factory=dict)
    hidden: set[str] = field(default_factory=set)

    async def collect(self) -> None:
        """Hide all ids of all revisions of the files."""
        for note in self.files.values():
            page = await self.api.owner.get(f"{note.place}/revisions")
            for each in page.json()["items"]:
                self.hidden |= {each["id"], each["mutationId"]}
                self.hidden |= {each["digest"] or each["id"]}
            self.hidden.add(note.id)


async def secrets(api: NotesApi) -> Secrets:
    """Fill a workspace: two notes in the folder, and every kind of file outside."""
    found = Secrets(api, hidden=set(WORDS))
    inside = await api.note(
        "tea/green.md", "# Green\n[[black]] [[kiwi]] [f](/fig.md) [[none]]", mutationId=api.new_id()
    )
    await api.note("tea/black.md", "[[green]] tide", mutationId=api.new_id())
    live = await api.note(
        "zebra/kiwi.md", "zebra tide [[green]] [[nowhere]]", mutationId=api.new_id()
    )
    await live.update(text="otter tide [[green]] [[nowhere]]")
    near = await api.note("teapot/heron.md", "heron tide", mutationId=api.new_id())
    linked = await api.note("fig.md", "heron tide", mutationId=api.new_id())
    # The best file for a link to its name, for those who see it.
    shadow = await api.note("black.md", "lynx tide", mutationId=api.new_id())
    deleted = await api.note("bison.md", "bison tide", mutationId=api.new_id())
    await deleted.delete()
    purged = await api.note("gecko.md", "gecko tide", mutationId=api.new_id())
    await purged.delete()
    await purged.purge()
    image = await api.owner.post(
        f"{api.place}/attachments/{await api.upload(encoded(picture((2, 2)), 'PNG'))}/finalize",
        {"path": "attachments/raven.png"},
    )
    picture_file = Note(api, image.json()["fileId"], tag_of(image))
    both = [
        {"op": "create", "fileId": api.new_id(), "path": path, "text": "tide"}
        for path in ("tea/oolong.md", "otter.md")
    ]
    pushed = await api.push(*both)
    found.files = {
        "live": live,
        "near": near,
        "linked": linked,
        "shadow": shadow,
        "deleted": deleted,
        "purged": purged,
        "image": picture_file,
        "pushed": Note(api, both[1]["fileId"], pushed.json()["changes"][1]["revision"]["id"]),
    }
    await found.collect()
    found.hidden.discard(pushed.json()["mutationId"])
    found.hidden.discard(pushed.json()["changes"][0]["revision"]["digest"])
    assert inside.id not in found.hidden
    return found


async def insiders(api: NotesApi) -> list[Json]:
    return list((await api.owner.get(f"{api.files}?prefix=tea/")).json()["items"])


async def test_no_operation_reveals_a_file_outside(api: NotesApi, key: Client) -> None:
    outside = await secrets(api)
    reads = [
        "/api/workspaces",
        "/api/search?q=tide",
        *(f"/api/search?q={word}" for word in WORDS),
        api.place,
        *(f"{api.files}?state={state}" for state in ("live", "deleted")),
        *(f"{api.files}?prefix={prefix}" for prefix in ("t", "teapot/", "z", "", "tea/g")),
        *(f"{api.place}/search?q=tide&path={path}" for path in ("", "teapot", "tea", "/")),
        *(f"{api.place}/search?q={word}" for word in WORDS),
        f"{api.place}/links/unresolved",
        *(f"{api.place}/feed?after={a}&limit={n}" for a, n in product(range(13), (1, 2, 100))),
        f"{api.place}/feed?include=text",
        f"{api.place}/snapshot",
        *(f"{api.place}/export?format={each}" for each in ("all", "notes", "history")),
    ]
    for each in await insiders(api):
        place = f"{api.files}/{each['id']}"
        reads += [
            *(f"{place}{rest}" for rest in ("", "?content=text", "/revisions", "/diff", "/links")),
            f"{place}/content",
            f"{place}/revisions/{each['head']['id']}",
            f"{api.place}/receipts/{each['head']['mutationId']}",
        ]
    for target in reads:
        response = await key.get(target)
        assert response.status == 200, (target, response.body)
        # The mark of a position is a revision, of which nothing else is shown.
        shown = _MARK.sub("", texts_of(response))
        assert {each for each in outside.hidden if each in shown} == set(), target


async def test_file_outside_reads_like_one_that_does_not_exist(api: NotesApi, key: Client) -> None:
    outside = await secrets(api)
    for note in outside.files.values():
        revisions = (await api.owner.get(f"{note.place}/revisions")).json()["items"]
        revision, mutation = revisions[-1]["id"], revisions[-1]["mutationId"]
        if mutation not in outside.hidden:
            # The change of a file inside is of the same changeset.
            mutation = NOBODYS
        guarded = {"if_match": note.tag}
        reads: list[tuple[str, str, Json | None, dict[str, str]]] = [
            ("GET", f"{note.place}", None, {}),
            ("GET", f"{note.place}", None, {"if_none_match": note.tag}),
            ("GET", f"{note.place}?content=text", None, {}),
            ("GET", f"{note.place}/revisions", None, {}),
            ("GET", f"{note.place}/revisions/{revision}", None, {}),
            ("GET", f"{note.place}/diff", None, {}),
            ("GET", f"{note.place}/diff?new={revision}", None, {}),
            ("GET", f"{note.place}/links", None, {}),
            ("GET", f"{note.place}/content", None, {}),
            ("GET", f"{note.place}/content?revision={revision}", None, {}),
            ("GET", f"{api.place}/receipts/{mutation}", None, {}),
            ("POST", f"{api.files}/read", {"fileIds": [note.id]}, {}),
            ("POST", f"{api.files}/read", {"fileIds": [note.id], "content": "full"}, {}),
            ("POST", f"{api.files}/read", {"revisionIds": [revision]}, {}),
            ("PUT", note.place, {"text": "new"}, guarded),
            ("PUT", note.place, {"path": "tea/new.md"}, guarded),
            ("PUT", note.place, {"path": "tea/new.md", "rewriteLinks": True}, guarded),
            ("DELETE", note.place, None, guarded),
            ("POST", f"{note.place}/restore", {}, guarded),
            ("POST", f"{note.place}/restore", {"path": "tea/new.md"}, guarded),
            ("POST", f"{note.place}/restore", {"revisionId": revision}, guarded),
            ("POST", f"{note.place}/saves", {"epoch": revision, "update": "AAA="}, {}),
        ]
        for method, target, document, headers in reads:
            asked = await key.ask(method, target, document, **headers)
            names = {note.id: NOBODYS, revision: NOBODYS, mutation: NOBODYS, note.revision: NOBODYS}
            unknown = await key.ask(
                method,
                renamed(target, names),
                None if document is None else json.loads(renamed(json.dumps(document), names)),
                **{name: renamed(value, names) for name, value in headers.items()},
            )
            assert asked.status == unknown.status, (target, asked.body)
            assert renamed(asked.body.decode(), names) == unknown.body.decode()
            assert asked.status in (400, 404) or target.endswith("/read")
        before = await api.owner.get(f"{note.place}/revisions")
        assert before.json()["items"] == revisions


def renamed(text: str, names: dict[str, str]) -> str:
    for name, other in names.items():
        text = text.replace(name, other)
    return text


async def test_id_of_a_file_outside_is_taken_and_nothing_more_is_said(
    api: NotesApi, key: Client
) -> None:
    outside = await secrets(api)
    for note in outside.files.values():
        body = {"fileId": note.id, "path": "tea/new.md", "text": ""}
        response = await key.post(api.files, body)
        assert refusal(response) == (409, "file_exists")
        assert response.json()["detail"] == f"The id {note.id} belongs to a file: use another id."


async def test_key_writes_within_its_folder(api: NotesApi, key: Client) -> None:
    created = await key.post(api.files, {"path": "tea/a.md", "text": "one"})
    assert created.status == 201
    place = f"{api.files}/{created.json()['fileId']}"
    moved = await key.put(
        place, {"path": "Tea/b.md", "rewriteLinks": True}, if_match=tag_of(created)
    )
    assert moved.status == 200, moved.body
    deleted = await key.delete(place, if_match=tag_of(moved))
    restored = await key.post(f"{place}/restore", {}, if_match=tag_of(deleted))
    earlier = {"revisionId": created.json()["revision"]["id"]}
    again = await key.post(f"{place}/restore", earlier, if_match=tag_of(restored))
    assert (deleted.status, restored.status, again.status) == (200, 200, 200)
    document = (await key.get(place)).json()["document"]
    saved = await key.post(f"{place}/saves", {"epoch": document["epoch"], "update": "AAA="})
    assert saved.status == 200


@pytest.mark.parametrize("path", ["a.md", "teapot/a.md", "tea.md", "other/tea/a.md"])
async def test_path_outside_is_refused(api: NotesApi, key: Client, path: str) -> None:
    note = await api.note("tea/note.md")
    gone = await api.note("tea/gone.md")
    await gone.delete()
    for response in (
        await key.post(api.files, {"path": path, "text": ""}),
        await key.put(note.place, {"path": path}, if_match=note.tag),
        await key.post(f"{gone.place}/restore", {"path": path}, if_match=gone.tag),
    ):
        assert refusal(response) == (403, "insufficient_scope")
        assert "limited to the folder tea" in response.json()["detail"]


async def test_changeset_is_refused_whole_for_one_file_outside(api: NotesApi, key: Client) -> None:
    other = await api.note("a.md")
    create = {"op": "create", "fileId": api.new_id(), "path": "tea/new.md", "text": ""}
    update = {"op": "update", "fileId": other.id, "ifMatch": other.revision, "text": "new"}
    document = {"mutationId": api.new_id(), "operations": [create, update]}
    response = await key.post(f"{api.place}/changesets", document)
    assert refusal(response) == (404, "not_found")
    assert response.json()["fileIds"] == [other.id]
    assert await insiders(api) == []


async def test_occupied_path_in_the_folder_is_a_conflict(api: NotesApi, key: Client) -> None:
    await api.note("tea/a.md")
    response = await key.post(api.files, {"path": "Tea/A.md", "text": ""})
    assert refusal(response) == (409, "path_conflict")


async def test_move_that_would_rewrite_notes_outside_is_refused_whole(
    api: NotesApi, key: Client
) -> None:
    moving = await api.note("tea/a.md")
    linking = await api.note("zebra.md", "[a](tea/a.md)")
    move = {"path": "tea/b.md", "rewriteLinks": True}
    refused = await key.put(moving.place, move, if_match=moving.tag)
    assert refusal(refused) == (403, "insufficient_scope")
    assert "move without rewriteLinks" in refused.json()["detail"]
    assert "zebra" not in refused.body.decode()
    assert linking.id not in refused.body.decode()
    assert (await moving.read()).json()["path"] == "tea/a.md"
    alone = await key.put(moving.place, {"path": "tea/b.md"}, if_match=moving.tag)
    assert alone.status == 200
    assert (await linking.read()).json()["text"] == "[a](tea/a.md)"


async def test_move_that_would_write_the_path_of_a_file_outside_is_refused(
    api: NotesApi, key: Client
) -> None:
    await api.note("zebra/note.md")
    await api.note("tea/linking.md", "[[note]]")
    moving = await api.note("tea/a.md")
    move = {"path": "tea/note.md", "rewriteLinks": True}
    refused = await key.put(moving.place, move, if_match=moving.tag)
    assert refusal(refused) == (403, "insufficient_scope")
    assert "zebra" not in refused.body.decode()


async def test_move_rewrites_links_within_the_folder(api: NotesApi, key: Client) -> None:
    moving = await api.note("tea/a.md")
    linking = await api.note("tea/linking.md", "[[a]]")
    await api.note("other.md", "[[nothing]]")
    move = {"path": "tea/b.md", "rewriteLinks": True}
    assert (await key.put(moving.place, move, if_match=moving.tag)).status == 200
    assert (await linking.read()).json()["text"] == "[[b]]"


async def test_file_that_leaves_the_folder_is_deleted_in_the_feed(
    api: NotesApi, key: Client
) -> None:
    note = await api.note("tea/a.md")
    before = (await key.get(f"{api.place}/feed")).json()
    await note.update(path="zebra.md", text="zebra")
    after = (await key.get(f"{api.place}/feed?after={before['next']}&include=text")).json()
    [entry] = after["entries"]
    assert (entry["fileId"], entry["state"], entry["path"]) == (note.id, "deleted", "tea/a.md")
    assert entry["text"] is None
    await note.update(text="heron")
    later = (await key.get(f"{api.place}/feed?after={after['next']}")).json()
    assert (later["entries"], later["next"]) == ([], later["position"])
    assert refusal(await key.get(note.place)) == (404, "not_found")
    assert refusal(await key.get(f"{note.place}/revisions")) == (404, "not_found")


async def test_receipt_has_the_visible_changes_only(api: NotesApi, key: Client) -> None:
    operations = [
        {"op": "create", "fileId": api.new_id(), "path": path, "text": ""}
        for path in ("zebra.md", "tea/a.md", "heron.md")
    ]
    mutation = api.new_id()
    await api.push(*operations, mutation=mutation)
    receipt = await key.get(f"{api.place}/receipts/{mutation}")
    assert [each["path"] for each in receipt.json()["changes"]] == ["tea/a.md"]
    # The same changeset, sent again with a key of the folder.
    document = {"mutationId": mutation, "operations": operations}
    repeated = await key.post(f"{api.place}/changesets", document)
    assert "zebra" not in json.dumps(repeated.json().get("changes", []))


async def test_link_that_leads_outside_looks_unresolved(api: NotesApi, key: Client) -> None:
    await api.note("zebra.md", "[[a]]")
    note = await api.note("tea/a.md", "[[zebra]]")
    links = (await key.get(f"{note.place}/links")).json()
    [outgoing] = links["outgoing"]
    assert (outgoing["fileId"], outgoing["path"], links["incoming"]) == (None, None, [])
    [broken] = (await key.get(f"{api.place}/links/unresolved")).json()["items"]
    assert broken["target"] == "zebra"


async def test_snapshot_and_export_have_the_folder_alone(api: NotesApi, key: Client) -> None:
    note = await api.note("zebra.md", "zebra")
    await note.update(path="tea/moved.md", text="tea")
    await api.note(".history/heron.md", "heron")
    lines = [
        json.loads(each) for each in (await key.get(f"{api.place}/snapshot")).body.splitlines()
    ]
    assert [each.get("path") for each in lines] == ["tea/moved.md", None]
    assert lines[-1]["files"] == 1
    exported = await key.get(f"{api.place}/export?format=history")
    with zipfile.ZipFile(io.BytesIO(exported.body)) as archive:
        assert archive.namelist() == ["tea/moved.md"]
        assert archive.comment.endswith(b"in .history")


async def test_reading_key_of_a_folder_reads_alone(api: NotesApi) -> None:
    note = await api.note("tea/a.md")
    key = api.key(READ, folder="tea")
    assert (await key.get(note.place)).status == 200
    response = await key.put(note.place, {"text": "new"}, if_match=note.tag)
    assert refusal(response) == (403, "insufficient_scope")
