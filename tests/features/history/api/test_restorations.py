"""Restoring a workspace, or a folder of it, to a moment."""

from collections.abc import Awaitable, Callable
from datetime import UTC, datetime
from typing import Any
from urllib.parse import urlencode

import pytest
import trio
from greenroom import Directory
from octavo_rules.content import NoteText
from octavo_rules.identity import ContentId, FileId
from octavo_rules.problems import DocumentTooLarge
from trio.testing import wait_all_tasks_blocked

from octavo.actors.workspace.messages import Push
from octavo.documents.document_batch import DocumentBatch
from octavo.features.history import job
from octavo.features.history.rules.restoration import Begun, Restoration
from octavo.features.history.sql.past_states import StatesSince
from octavo.features.history.sql.restorations import MAX_LEFT, RestorationKey
from tests.fakes.asgi_client import Response
from tests.fakes.identity_fixture import START
from tests.fakes.image_files import encoded, picture
from tests.fakes.notes_api import Client, Json, Note, NotesApi, account_id, refusal, tag_of

SECONDS = 60.0
PNG, JPEG = encoded(picture((30, 20)), "PNG"), encoded(picture((30, 20)), "JPEG")
# What is reported of a file that was changed during a restoration.
LEFT = {
    "purge": (None, "purged"),
    "restore": ("a.md", "changed_since"),
    "delete": ("a.md", "changed_since"),
}
OTHER = "01900000-0000-7000-8000-aaaaaaaaaaaa"


def stamp(seconds: float) -> str:
    return datetime.fromtimestamp(seconds, UTC).isoformat(timespec="milliseconds")


async def contents(api: NotesApi) -> dict[str, str]:
    """The texts of all live notes, by their paths."""
    listed = await api.owner.pages(api.files, 100)
    found = {}
    for each in listed:
        file = (await api.owner.get(f"{api.files}/{each['id']}?content=text")).json()
        found[each["path"]] = file["text"]
    return found


async def position(api: NotesApi) -> int:
    return int((await api.owner.get(f"{api.place}/feed")).json()["position"])


def create(api: NotesApi, path: str) -> Json:
    """An operation that creates a note."""
    return {"op": "create", "fileId": api.new_id(), "path": path, "text": "x"}


async def restore(api: NotesApi, who: Client | None = None, /, **asked: object) -> Response:
    return await (who or api.owner).post(f"{api.place}/restorations", asked)


async def done(api: NotesApi, **asked: object) -> Json:
    """The result of a restoration that ends at once."""
    response = await restore(api, **asked)
    assert response.status == 201, response.body
    result: Json = response.json()
    assert result["state"] == "done", result
    return result


async def preview(api: NotesApi, **asked: object) -> Json:
    response = await api.owner.get(f"{api.place}/restorations/preview?{urlencode(asked)}")
    assert response.status == 200, response.body
    found: Json = response.json()
    return found


def left(result: Json) -> list[tuple[str | None, str]]:
    return [(each["path"], each["reason"]) for each in result["left"]]


async def changed_vault(api: NotesApi) -> tuple[dict[str, str], int]:
    """Notes that were created, changed, moved and deleted since a position; what they were then."""
    text, moved = await api.note("a.md", "A."), await api.note("b.md", "B.")
    deleted = await api.note("c.md", "C.")
    await api.note("untouched.md", "Mine.")
    before, then = await contents(api), await position(api)
    await text.update(text="Something else.")
    await moved.update(path="moved/b.md")
    await deleted.delete()
    await api.note("b.md", "In its place.")
    assert await contents(api) != before
    return before, then


async def test_restoration_returns_all_to_the_position(api: NotesApi) -> None:
    before, then = await changed_vault(api)
    present = await position(api)
    result = await done(api, position=then)
    assert await contents(api) == before
    assert (result["total"], result["done"], left(result)) == (4, 4, [])
    assert (result["positionBefore"], result["positionAfter"]) == (present, present + 1)
    assert await position(api) == present + 1


async def test_revisions_of_a_restoration_say_so(api: NotesApi) -> None:
    note = await api.note("a.md", "1")
    then = await position(api)
    await note.update(text="2")
    await done(api, position=then)
    revisions = (await api.owner.get(f"{note.place}/revisions")).json()["items"]
    assert [each["origin"] for each in revisions] == ["restore", "device", "device"]


