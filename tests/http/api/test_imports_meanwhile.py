"""Imports while others write, and after failures: what is committed, how often, and where."""

from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest
import trio

from octavo.actors.jobs.archive_jobs import ArchiveJobs
from octavo.model.files.imported import archive_of, derived_id
from octavo.model.identity import Digest
from octavo.store import StoreUnavailable
from octavo.store.blobs import BlobKey
from octavo.transfers import archive_check, import_run
from octavo.transfers.import_commits import NOTES_AT_ONCE, NOTES_BESIDES, ImportCommits
from octavo.workers import WorkerFailed
from tests.fakes.image_files import encoded, picture
from tests.fakes.notes_api import NotesApi, refusal
from tests.http.api.test_imports import Files, Import, archive, contents, imported, start
from tests.store.scripts.test_imports import collected

PNG = encoded(picture((20, 10)), "PNG")


async def first_commit(api: NotesApi) -> None:
    """Wait until a file of an import was committed."""
    while not (await api.owner.get(api.files)).json()["items"]:
        await trio.lowlevel.checkpoint()


async def write_elsewhere(api: NotesApi) -> None:
    """Save a note in another workspace."""
    made = await api.owner.post("/api/workspaces", {"name": "Other"})
    place = f"/api/workspaces/{made.json()['id']}/files"
    saved = await api.owner.post(place, {"path": "a.md", "text": "text"})
    assert saved.status == 201, saved.body


async def test_changesets_are_small_while_others_write_elsewhere(api: NotesApi) -> None:
    await write_elsewhere(api)
    files = {f"{number}.md": str(number) for number in range(3 * NOTES_BESIDES)}
    assert (await imported(api, files)).json()["position"] == 3


async def test_changesets_are_large_after_another_import(api: NotesApi) -> None:
    files = {f"{number}.md": str(number) for number in range(NOTES_AT_ONCE)}
    assert (await imported(api, files)).json()["position"] == 1
    made = await api.owner.post("/api/workspaces", {"name": "Other"})
    imports = f"/api/workspaces/{made.json()['id']}/imports"
    started = await api.owner.post(imports, {})
    given = Import(api, api.owner, started.json()["importId"])
    given.place = f"{imports}/{given.id}"
    await given.send(1, archive(files))
    assert (await given.complete()).json()["position"] == 1


