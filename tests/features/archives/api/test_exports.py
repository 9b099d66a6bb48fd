"""Exports: at one position, in the same bytes, for an import without a change."""

import io
import re
import zipfile
from collections.abc import AsyncIterator
from itertools import count
from typing import Any

import pytest
import trio
from octavo_rules.export_report import REPORT, lacked_by_export
from octavo_rules.identity import Cursor, WorkspaceId

from octavo.features.archives import exports, job
from octavo.http.contract.prepared_response import BrokenContent
from octavo.store import Script, Transaction
from octavo.store.blobs import BlobKey, BlobsUnavailable
from octavo.store.queries import feed, marks
from tests.fakes.asgi_client import Response
from tests.fakes.image_files import encoded, picture
from tests.fakes.notes_api import NotesApi, refusal
from tests.features.archives.api.test_imports import Import, archive, contents, imported, start

PNG = encoded(picture((20, 10)), "PNG")


def files_of(response: Response) -> dict[str, bytes]:
    assert response.status == 200, response.body
    return files_of_bytes(response.body)


def files_of_bytes(archive: bytes) -> dict[str, bytes]:
    with zipfile.ZipFile(io.BytesIO(archive)) as packed:
        assert packed.testzip() is None
        return {name: packed.read(name) for name in packed.namelist()}


async def filled(api: NotesApi) -> dict[str, bytes]:
    """Import some files, and return them."""
    response = await imported(
        api,
        {
            "a.md": "# A\n\n[[gone]] [b](sub/b.md)\r\n",
            "sub/b.md": "\ufeffb",
            "empty.md": "",
            "Größe 日本.md": "x" * 10_000,
            "attachments/p.png": PNG,
        },
    )
    assert response.status == 200
    return await contents(api)


async def test_export_has_every_file(api: NotesApi) -> None:
    expected = await filled(api)
    response = await api.client("reader").get(f"{api.place}/export")
    assert response.header("content-type") == "application/zip"
    name = file_name(response)
    assert re.fullmatch(r"Vault \d{4}-\d\d-\d\d\.zip", name)
    assert files_of(response) == expected
    again = await api.owner.get(f"{api.place}/export")
    assert again.body == response.body
    for kind, ending in (("notes", " notes.zip"), ("history", " with history.zip")):
        other = await api.owner.get(f"{api.place}/export?format={kind}")
        assert file_name(other) == name.removesuffix(".zip") + ending


def file_name(response: Response) -> str:
    found = re.search('filename="(.*)"', response.header("content-disposition") or "")
    assert found
    return found[1]


async def test_import_of_an_export_is_the_same_workspace(api: NotesApi) -> None:
    expected = await filled(api)
    note = await api.note(".obsidian/odd.md", "[[a]]")
    expected[".obsidian/odd.md"] = b"[[a]]"
    exported = (await api.owner.get(f"{api.place}/export")).body
    await note.delete()
    other = (await api.owner.post("/api/workspaces", {"name": "Other"})).json()["id"]
    api.workspace_id = other
    given = await start(api)
    await given.send(1, exported)
    assert (await given.complete()).status == 200
    assert await contents(api) == expected


async def test_notes_alone_can_be_exported(api: NotesApi) -> None:
    expected = await filled(api)
    del expected["attachments/p.png"]
    assert files_of(await api.owner.get(f"{api.place}/export?format=notes")) == expected


async def test_history_is_exported_beside_the_files(api: NotesApi) -> None:
    note = await api.note("a.md", "one")
    await note.update(text="two")
    await note.update(path="b.md")
    await note.update(text="three")
    other = await api.note(".history/c.md", "c")
    await other.update(text="d")
    found = files_of(await api.owner.get(f"{api.place}/export?format=history"))
    assert found == {
        "b.md": b"three",
        ".history/c.md": b"d",
        ".history-2/1/a.md": b"one",
        ".history-2/2/a.md": b"two",
        ".history-2/5/.history/c.md": b"c",
    }
    exported = (await api.owner.get(f"{api.place}/export?format=history")).body
    api.workspace_id = (await api.owner.post("/api/workspaces", {"name": "Other"})).json()["id"]
    given = await start(api)
    await given.send(1, exported)
    result = (await given.complete()).json()
    assert (result["notes"], result["leftOut"]["history"]) == (2, 3)
    assert await contents(api) == {"b.md": b"three", ".history/c.md": b"d"}