async def test_restoration_to_the_position_before_undoes_one(api: NotesApi) -> None:
    _, then = await changed_vault(api)
    after = await contents(api)
    first = await done(api, position=then)
    await done(api, position=first["positionBefore"])
    assert await contents(api) == after


async def test_moment_stands_for_the_last_change_until_then(api: NotesApi) -> None:
    note = await api.note("a.md", "1")
    api.sources.time += SECONDS
    await note.update(text="2")
    api.sources.time += SECONDS
    await note.update(text="3")
    found = await preview(api, moment=stamp(START + SECONDS + 1))
    await done(api, moment=stamp(START + SECONDS + 1))
    assert await contents(api) == {"a.md": "2"}
    assert found["position"] == 2


async def test_preview_says_what_the_restoration_does(api: NotesApi) -> None:
    _, then = await changed_vault(api)
    found = await preview(api, position=then)
    assert [(each["path"], each["action"], each["pathAfter"]) for each in found["items"]] == [
        ("a.md", "reverted", "a.md"),
        ("b.md", "deleted", None),
        ("c.md", "restored", "c.md"),
        ("moved/b.md", "reverted", "b.md"),
    ]
    assert (found["deleted"], found["restored"], found["reverted"]) == (1, 1, 2)
    assert (found["left"], found["leftCount"]) == ([], 0)


async def test_pages_of_the_preview_have_every_file_once(api: NotesApi) -> None:
    _, then = await changed_vault(api)
    items = await api.owner.pages(f"{api.place}/restorations/preview?position={then}", 1)
    assert [each["path"] for each in items] == ["a.md", "b.md", "c.md", "moved/b.md"]


async def test_restoration_of_a_folder_leaves_other_files(api: NotesApi) -> None:
    inside, outside = await api.note("in/a.md", "1"), await api.note("out.md", "1")
    leaves, comes = await api.note("in/b.md", "b"), await api.note("c.md", "c")
    then = await position(api)
    await inside.update(text="2")
    await outside.update(text="2")
    await leaves.update(path="b.md")
    await comes.update(path="in/c.md")
    await done(api, position=then, folder="in")
    assert await contents(api) == {"in/a.md": "1", "out.md": "2", "in/b.md": "b", "c.md": "c"}


async def test_paths_that_were_swapped_are_swapped_back(api: NotesApi) -> None:
    one, two = await api.note("1.md", "one"), await api.note("2.md", "two")
    then = await position(api)
    response = await api.push(
        {"op": "update", "fileId": one.id, "ifMatch": one.revision, "path": "2.md"},
        {"op": "update", "fileId": two.id, "ifMatch": two.revision, "path": "1.md"},
    )
    assert response.status == 200
    await done(api, position=then)
    assert await contents(api) == {"1.md": "one", "2.md": "two"}


async def test_files_whose_paths_others_have_are_left_and_named(api: NotesApi) -> None:
    same, below = await api.note("out/a.md", "a"), await api.note("b.md", "b")
    then = await position(api)
    await same.update(path="in/a.md")
    await below.update(path="in/b.md")
    # Others have their paths, outside of the folder that is restored.
    await api.note("out/A.md", "another")
    await api.note("b.md/x.md", "another")
    before = await contents(api)
    result = await done(api, position=then, folder="in")
    assert left(result) == [("in/a.md", "path_taken"), ("in/b.md", "path_taken")]
    assert await contents(api) == before


async def test_purged_files_are_named(api: NotesApi) -> None:
    note = await api.note("a.md", "1")
    then = await position(api)
    await note.delete()
    await note.purge()
    result = await done(api, position=then)
    assert left(result) == [(None, "purged")]


async def test_replaced_image_comes_back(api: NotesApi) -> None:
    uploaded = f"{api.place}/attachments/{await api.upload(PNG)}/finalize"
    made = (await api.owner.post(uploaded, {"path": "attachments/a.png"})).json()
    then = await position(api)
    attach = {
        "op": "attach",
        "fileId": made["fileId"],
        "objectId": await api.upload(JPEG, "a.jpg", "image/jpeg"),
        "path": "attachments/a.jpg",
        "ifMatch": made["revision"]["id"],
    }
    assert (await api.push(attach)).status == 200
    result = await done(api, position=then)
    assert (result["done"], left(result)) == (1, [])
    response = await api.owner.get(f"{api.files}/{made['fileId']}/content")
    assert (response.body, response.header("content-type")) == (PNG, "image/png")
    head = (await api.owner.get(f"{api.files}/{made['fileId']}")).json()
    assert head["path"] == "attachments/a.png"
    await done(api, position=result["positionBefore"])
    response = await api.owner.get(f"{api.files}/{made['fileId']}/content")
    assert (response.body, response.header("content-type")) == (JPEG, "image/jpeg")