async def test_save_during_the_check_makes_changesets_small(
    api: NotesApi, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def check(*given: Any) -> object:  # noqa: ANN401 - as the function has them
        await api.note("mine.md", "mine")
        return await archive_check.check_archive(*given)

    monkeypatch.setattr(import_run, "check_archive", check)
    files = {f"{number}.md": str(number) for number in range(3 * NOTES_BESIDES)}
    assert (await imported(api, files)).json()["position"] == 1 + 3


async def test_changesets_are_small_while_others_write_to_the_workspace(api: NotesApi) -> None:
    given = await start(api)
    await given.send(1, archive({f"{n}.md": str(n) for n in range(4 * NOTES_AT_ONCE)}))

    async def write() -> None:
        await first_commit(api)
        await api.note("mine.md", "mine")

    async with trio.open_nursery() as nursery:
        nursery.start_soon(write)
        response = await given.complete()
    # The first two or three of the import, and what was written meanwhile.
    large, mine = 3, 1
    assert response.json()["position"] >= large + mine + NOTES_AT_ONCE // NOTES_BESIDES
    assert len(await contents(api)) == 4 * NOTES_AT_ONCE + 1


async def test_path_that_is_taken_meanwhile_gets_another(api: NotesApi) -> None:
    given = await start(api)
    files = {f"{number:03}.md": "theirs" for number in range(NOTES_AT_ONCE + 1)}
    last = f"{NOTES_AT_ONCE:03}.md"
    await given.send(1, archive(files))

    async def take() -> None:
        # After the check, and before the last changeset.
        await first_commit(api)
        await api.note(last, "mine")

    async with trio.open_nursery() as nursery:
        nursery.start_soon(take)
        response = await given.complete()
    assert response.status == 200
    found = await contents(api)
    assert found[last] == b"mine"
    assert len(found) == NOTES_AT_ONCE + 2
    assert found[f"{NOTES_AT_ONCE:03} (imported).md"] == b"theirs"


async def test_failure_before_the_first_commit_is_that_of_the_service(api: NotesApi) -> None:
    given = await start(api)
    await given.send(1, archive({"a.md": "text", "attachments/p.png": PNG}))
    api.images.blobs.away = True
    assert refusal(await given.complete()) == (503, "storage_unavailable")
    api.images.blobs.away = False
    assert (await given.complete()).status == 200


async def test_failure_after_the_first_commit_says_how_many_came_in(api: NotesApi) -> None:
    files: dict[str, str | bytes] = {
        f"{number}.md": str(number) for number in range(3 * NOTES_AT_ONCE)
    }
    files["attachments/p.png"] = PNG
    given = await start(api)
    data = archive(files)
    await given.send(1, data)

    async def fail() -> None:
        while len((await api.owner.get(api.files)).json()["items"]) < 2:
            await trio.lowlevel.checkpoint()
        api.store.fail = StoreUnavailable("the disk is away")

    async with trio.open_nursery() as nursery:
        nursery.start_soon(fail)
        response = await given.complete()
    assert refusal(response) == (503, "import_incomplete")
    came_in = response.json()["files"]
    assert 0 < came_in < len(files)
    assert response.header("retry-after") is not None
    state = (await given.read()).json()
    assert (state["state"], state["parts"]) == ("started", [1])
    # What came in may be changed before it is completed.
    archived = archive_of([Digest(sha256(data).hexdigest())])
    first = derived_id(given.id, archived, "file", 2)
    head = (await api.owner.get(f"{api.files}/{first}")).json()["head"]["id"]
    changed = await api.owner.put(f"{api.files}/{first}", {"text": "changed"}, if_match=f'"{head}"')
    assert changed.status == 200
    again = await given.complete()
    assert again.status == 200
    assert again.json()["notes"] == 3 * NOTES_AT_ONCE
    expected = {path: text.encode() for path, text in files.items() if isinstance(text, str)}
    found = await contents(api)
    path = changed.json()["path"]
    assert found == {**expected, "attachments/p.png": PNG, path: b"changed"}


async def interrupted(api: NotesApi, files: Files) -> Import:
    """An import that failed after its first changeset."""
    given = await start(api)
    await given.send(1, archive(files))

    async def fail() -> None:
        await first_commit(api)
        api.store.fail = StoreUnavailable("the disk is away")

    async with trio.open_nursery() as nursery:
        nursery.start_soon(fail)
        response = await given.complete()
    assert refusal(response) == (503, "import_incomplete")
    assert response.json()["files"] > 0
    return given


async def test_notes_without_text_are_recognised_when_completed_again(api: NotesApi) -> None:
    files = {f"{number}.md": "" for number in range(3 * NOTES_AT_ONCE)}
    given = await interrupted(api, files)
    assert (await given.complete()).status == 200
    assert await contents(api) == dict.fromkeys(files, b"")


async def test_other_archive_is_not_taken_for_the_first(api: NotesApi) -> None:
    count = 3 * NOTES_AT_ONCE
    given = await interrupted(api, {f"{number}.md": "first" for number in range(count)})
    came_in = await contents(api)
    other = await start(api)
    await other.send(1, archive({f"{number}.md": "other" for number in range(count)}))
    # The API refuses this; an earlier version, or another process, may have done it.
    sql = "UPDATE import_parts SET blob = (SELECT MAX(blob) FROM import_parts"
    await api.execute(f"{sql} WHERE import_id = $1::uuid)", other.id)
    assert refusal(await given.complete()) == (409, "path_conflict")
    assert await contents(api) == came_in


async def test_failure_of_a_check_before_the_rest_comes_in_is_incomplete(
    api: NotesApi, monkeypatch: pytest.MonkeyPatch
) -> None:
    given = await interrupted(api, {f"{n}.md": "text" for n in range(3 * NOTES_AT_ONCE)})

    async def failing(*_: object) -> None:
        raise WorkerFailed("it was killed")

    with monkeypatch.context() as patch:
        patch.setattr(import_run, "check_archive", failing)
        assert refusal(await given.complete()) == (503, "import_incomplete")
    assert (await given.complete()).status == 200
    assert len(await contents(api)) == 3 * NOTES_AT_ONCE


async def test_refusal_before_the_first_commit_leaves_nothing_to_skip(
    api: NotesApi, monkeypatch: pytest.MonkeyPatch
) -> None:
    given = await start(api)
    await given.send(1, archive({"n.md": "theirs"}))

    async def refuse(*_: object) -> None:
        raise StoreUnavailable("the disk is away")

    with monkeypatch.context() as patch:
        patch.setattr(ImportCommits, "notes", refuse)
        assert refusal(await given.complete()) == (503, "storage_unavailable")
    await api.note("n.md", "mine")
    assert refusal(await given.complete()) == (409, "path_conflict")
    assert await contents(api) == {"n.md": b"mine"}


async def test_folder_that_becomes_a_file_meanwhile_is_renamed(api: NotesApi) -> None:
    given = await start(api)
    files = {f"{number:03}.md": "theirs" for number in range(NOTES_AT_ONCE)}
    deep = "/".join(["f" * 240] * 4) + f"/{'n' * 50}.md"
    await given.send(1, archive({**files, "z.md/inner.md": "theirs", deep: "theirs"}))

    async def take() -> None:
        await first_commit(api)
        await api.note("z.md", "mine")
        await api.note(deep, "mine")

    async with trio.open_nursery() as nursery:
        nursery.start_soon(take)
        response = await given.complete()
    assert response.status == 200
    found = await contents(api)
    assert (found["z.md"], found[deep]) == (b"mine", b"mine")
    assert found["z (imported).md/inner.md"] == b"theirs"
    assert found[f"{'n' * 50} (imported).md"] == b"theirs"


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        ("state = 'locked'", (423, "account_locked")),
        ("controls_locked = 1", (423, "account_locked")),
        ("state = 'disabled'", (401, "not_signed_in")),
    ],
)
async def test_account_that_is_locked_or_disabled_imports_no_more(
    api: NotesApi, change: str, expected: tuple[int, str]
) -> None:
    given = await start(api, "editor")
    await given.send(1, archive({f"{n}.md": str(n) for n in range(3 * NOTES_AT_ONCE)}))

    async def restrict() -> None:
        await first_commit(api)
        await api.execute(f"UPDATE accounts SET {change} WHERE address LIKE 'editor%'")

    async with trio.open_nursery() as nursery:
        nursery.start_soon(restrict)
        response = await given.complete()
    assert refusal(response) == expected
    assert len(await contents(api)) < 3 * NOTES_AT_ONCE


