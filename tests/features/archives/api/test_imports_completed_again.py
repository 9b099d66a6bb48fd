"""Imports that fail: how many files came in, and what completing them again commits."""

from collections.abc import Generator, Sequence
from hashlib import sha256
from inspect import GEN_CLOSED, getgeneratorstate

import pytest
import trio
from octavo_rules.identity import Digest

from octavo.features.archives import import_run
from octavo.features.archives.import_commits import NOTES_AT_ONCE, ImportCommits
from octavo.features.archives.rules import archive_of
from octavo.features.archives.worker.checked_files import CheckedNote, checked_notes
from octavo.model.files.changeset import derived_id
from octavo.store import StoreUnavailable
from octavo.workers import WorkerFailed
from tests.fakes.image_files import encoded, picture
from tests.fakes.notes_api import NotesApi, refusal
from tests.features.archives.api.test_imports import Files, Import, archive, contents, start
from tests.features.archives.api.test_imports_meanwhile import first_commit, write_elsewhere
from tests.features.archives.test_sql import collected

PNG = encoded(picture((20, 10)), "PNG")


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


async def test_interrupted_import_leaves_no_file_open(
    api: NotesApi, monkeypatch: pytest.MonkeyPatch
) -> None:
    read: list[Generator[CheckedNote]] = []

    def noted(files: Sequence[str]) -> Generator[CheckedNote]:
        read.append(checked_notes(files))
        return read[-1]

    monkeypatch.setattr(import_run, "checked_notes", noted)
    await interrupted(api, {f"{number}.md": "text" for number in range(3 * NOTES_AT_ONCE)})
    assert [getgeneratorstate(each) for each in read] == [GEN_CLOSED]


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


async def test_number_of_files_is_that_of_the_database_after_a_crash(
    api: NotesApi, monkeypatch: pytest.MonkeyPatch
) -> None:
    given = await interrupted(api, {f"{n}.md": "text" for n in range(3 * NOTES_AT_ONCE)})
    came_in = len(await contents(api))
    # A process that is killed has not recorded its last changesets.
    await api.execute("UPDATE imports SET files = 0, bytes_read = 0")

    async def failing(*_: object) -> None:
        raise WorkerFailed("it was killed")

    with monkeypatch.context() as patch:
        patch.setattr(import_run, "check_archive", failing)
        response = await given.complete()
    assert refusal(response) == (503, "import_incomplete")
    assert response.json()["files"] == came_in


async def test_progress_of_an_import_that_is_completed_again_does_not_go_back(
    api: NotesApi, monkeypatch: pytest.MonkeyPatch
) -> None:
    given = await interrupted(api, {f"{n}.md": "text" for n in range(3 * NOTES_AT_ONCE)})
    before = (await given.read()).json()["read"]
    assert before > 0

    async def look(*_: object) -> None:
        assert (await given.read()).json()["read"] == before
        raise StoreUnavailable("the disk is away")

    with monkeypatch.context() as patch:
        patch.setattr(ImportCommits, "notes", look)
        assert refusal(await given.complete()) == (503, "import_incomplete")
    assert (await given.read()).json()["read"] == before


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