@pytest.mark.parametrize("files", [9, 20])
async def test_restoration_of_many_files_is_several_changesets(api: NotesApi, files: int) -> None:
    notes = [await api.note(f"{at}.md", str(at)) for at in range(files)]
    before, then = await contents(api), await position(api)
    # Each gets the path of the next: no order of single moves is valid.
    response = await api.push(
        *(
            {
                "op": "update",
                "fileId": note.id,
                "ifMatch": note.revision,
                "path": f"{(at + 1) % files}.md",
            }
            for at, note in enumerate(notes)
        )
    )
    assert response.status == 200
    present = await position(api)
    result = await done(api, position=then)
    assert await contents(api) == before
    assert (result["total"], result["done"], left(result)) == (files, files, [])
    assert result["positionAfter"] > present + 3
    found = await api.owner.get(f"{api.place}/restorations/{result['restorationId']}")
    assert found.json() == result


async def test_restoration_sent_again_has_one_effect(api: NotesApi) -> None:
    note = await api.note("a.md", "1")
    then = await position(api)
    await note.update(text="2")
    mutation = api.new_id()
    first = await done(api, position=then, mutationId=mutation)
    head = (await note.read()).json()["head"]["id"]
    assert first["restorationId"] == mutation
    assert await done(api, position=then, mutationId=mutation) == first
    assert (await note.read()).json()["head"]["id"] == head


async def test_mutation_id_of_another_change_is_refused(api: NotesApi) -> None:
    used, mutation = api.new_id(), api.new_id()
    await api.note("a.md", mutationId=used)
    assert refusal(await restore(api, position=0, mutationId=used)) == (409, "mutation_reused")
    await done(api, position=1, mutationId=mutation)
    for other in ({"position": 0}, {"position": 1, "folder": "a"}, {"moment": stamp(START)}):
        response = await restore(api, mutationId=mutation, **other)
        assert refusal(response) == (409, "mutation_reused")


@pytest.mark.parametrize(
    ("asked", "pointer", "words"),
    [
        ({}, "/moment", "a moment or a position"),
        ({"moment": stamp(START), "position": 0}, "/moment", "a moment or a position"),
        ({"moment": stamp(START - 31 * 86_400)}, "/moment", "give a moment after"),
        ({"position": 7}, "/position", "no such position"),
    ],
)
async def test_moment_that_cannot_be_restored_is_refused(
    api: NotesApi, asked: Json, pointer: str, words: str
) -> None:
    response = await restore(api, **asked)
    assert refusal(response) == (400, "invalid_request")
    [error] = response.json()["errors"]
    assert error["pointer"] == pointer
    assert words in error["message"]
    query = f"{api.place}/restorations/preview?{urlencode(asked)}"
    [error] = (await api.owner.get(query)).json()["errors"]
    assert error["pointer"] == f"/query{pointer}"


@pytest.mark.parametrize("folder", ["/", "//", "../in", "in//out", "in/.."])
async def test_folder_without_a_name_is_not_the_whole_workspace(api: NotesApi, folder: str) -> None:
    await api.note("in/a.md")
    assert refusal(await restore(api, position=0, folder=folder)) == (422, "invalid_path")
    query = urlencode({"position": 0, "folder": folder})
    preview = await api.owner.get(f"{api.place}/restorations/preview?{query}")
    assert refusal(preview) == (422, "invalid_path")
    assert "in/a.md" in await contents(api)


@pytest.mark.parametrize("folder", ["in", "in/", "/in", "IN"])
async def test_folder_is_restored_however_it_is_written(api: NotesApi, folder: str) -> None:
    await api.note("in/a.md")
    await api.note("inside.md")
    await done(api, position=0, folder=folder)
    assert [*await contents(api)] == ["inside.md"]


