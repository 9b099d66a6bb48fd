"""Imports while others write, and those that are aborted or lose their permission."""

from collections.abc import Awaitable, Callable
from functools import partial
from pathlib import Path
from typing import Any

import pytest
import trio

from octavo.features.archives import archive_check, import_run
from octavo.features.archives.import_commits import NOTES_AT_ONCE, NOTES_BESIDES
from octavo.features.archives.job import ArchiveJobs
from octavo.store.blobs import BlobKey
from tests.fakes.asgi_client import Response
from tests.fakes.image_files import encoded, picture
from tests.fakes.notes_api import NotesApi, refusal
from tests.features.archives.api.test_imports import Import, archive, contents, imported, start
from tests.features.archives.test_sql import collected

PNG = encoded(picture((20, 10)), "PNG")


async def first_commit(api: NotesApi) -> None:
    """Wait until a file of an import was committed."""
    while not (await api.owner.get(api.files)).json()["items"]:
        await trio.lowlevel.checkpoint()


async def completed_while(given: Import, act: Callable[[], Awaitable[object]]) -> Response:
    """Complete an import, and act after the check and before the last changeset."""

    async def wait_and_act() -> None:
        await first_commit(given.api)
        await act()

    async with trio.open_nursery() as nursery:
        nursery.start_soon(wait_and_act)
        return await given.complete()


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

    response = await completed_while(given, partial(api.note, "mine.md", "mine"))
    # The first two or three of the import, and what was written meanwhile.
    large, mine = 3, 1
    assert response.json()["position"] >= large + mine + NOTES_AT_ONCE // NOTES_BESIDES
    assert len(await contents(api)) == 4 * NOTES_AT_ONCE + 1


async def test_path_that_is_taken_meanwhile_gets_another(api: NotesApi) -> None:
    given = await start(api)
    files = {f"{number:03}.md": "theirs" for number in range(NOTES_AT_ONCE + 1)}
    last = f"{NOTES_AT_ONCE:03}.md"
    await given.send(1, archive(files))

    response = await completed_while(given, partial(api.note, last, "mine"))
    assert response.status == 200
    found = await contents(api)
    assert found[last] == b"mine"
    assert len(found) == NOTES_AT_ONCE + 2
    assert found[f"{NOTES_AT_ONCE:03} (imported).md"] == b"theirs"


async def test_folder_that_becomes_a_file_meanwhile_is_renamed(api: NotesApi) -> None:
    given = await start(api)
    files = {f"{number:03}.md": "theirs" for number in range(NOTES_AT_ONCE)}
    deep = "/".join(["f" * 240] * 4) + f"/{'n' * 50}.md"
    await given.send(1, archive({**files, "z.md/inner.md": "theirs", deep: "theirs"}))

    async def take() -> None:
        await api.note("z.md", "mine")
        await api.note(deep, "mine")

    response = await completed_while(given, take)
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
    # Something was changed, and the next response says why nothing else is.
    came_in = await contents(api)
    assert 0 < len(came_in) < 3 * NOTES_AT_ONCE
    assert refusal(response) == (503, "import_incomplete")
    assert response.json()["files"] == len(came_in)
    assert refusal(await given.complete()) == expected
    assert await contents(api) == came_in


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


async def test_part_that_is_replaced_before_the_import_runs_is_the_one_imported(
    api: NotesApi, monkeypatch: pytest.MonkeyPatch
) -> None:
    given = await start(api)
    await given.send(1, archive({"a.md": "old"}))
    take = ArchiveJobs.start

    async def replace_and_take(*given_: Any) -> Any:  # noqa: ANN401 - as the method has them
        # The part is acknowledged, because no job runs yet.
        assert (await given.send(1, archive({"a.md": "new"}))).status == 200
        await collected(api.store)
        return await take(*given_)

    monkeypatch.setattr(ArchiveJobs, "start", replace_and_take)
    assert (await given.complete()).status == 200
    assert await contents(api) == {"a.md": b"new"}


async def test_import_that_another_request_completed_has_its_result(
    api: NotesApi, monkeypatch: pytest.MonkeyPatch
) -> None:
    given = await start(api)
    await given.send(1, archive({"a.md": "text"}))
    take = ArchiveJobs.start

    async def complete_and_take(*given_: Any) -> Any:  # noqa: ANN401 - as the method has them
        monkeypatch.setattr(ArchiveJobs, "start", take)
        assert (await given.complete()).status == 200
        return await take(*given_)

    monkeypatch.setattr(ArchiveJobs, "start", complete_and_take)
    response = await given.complete()
    assert (response.status, response.json()["notes"]) == (200, 1)


async def test_member_who_may_not_write_any_more_stops_the_import(api: NotesApi) -> None:
    given = await start(api, "editor")
    await given.send(1, archive({f"{n}.md": str(n) for n in range(3 * NOTES_AT_ONCE)}))

    async def demote() -> None:
        await first_commit(api)
        await api.execute("UPDATE members SET role = 'reader' WHERE role = 'editor'")

    async with trio.open_nursery() as nursery:
        nursery.start_soon(demote)
        response = await given.complete()
    assert refusal(response) == (503, "import_incomplete")
    assert response.json()["files"] == len(await contents(api)) < 3 * NOTES_AT_ONCE
    assert refusal(await given.complete()) == (403, "forbidden")