async def reads_of_history(api: NotesApi) -> int:
    # The first may be followed by what others do behind it.
    for _ in range(2):
        before = api.store.reads
        assert (await api.owner.get(f"{api.place}/export?format=history")).status == 200
    return api.store.reads - before


async def test_unchanged_files_cost_no_query_of_their_history(api: NotesApi) -> None:
    note = await api.note("a.md", "one")
    await note.update(text="two")
    reads = await reads_of_history(api)
    await imported(api, {f"{number}.md": str(number) for number in range(40)})
    assert await reads_of_history(api) == reads


async def test_steps_are_small_while_others_write(
    api: NotesApi, monkeypatch: pytest.MonkeyPatch
) -> None:
    await imported(api, {f"{number}.md": str(number) for number in range(150)})
    alone = await reads_of_history(api)
    await api.note("a.md", "one")
    beside = await reads_of_history(api)
    monkeypatch.setattr(job, "SECONDS", 0.0)
    assert await reads_of_history(api) == alone < beside


async def test_export_is_exact_at_its_position(
    api: NotesApi, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Others write between its pieces, once it has its position."""
    begun = trio.Event()

    def cursor_of(workspace_id: WorkspaceId) -> Script[Cursor | None]:
        async def read(transaction: Transaction) -> Cursor | None:
            found = await marks.cursor_of(workspace_id)(transaction)
            begun.set()
            return found

        return read

    monkeypatch.setattr(exports, "cursor_of", cursor_of)
    count = 450
    texts = {f"{number}.md": f"{number} " * 800 for number in range(count)}
    await imported(api, texts)
    expected = {path: text.encode() for path, text in texts.items()}
    api.store.release_reads = None
    responses: list[Response] = []
    ended = trio.Event()

    async def export() -> None:
        responses.append(await api.owner.get(f"{api.place}/export"))
        ended.set()

    async def write() -> None:
        listed = (await api.owner.get(f"{api.files}?limit=200")).json()["items"]
        await begun.wait()
        while not ended.is_set():
            for each in listed:
                await api.owner.put(
                    f"{api.files}/{each['id']}",
                    {"text": "later"},
                    if_match=f'"{each["head"]["id"]}"',
                )
                await api.note(f"new {each['id']}.md")

    async with trio.open_nursery() as nursery:
        nursery.start_soon(export)
        nursery.start_soon(write)
    assert files_of(responses[0]) == expected


async def test_head_starts_no_job(api: NotesApi) -> None:
    await filled(api)
    response = await api.owner.ask("HEAD", f"{api.place}/export")
    assert (response.status, response.body) == (200, b"")
    assert response.header("content-type") == "application/zip"


async def assert_head_is_alike(api: NotesApi, got: Response) -> None:
    head = await api.owner.ask("HEAD", f"{api.place}/export")
    assert (head.status, head.body) == (got.status, b"")
    assert without_id(head) == without_id(got)


def without_id(response: Response) -> list[tuple[bytes, bytes]]:
    left_out = (b"x-request-id", b"content-length")
    return [each for each in response.headers if each[0] not in left_out]


async def test_account_runs_one_archive_job(api: NotesApi) -> None:
    given: Import = await start(api)
    await given.send(1, archive({"a.md": "text"}))
    await api.execute(
        "INSERT INTO archive_jobs (slot, account_id, job_id, renewed_until)"
        " SELECT 0, account_id, $1::uuid, 99999999999999 FROM members WHERE role = 'owner'",
        api.new_id(),
    )
    got = await api.owner.get(f"{api.place}/export")
    for response in (got, await given.complete()):
        assert refusal(response) == (429, "archive_job_running")
        assert response.header("retry-after") is not None
    await assert_head_is_alike(api, got)
    assert (await api.client("reader").get(f"{api.place}/export")).status == 200


async def test_installation_runs_a_few_archive_jobs(api: NotesApi) -> None:
    for slot in range(2):
        await api.execute(
            "INSERT INTO archive_jobs (slot, account_id, job_id, renewed_until)"
            " VALUES ($1, $2::uuid, $2::uuid, 99999999999999)",
            slot,
            api.new_id(),
        )
    response = await api.owner.get(f"{api.place}/export")
    assert refusal(response) == (503, "archive_jobs_busy")
    assert response.header("retry-after") is not None
    await assert_head_is_alike(api, response)
    # One that was not renewed is free.
    await api.execute("UPDATE archive_jobs SET renewed_until = 1 WHERE slot = 1")
    for method in ("HEAD", "GET"):
        assert (await api.owner.ask(method, f"{api.place}/export")).status == 200


async def test_failing_blob_store_ends_the_export_without_an_end(
    api: NotesApi, monkeypatch: pytest.MonkeyPatch
) -> None:
    # It comes before the images.
    await api.note("0.md", "first")
    await filled(api)
    api.images.blobs.away = True
    refused = await api.owner.get(f"{api.place}/export")
    assert refusal(refused) == (503, "storage_unavailable")
    monkeypatch.setattr(exports, "PIECE", 1)
    with pytest.raises(BrokenContent) as broken:
        await api.owner.get(f"{api.place}/export")
    assert isinstance(broken.value.__cause__, BlobsUnavailable)
    api.images.blobs.away = False
    # The slot is free.
    assert (await api.owner.get(f"{api.place}/export")).status == 200


@pytest.mark.parametrize("purges", [True, False], ids=["purged", "lost"])
async def test_image_that_is_gone_meanwhile_is_left_out_and_named_unless_it_was_purged(
    api: NotesApi, monkeypatch: pytest.MonkeyPatch, purges: bool
) -> None:
    await api.note("0.md", "first")
    expected = await filled(api)
    listed = await api.owner.get(api.files)
    [image] = [each for each in listed.json()["items"] if each["kind"] == "attachment"]
    place, head = f"{api.files}/{image['id']}", f'"{image["head"]["id"]}"'
    read = api.images.blobs.read

    async def read_later(
        key: BlobKey, begin: int = 0, end: int | None = None
    ) -> AsyncIterator[bytes]:
        if purges:
            assert (await api.owner.delete(place, if_match=head)).status == 200
            assert (await api.owner.post(f"{place}/purge", {})).status == 200
        await api.images.blobs.delete(key)
        async for chunk in read(key, begin, end):
            yield chunk

    monkeypatch.setattr(api.images.blobs, "read", read_later)
    response = await api.owner.get(f"{api.place}/export")
    del expected[image["path"]]
    found = files_of(response)
    report = found.pop(REPORT, b"")
    assert found == expected
    assert lacked_by_export(report.decode()) == ([] if purges else [image["path"]])


async def test_report_is_the_last_entry_and_an_import_leaves_it_out(api: NotesApi) -> None:
    expected = await filled(api)
    api.images.blobs.blobs.clear()
    exported = (await api.owner.get(f"{api.place}/export?format=history")).body
    assert [*files_of_bytes(exported)][-1] == REPORT
    api.workspace_id = (await api.owner.post("/api/workspaces", {"name": "Other"})).json()["id"]
    given = await start(api)
    await given.send(1, exported)
    done = await given.complete()
    assert (done.status, done.json()["leftOut"]["other"]) == (200, 1)
    del expected["attachments/p.png"]
    assert await contents(api) == expected


async def test_member_who_is_removed_gets_nothing_more(
    api: NotesApi, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(exports, "_FILES_BESIDES", 1)
    monkeypatch.setattr(exports, "PIECE", 1)
    texts = [f"secret {number}" for number in range(5)]
    for number, text in enumerate(texts):
        await api.note(f"{number}.md", text)
    listed = (await api.owner.get(f"{api.place}/members")).json()["items"]
    [reader] = [each["accountId"] for each in listed if each["role"] == "reader"]
    step, steps = feed.live_at, count(1)

    async def remove() -> None:
        assert (await api.owner.delete(f"{api.place}/members/{reader}")).status == 200

    def live_at(*given: Any) -> object:  # noqa: ANN401 - as the function has them
        if next(steps) == 3:
            api.store.before_read = remove
        return step(*given)

    monkeypatch.setattr(exports, "live_at", live_at)
    response = await api.client("reader").get(f"{api.place}/export")
    assert (response.status, response.ended) == (200, False)
    # What was read before may still be sent.
    assert next(steps) == 4


async def alone_with_a_note(api: NotesApi) -> str:
    """The place of a workspace that only the owner belongs to, and that has some notes."""
    api.workspace_id = (await api.owner.post("/api/workspaces", {"name": "Own"})).json()["id"]
    for number in range(5):
        await api.note(f"{number}.md", f"own {number}")
    return api.place


@pytest.mark.parametrize("method", ["GET", "HEAD"])
@pytest.mark.parametrize("kind", ["all", "notes", "history"])
async def test_locked_account_exports_only_what_it_owns_alone(
    api: NotesApi, method: str, kind: str
) -> None:
    shared = api.place
    own = await alone_with_a_note(api)
    api.authenticator.locked |= {"owner", "reader"}
    for name in ("owner", "reader"):
        refused = await api.client(name).ask(method, f"{shared}/export?format={kind}")
        assert refused.status == 423
    assert (await api.owner.ask(method, f"{own}/export?format={kind}")).status == 200
    # An owner among owners is not alone.
    await api.member("second", "owner")
    assert (await api.owner.ask(method, f"{own}/export?format={kind}")).status == 423


async def test_locked_reader_that_is_left_alone_exports_nothing(api: NotesApi) -> None:
    await api.execute("DELETE FROM members WHERE role <> 'reader'")
    api.authenticator.locked.add("reader")
    response = await api.client("reader").get(f"{api.place}/export")
    assert refusal(response) == (423, "account_locked")


@pytest.mark.parametrize("event", ["locked", "joined"])
async def test_export_ends_when_the_account_is_locked_or_another_joins(
    api: NotesApi, monkeypatch: pytest.MonkeyPatch, event: str
) -> None:
    monkeypatch.setattr(exports, "_FILES_BESIDES", 1)
    monkeypatch.setattr(exports, "PIECE", 1)
    await alone_with_a_note(api)
    if event == "locked":
        await api.member("second", "reader")
    else:
        api.authenticator.locked.add("owner")
    step, steps = feed.live_at, count(1)

    async def happen() -> None:
        if event == "locked":
            api.authenticator.locked.add("owner")
        else:
            await api.member("second", "reader")

    def live_at(*given: Any) -> object:  # noqa: ANN401 - as the function has them
        if next(steps) == 3:
            api.store.before_read = happen
        return step(*given)

    monkeypatch.setattr(exports, "live_at", live_at)
    response = await api.owner.get(f"{api.place}/export")
    assert (response.status, response.ended) == (200, False)
    assert next(steps) == 4


async def test_client_that_leaves_ends_the_export(api: NotesApi) -> None:
    await imported(api, {f"{number}.md": f"{number} " * 3000 for number in range(100)})
    with trio.CancelScope() as leaving:
        async with trio.open_nursery() as nursery:
            nursery.start_soon(api.owner.get, f"{api.place}/export")
            await trio.lowlevel.checkpoint()
            await trio.lowlevel.checkpoint()
            leaving.cancel()
    with trio.fail_after(5):
        while (await api.owner.get(f"{api.place}/export")).status == 429:
            await trio.lowlevel.checkpoint()


async def test_empty_workspace_is_an_empty_archive(api: NotesApi) -> None:
    assert files_of(await api.owner.get(f"{api.place}/export")) == {}
    for each in ("x", "zip", ""):
        response = await api.owner.get(f"{api.place}/export?format={each}")
        assert refusal(response) == (400, "invalid_request")