async def test_position_before_the_kept_time_is_refused(api: NotesApi) -> None:
    note = await api.note("a.md", "1")
    await note.update(text="2")
    api.sources.time += 31 * 86_400
    assert refusal(await restore(api, position=1)) == (400, "invalid_request")
    # Nothing changed after this one.
    assert (await done(api, position=2))["total"] == 0


async def test_account_that_may_not_write_any_more_stops_it(api: NotesApi) -> None:
    note = await api.note("a.md", "1")
    await note.update(text="2")
    await api.execute("UPDATE accounts SET state = 'locked'")
    mutation = api.new_id()
    response = await restore(api, position=1, mutationId=mutation)
    assert response.json()["state"] == "failed"
    assert response.json()["failure"]["code"] == "forbidden"
    await api.execute("UPDATE accounts SET state = 'enabled'")
    assert (await done(api, position=1, mutationId=mutation))["done"] == 1
    assert await contents(api) == {"a.md": "1"}


async def rotated(api: NotesApi, files: int = 20) -> tuple[list[Note], int]:
    """Notes that got the paths of each other, in one circle; their position before."""
    notes = [await api.note(f"{at}.md", str(at)) for at in range(files)]
    then = await position(api)
    moves = [
        {
            "op": "update",
            "fileId": note.id,
            "ifMatch": note.revision,
            "path": f"{(at + 1) % files}.md",
        }
        for at, note in enumerate(notes)
    ]
    assert (await api.push(*moves)).status == 200
    return notes, then


def around_changesets(
    monkeypatch: pytest.MonkeyPatch,
    before: Callable[[], Awaitable[object]] = trio.lowlevel.checkpoint,
    after: Callable[[], Awaitable[object]] = trio.lowlevel.checkpoint,
) -> list[int]:
    """Do something else before and after each changeset that a restoration tries.

    Returns the number of files of each.
    """
    ask, tried = Directory.ask, list[int]()

    async def attempt(self: Any, key: Any, message: Any, **named: Any) -> object:  # noqa: ANN401
        if not isinstance(message, Push) or message.changeset.origin != "restore":
            return await ask(self, key, message, **named)
        tried.append(len(message.changeset.operations))
        await before()
        try:
            return await ask(self, key, message, **named)
        finally:
            await after()

    monkeypatch.setattr(Directory, "ask", attempt)
    return tried


def interrupt(
    monkeypatch: pytest.MonkeyPatch, at: int, act: Callable[[], Awaitable[object]]
) -> None:
    """Do something else after a number of changesets of restorations."""

    async def act_once() -> None:
        if len(tried) == at:
            await act()

    tried = around_changesets(monkeypatch, after=act_once)


async def test_restoration_that_stopped_midway_goes_on_as_another_account(
    api: NotesApi, monkeypatch: pytest.MonkeyPatch
) -> None:
    notes, then = await rotated(api)
    await api.member("editor", "editor")
    editor, mutation = api.client("editor"), api.new_id()

    async def demote() -> None:
        await api.execute(
            "UPDATE members SET role = 'reader' WHERE account_id = $1::uuid", account_id("editor")
        )

    interrupt(monkeypatch, 2, demote)
    stopped = (await restore(api, editor, position=then, mutationId=mutation)).json()
    assert (stopped["state"], stopped["failure"]["code"]) == ("failed", "forbidden")
    assert (stopped["accountId"], stopped["continuedBy"]) == (account_id("editor"), None)
    # Only one file of the circle is deleted for the others, and it is named.
    [deleted] = await api.owner.pages(f"{api.files}?state=deleted", 100)
    assert (left(stopped), stopped["leftCount"]) == ([(deleted["path"], "still_deleted")], 1)
    found = await api.owner.get(f"{api.place}/restorations/{mutation}")
    assert found.json() == stopped
    assert (await restore(api, editor, position=then, mutationId=mutation)).status == 403
    result = await done(api, position=then, mutationId=mutation)
    assert (result["accountId"], result["continuedBy"]) == (
        account_id("editor"),
        account_id("owner"),
    )
    assert (result["total"], result["done"], left(result)) == (20, 20, [])
    assert await contents(api) == {f"{at}.md": str(at) for at in range(20)}
    heads = [(await note.read()).json()["head"] for note in notes]
    authors = [each["author"] for each in sorted(heads, key=lambda each: int(each["position"]))]
    assert authors == [account_id("editor")] * 5 + [account_id("owner")] * 15