async def test_import_that_is_aborted_during_its_checks_ends_immediately(
    api: NotesApi, monkeypatch: pytest.MonkeyPatch
) -> None:
    given = await start(api)
    await given.send(1, archive({"a.md": "text"}))
    checking = trio.Event()

    async def check(*_: object) -> None:
        checking.set()
        await trio.sleep_forever()

    monkeypatch.setattr(import_run, "check_archive", check)
    async with trio.open_nursery() as nursery:

        async def complete() -> None:
            assert refusal(await given.complete()) == (404, "not_found")

        nursery.start_soon(complete)
        await checking.wait()
        assert (await given.client.delete(given.place)).status == 200
    monkeypatch.undo()
    assert (await imported(api, {"a.md": "text"})).status == 200


async def test_import_that_is_aborted_at_another_process_while_its_parts_are_fetched(
    api: NotesApi, monkeypatch: pytest.MonkeyPatch
) -> None:
    given = await start(api)
    await given.send(1, archive({"a.md": "text"}))
    fetch = api.images.blobs.fetch

    async def abort_and_fetch(key: BlobKey, target: Path) -> None:
        assert (await given.client.delete(given.place)).status == 200
        api.images.blobs.blobs.clear()
        await fetch(key, target)

    monkeypatch.setattr(ArchiveJobs, "cancel", lambda *_: None)
    monkeypatch.setattr(api.images.blobs, "fetch", abort_and_fetch)
    assert refusal(await given.complete()) == (404, "not_found")