async def test_restoration_goes_on_at_once_while_the_run_that_failed_still_ends(
    api: NotesApi, monkeypatch: pytest.MonkeyPatch, nursery: trio.Nursery
) -> None:
    note = await api.note("a.md", "1")
    await note.update(text="2")
    await api.execute("UPDATE accounts SET state = 'locked'")
    mutation, stop = api.new_id(), job.RestorationRunner.stop
    answered = trio.Event()
    result: Json = {}

    async def go_on() -> None:
        result.update((await restore(api, position=1, mutationId=mutation)).json())
        answered.set()

    async def stop_slowly(
        self: job.RestorationRunner, key: RestorationKey, code: str, detail: str
    ) -> None:
        await stop(self, key, code, detail)
        await api.execute("UPDATE accounts SET state = 'enabled'")
        nursery.start_soon(go_on)
        await wait_all_tasks_blocked()

    monkeypatch.setattr(job.RestorationRunner, "stop", stop_slowly)
    await restore(api, position=1, mutationId=mutation)
    await answered.wait()
    assert (result["state"], result["done"]) == ("done", 1)


async def test_restoration_that_stopped_midway_can_be_undone(
    api: NotesApi, monkeypatch: pytest.MonkeyPatch
) -> None:
    _, then = await rotated(api)
    before = await contents(api)

    async def lock() -> None:
        await api.execute("UPDATE accounts SET state = 'locked'")

    interrupt(monkeypatch, 2, lock)
    stopped = (await restore(api, position=then)).json()
    assert stopped["state"] == "failed"
    await api.execute("UPDATE accounts SET state = 'enabled'")
    assert await contents(api) != before
    await done(api, position=stopped["positionBefore"])
    assert await contents(api) == before


@pytest.mark.parametrize("former_path_is_free", [True, False])
@pytest.mark.parametrize("reason", ["path_taken", "unacceptable"])
async def test_file_that_was_deleted_for_now_and_cannot_return_is_reinstated_or_named(
    api: NotesApi, monkeypatch: pytest.MonkeyPatch, former_path_is_free: bool, reason: str
) -> None:
    notes, then = await rotated(api)
    for note in notes:
        note.tag = tag_of(await note.read())
        assert (await note.update(text="changed")).status == 200
    away: Json = {}
    theirs: set[str] = set()

    def refuse(
        self: DocumentBatch, file_id: FileId, content_id: ContentId, content: NoteText
    ) -> None:
        raise DocumentTooLarge("Its document would be too large.")

    async def keep_from_returning() -> None:
        """Keep the file away that was deleted for now, after all others have returned."""
        [deleted] = await api.owner.pages(f"{api.files}?state=deleted", 100)
        away.update(deleted)
        if former_path_is_free:
            there = notes[int(away["path"].removesuffix(".md"))]
            there.tag = tag_of(await there.read())
            assert (await there.update(path="elsewhere.md")).status == 200
            theirs.add(there.id)
        if reason == "unacceptable":
            monkeypatch.setattr(DocumentBatch, "write", refuse)
        else:
            [at] = [at for at, note in enumerate(notes) if note.id == away["id"]]
            theirs.add((await api.note(f"{at}.md", "another")).id)

    interrupt(monkeypatch, 7, keep_from_returning)
    result = await done(api, position=then)
    reported = {each["fileId"]: each["reason"] for each in result["left"]}
    response = await api.owner.get(f"{api.files}/{away['id']}?content=text")
    assert reported == {
        **dict.fromkeys(theirs, "changed_since"),
        away["id"]: reason if former_path_is_free else "still_deleted",
    }
    if former_path_is_free:
        assert (response.json()["path"], response.json()["text"]) == (away["path"], "changed")
        assert result["done"] == 18
    else:
        assert response.status == 404
        assert result["done"] == 19


async def test_restoration_returns_files_while_others_change_one_before_each_attempt(
    api: NotesApi, monkeypatch: pytest.MonkeyPatch
) -> None:
    notes = [await api.note(f"{at}.md", "then") for at in range(8)]
    then = await position(api)
    for note in notes:
        await note.update(text="now")
    theirs: list[Note] = []

    async def write_to_the_last() -> None:
        for note in reversed(notes):
            if note not in theirs and (await note.update(text="theirs")).status == 200:
                theirs.append(note)
                return

    tried = around_changesets(monkeypatch, write_to_the_last)
    result = await done(api, position=then)
    assert tried == [8, 3, 3, 1]
    assert result["done"] == 4
    assert left(result) == [(f"{at}.md", "changed_since") for at in (4, 5, 6, 7)]


async def test_restoration_returns_the_others_while_the_path_of_one_is_taken_and_left(
    api: NotesApi, monkeypatch: pytest.MonkeyPatch
) -> None:
    other = await api.note("elsewhere.md")
    notes = [await api.note(f"{at}.md") for at in range(8)]
    then = await position(api)
    for at, note in enumerate(notes):
        await note.update(path=f"moved/{at}.md")

    async def leave() -> None:
        await other.update(path="elsewhere.md")

    async def take() -> None:
        if len(tried) < 10:
            await other.update(path="0.md")

    tried = around_changesets(monkeypatch, take, leave)
    result = await done(api, position=then)
    assert tried == [8, 3, 1, 1, 2, 3, 2, 1, 1, 1]
    assert (result["done"], left(result)) == (8, [])


async def test_restoration_that_was_interrupted_for_too_long_stops(api: NotesApi) -> None:
    note = await api.note("a.md", "1")
    await note.update(text="2")
    mutation = api.new_id()
    await done(api, position=1, mutationId=mutation)
    await api.execute("UPDATE restorations SET state = 'failed', failure = '[\"a\", \"b\"]'")
    api.sources.time += 31 * 86_400
    found = (await restore(api, position=1, mutationId=mutation)).json()
    assert (found["state"], found["failure"]["code"]) == ("failed", "history_pruned")


async def test_storage_that_is_full_stops_it_and_room_lets_it_go_on(api: NotesApi) -> None:
    note = await api.note("a.md", "x" * 100)
    await note.update(text="2")
    await api.execute("UPDATE accounts SET storage_limit = 50")
    api.storage.forget_account(account_id("owner"))
    mutation = api.new_id()
    found = (await restore(api, position=1, mutationId=mutation)).json()
    assert (found["state"], found["failure"]["code"]) == ("failed", "storage_limit")
    await api.execute("UPDATE accounts SET storage_limit = NULL")
    api.storage.forget_account(account_id("owner"))
    assert (await done(api, position=1, mutationId=mutation))["done"] == 1


async def test_note_that_exceeds_a_present_limit_is_left_and_named(
    api: NotesApi, monkeypatch: pytest.MonkeyPatch
) -> None:
    long, short = await api.note("long.md", "x" * 50), await api.note("short.md", "x")
    await long.update(text="y")
    await short.update(text="y")

    write = DocumentBatch.write

    def refuse(
        self: DocumentBatch, file_id: FileId, content_id: ContentId, content: NoteText
    ) -> None:
        if content.size > 10:
            raise DocumentTooLarge("Its document would be too large.")
        write(self, file_id, content_id, content)

    monkeypatch.setattr(DocumentBatch, "write", refuse)
    result = await done(api, position=2)
    assert left(result) == [("long.md", "unacceptable")]
    assert await contents(api) == {"long.md": "y", "short.md": "x"}