async def test_aborted_import_commits_nothing_more(api: NotesApi) -> None:
    given = await start(api)
    await given.send(1, archive({f"{n}.md": str(n) for n in range(5 * NOTES_AT_ONCE)}))

    async def abort() -> None:
        await first_commit(api)
        await given.client.delete(given.place)

    async with trio.open_nursery() as nursery:
        nursery.start_soon(abort)
        response = await given.complete()
    assert refusal(response) == (404, "not_found")
    # One more may have been on its way.
    assert len(await contents(api)) <= 3 * NOTES_AT_ONCE


async def test_parts_stay_as_they_are_once_files_came_in(api: NotesApi) -> None:
    data = archive({f"{n}.md": str(n) for n in range(2 * NOTES_AT_ONCE)})
    given = await start(api)
    await given.send(1, data)

    async def fail() -> None:
        await first_commit(api)
        api.store.fail = StoreUnavailable("the disk is away")

    async with trio.open_nursery() as nursery:
        nursery.start_soon(fail)
        assert refusal(await given.complete()) == (503, "import_incomplete")
    blobs = dict(api.images.blobs.blobs)
    for files in (0, NOTES_AT_ONCE):
        # Whether they are counted in its progress or not.
        await api.execute("UPDATE imports SET files = $1", files)
        for number in (1, 2):
            response = await given.send(number, b"other")
            assert refusal(response) == (409, "import_not_open")
            assert "has begun to commit" in response.json()["detail"]
        assert (await given.send(1, data)).status == 200
    await collected(api.store)
    assert {*blobs} <= {*api.images.blobs.blobs}
    assert (await given.read()).json()["parts"] == [1]
    assert (await given.complete()).json()["notes"] == 2 * NOTES_AT_ONCE


async def test_commit_whose_reply_was_lost_is_not_repeated(api: NotesApi) -> None:
    given = await start(api)
    await given.send(1, archive({f"{n}.md": str(n) for n in range(2 * NOTES_AT_ONCE)}))
    api.store.commits_anyway = True

    async def fail() -> None:
        await first_commit(api)
        api.store.fail = StoreUnavailable("the reply was lost", outcome_unknown=True)

    async with trio.open_nursery() as nursery:
        nursery.start_soon(fail)
        first = await given.complete()
    assert refusal(first) == (503, "import_incomplete")
    # It would commit smaller changesets now.
    await write_elsewhere(api)
    assert (await given.complete()).status == 200
    assert len(await contents(api)) == 2 * NOTES_AT_ONCE
    position = (await api.owner.get(f"{api.place}/feed", sync_protocol="1")).json()["position"]
    assert position == 2


async def test_import_goes_on_without_its_client(api: NotesApi) -> None:
    given = await start(api)
    await given.send(1, archive({f"{n}.md": str(n) for n in range(3 * NOTES_AT_ONCE)}))
    with trio.CancelScope() as leaving:
        async with trio.open_nursery() as nursery:
            nursery.start_soon(given.complete)
            await first_commit(api)
            assert (await given.read()).json()["state"] == "running"
            assert refusal(await given.complete()) == (429, "archive_job_running")
            leaving.cancel()
    while (await given.read()).json()["state"] != "done":
        await trio.lowlevel.checkpoint()
    assert len(await contents(api)) == 3 * NOTES_AT_ONCE


async def test_member_who_may_not_write_any_more_stops_the_import(api: NotesApi) -> None:
    given = await start(api, "editor")
    await given.send(1, archive({f"{n}.md": str(n) for n in range(3 * NOTES_AT_ONCE)}))

    async def demote() -> None:
        await first_commit(api)
        await api.execute("UPDATE members SET role = 'reader' WHERE role = 'editor'")

    async with trio.open_nursery() as nursery:
        nursery.start_soon(demote)
        response = await given.complete()
    assert refusal(response) == (403, "forbidden")
    assert len(await contents(api)) < 3 * NOTES_AT_ONCE