async def test_more_refused_files_than_there_are_attempts_are_all_left_and_named(
    api: NotesApi, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each refusal names one file, and is no failed attempt: the next one is without that file."""
    names = [f"{number:02}.md" for number in range(job.MAX_ATTEMPTS + 5)]
    notes = [await api.note(name, "x" * 50) for name in names]
    short = await api.note("short.md", "x")
    then = await position(api)
    for note in (*notes, short):
        await note.update(text="y")
    write = DocumentBatch.write

    def refuse(
        self: DocumentBatch, file_id: FileId, content_id: ContentId, content: NoteText
    ) -> None:
        if content.size > 10:
            raise DocumentTooLarge("Its document would be too large.")
        write(self, file_id, content_id, content)

    monkeypatch.setattr(DocumentBatch, "write", refuse)
    result = await done(api, position=then)
    assert left(result) == [(name, "unacceptable") for name in names]
    assert (result["leftCount"], result["done"]) == (len(names), 1)
    assert (await contents(api))["short.md"] == "x"


async def test_only_the_first_of_many_files_that_are_left_are_named(api: NotesApi) -> None:
    names = [f"{number:03}.md" for number in range(MAX_LEFT + 10)]
    half = len(names) // 2
    moved = []
    for some in (names[:half], names[half:]):
        made = await api.push(*(create(api, f"out/{name}") for name in some))
        moved += [
            {
                "op": "update",
                "fileId": each["fileId"],
                "ifMatch": each["revision"]["id"],
                "path": each["path"].replace("out/", "in/"),
            }
            for each in made.json()["changes"]
        ]
    then = await position(api)
    for moves, some in ((moved[:half], names[:half]), (moved[half:], names[half:])):
        assert (await api.push(*moves)).status == 200
        # Others have their paths, outside of the folder that is restored.
        assert (await api.push(*(create(api, f"out/{name}") for name in some))).status == 200
    expected = [(f"in/{name}", "path_taken") for name in names[:MAX_LEFT]]
    ahead = await preview(api, position=then, folder="in")
    assert (left(ahead), ahead["leftCount"]) == (expected, len(names))
    result = await done(api, position=then, folder="in")
    found = (await api.owner.get(f"{api.place}/restorations/{result['restorationId']}")).json()
    for each in (result, found):
        assert (left(each), each["leftCount"]) == (expected, len(names))
    [row] = (await listed(api))["items"]
    assert row["leftCount"] == len(names)


@pytest.mark.parametrize("meanwhile", ["purge", "restore", "delete"])
async def test_file_that_comes_back_or_goes_meanwhile_is_left(
    api: NotesApi, monkeypatch: pytest.MonkeyPatch, meanwhile: str
) -> None:
    note, other = await api.note("a.md", "1"), await api.note("b.md", "1")
    then = await position(api)
    for each in (note, other):
        await each.update(text="2")
        if meanwhile != "delete":
            await each.delete()
    plan, plans = job.plan, 0

    async def interfered(
        states: StatesSince, folder: str, begun: Begun | None = None
    ) -> Restoration:
        nonlocal plans
        plans += 1
        planned = await plan(states, folder, begun)
        if plans == 1:
            change = {"purge": note.purge, "restore": note.restore, "delete": note.delete}
            assert (await change[meanwhile]()).status == 200
        return planned

    monkeypatch.setattr(job, "plan", interfered)
    result = await done(api, position=then)
    assert plans > 1
    assert left(result) == [LEFT[meanwhile]]
    assert (await contents(api))["b.md"] == "1"


async def test_unknown_restoration_is_not_found(api: NotesApi) -> None:
    response = await api.owner.get(f"{api.place}/restorations/{OTHER}")
    assert refusal(response) == (404, "not_found")


async def listed(api: NotesApi, query: str = "") -> Json:
    response = await api.owner.get(f"{api.place}/restorations{query}")
    assert response.status == 200, response.body
    found: Json = response.json()
    return found


async def test_restorations_are_listed_the_latest_first(api: NotesApi) -> None:
    assert await listed(api) == {"items": [], "next": None}
    _, before = await changed_vault(api)
    first = await done(api, position=before)
    api.sources.time += 60
    second = await done(api, position=before, folder="a")
    found = (await listed(api))["items"]
    assert found == [
        {name: value for name, value in each.items() if name != "left"} for each in (second, first)
    ]


async def test_pages_of_the_list_have_every_restoration_once(api: NotesApi) -> None:
    made = [(await done(api, position=0))["restorationId"] for _ in range(5)]
    found = await api.owner.pages(f"{api.place}/restorations", 2)
    assert [each["restorationId"] for each in found] == sorted(made, reverse=True)


async def test_restorations_of_other_workspaces_are_not_listed(api: NotesApi) -> None:
    await done(api, position=0)
    made = await api.owner.post("/api/workspaces", {"name": "Other"})
    response = await api.owner.get(f"/api/workspaces/{made.json()['id']}/restorations")
    assert (response.status, response.json()["items"]) == (200, [])


async def test_list_has_restorations_that_stopped_with_the_reason(api: NotesApi) -> None:
    await api.note("a.md", "1")
    await api.execute("UPDATE accounts SET state = 'locked'")
    stopped = (await restore(api, position=0)).json()
    await api.execute("UPDATE accounts SET state = 'enabled'")
    [found] = (await listed(api))["items"]
    assert (found["state"], found["failure"]) == ("failed", stopped["failure"])
    assert (found["total"], found["done"], found["endedAt"]) == (1, 0, None)
