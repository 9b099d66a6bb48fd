"""What reading costs, and what is refused at the limits of the month, for every operation."""

import json
from base64 import b64decode, b64encode
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import pytest

from octavo.features.sync import api as sync
from octavo.features.usage import sql as usage
from octavo.features.usage.sql import InstallationAmount
from octavo.http.contract.assembly import contract_of
from octavo.http.contract.declared_responses import possible_problems
from octavo.model.usage import (
    NOTHING,
    Amount,
    DownloadLimitReached,
    DownloadLimits,
    InstallationLimits,
    MonthlyLimitReached,
    WriteLimitReached,
    month_of,
)
from octavo.service.registry import CONTRACT, api_document
from tests.fakes import asgi_client
from tests.fakes.asgi_client import Response
from tests.fakes.image_files import encoded, personal_exif, picture
from tests.fakes.mcp_client import McpClient
from tests.fakes.notes_api import Note, NotesApi, account_id, opened, refusal, tag_of
from tests.fakes.yjs_device import Device
from tests.features.archives.api.test_imports import archive, start

OPERATIONS = {each.id: each for each in contract_of(CONTRACT)}
OWNER = account_id("owner")
PNG = encoded(picture((300, 200)), "PNG")
TEXT = "# Tea\n\nwith milk, twice: tea"
SIZE = len(TEXT)

EMPTY = b"\0"
"""The state vector of a device that has nothing."""


@dataclass(frozen=True)
class Sample:
    """A request that reads content.

    Attributes:
        target: of the request, with a note's ``{place}`` and ``{tag}``.
        cost: what it costs.
        document: its body.
    """

    target: str
    cost: Amount
    document: dict[str, Any] | None = None


SNIPPET = Amount(len("# Tea with milk, twice: tea"))
METERED = {
    "getFile": Sample("{place}?content=text", Amount(SIZE, 1)),
    "getRevision": Sample("{place}/revisions/{head}", Amount(SIZE, 1)),
    "readFiles": Sample("{files}/read", Amount(2 * SIZE, 2), {}),
    "diffRevisions": Sample("{place}/diff", Amount(SIZE + len("# Tea"), 2)),
    "searchWorkspace": Sample("{base}/search?q=milk", SNIPPET),
    "search": Sample("/api/search?q=milk", SNIPPET),
    "getFeed": Sample("{base}/feed?include=text", Amount(SIZE, 1)),
    "getSnapshot": Sample("{base}/snapshot", Amount(SIZE, 1)),
    "getFileContent": Sample("{place}/content", Amount(SIZE, 1)),
    "exportWorkspace": Sample("{base}/export", Amount(SIZE, 1)),
}
"""Every operation that sends content. One that is added is put here, or among the others below."""
WITHOUT_CONTENT = {
    *("getRootHealth", "getHealth", "getRootReadiness", "getReadiness", "getContract"),
    *("getSyncProtocol", "openSyncNotices"),
    *("getAccount", "getAuthSession", "listSessions", "listApiKeys", "getInstallation"),
    *("listAccounts", "readAccount", "listAuditEntries", "listInvitations", "getLegalDocument"),
    *("findOperatorAccount", "readOperatorAccount", "listWorkspaces", "getWorkspace"),
    *("listMembers", "listWorkspaceInvitations", "getReceipt", "listFiles", "listRevisions"),
    *("listClientChanges", "getUndo", "previewRestoration", "listRestorations", "getRestoration"),
    *("getLinks", "listUnresolvedLinks", "getWorkspaceImport"),
    *("listPublishedLinks", "listReports", "getReportPage", "openMcp"),
    *("getRootMcpMetadata", "getMcpMetadata", "getAuthorizationServer", "getClient"),
    *("listConnections", "describeAccessRequest"),
}
"""The other operations that read."""
OF_READERS = {"getPublishedPage", "getPublishedAttachment"}
"""They count for an owner of the workspace, and hide that a limit refuses them."""
THROUGH_TOOLS = {"serveMcp"}
"""Its tools perform the operations that send content."""
STORING = {
    *("uploadAttachment", "getFileContent", "getPublishedAttachment"),
    *("putImportPart", "completeWorkspaceImport"),
}
"""Operations that store images, what is made of them, or parts of archives."""


async def tea(api: NotesApi) -> Note:
    """A note with two revisions, the only one in the workspace."""
    note = await api.note("tea.md", "# Tea")
    await note.update(text=TEXT)
    return note


async def ask(api: NotesApi, note: Note, name: str, method: str = "", **headers: str) -> Response:
    sample, operation = METERED[name], OPERATIONS[name]
    target = sample.target.format(
        place=note.place, files=api.files, base=api.place, head=note.revision
    )
    document = sample.document
    if document is not None:
        document = {"fileIds": [note.id], "revisionIds": [note.revision]}
    return await api.owner.ask(method or operation.method, target, document, **headers)


async def limit(api: NotesApi, size: int | None = None, objects: int | None = None) -> None:
    """Limit what the owner may read."""
    await api.execute(
        "UPDATE accounts SET controls_download_bytes = $1, controls_download_objects = $2",
        size,
        objects,
    )
    api.meter.forget(OWNER)


async def read_by(api: NotesApi) -> tuple[Amount, InstallationAmount]:
    """What the owner has read, and everybody."""
    await api.meter.flush()
    script = usage.totals([OWNER], month_of(api.sources.now()))
    totals = await api.store.inner.read(script)
    return totals.accounts[OWNER].downloads, totals.installation


def assert_refused(response: Response, name: str) -> None:
    assert response.status == 429
    assert response.header("service-limit") == name
    seconds = response.header("retry-after")
    assert seconds is not None
    assert seconds.isdigit()
    assert 0 < len(seconds) <= 16
    assert 0 < int(seconds) <= 31 * 86_400
    if response.body:
        assert refusal(response) == (429, "download_limit")


def declaring(problem: type[MonthlyLimitReached]) -> set[str]:
    return {name for name, each in OPERATIONS.items() if problem in possible_problems(each)}


def test_every_operation_that_reads_is_known_to_send_content_or_not() -> None:
    reading = {name for name, each in OPERATIONS.items() if each.method == "GET"} | {"readFiles"}
    assert reading == set(METERED) | WITHOUT_CONTENT | OF_READERS


def test_operations_that_send_content_declare_the_limit() -> None:
    assert declaring(DownloadLimitReached) == {*METERED, *THROUGH_TOOLS, "saveNote"}


async def test_tools_cost_what_the_operations_cost_that_they_perform(api: NotesApi) -> None:
    note = await tea(api)
    client = McpClient(api.application, token="owner")
    uri = f"octavo://{api.workspace_id}/{note.id}"
    for number, (tool, arguments) in enumerate(
        (("read_note", {"note_id": uri}), ("fetch", {"id": uri})), 1
    ):
        await client.call(tool, **arguments)
        assert (await read_by(api))[0] == Amount(SIZE * number, number)
    await client.call("search", query="milk")
    assert (await read_by(api))[0] == Amount(2 * SIZE + SNIPPET.size, 2)
    await client.call("list_notes", workspace_id=api.workspace_id)
    assert (await read_by(api))[0] == Amount(2 * SIZE + SNIPPET.size, 2)


def test_operations_that_store_images_declare_the_limit() -> None:
    assert declaring(WriteLimitReached) == STORING


def test_document_has_the_header_and_its_values_for_these_problems_alone() -> None:
    document = api_document()
    described: set[tuple[str, str]] = set()
    for path in json.loads(json.dumps(document))["paths"].values():
        for operation in path.values():
            for status, response in operation["responses"].items():
                # What only the server refuses is described once for all.
                header = response.get("headers", {}).get("service-limit")
                if header is not None:
                    assert header["schema"] == {"$ref": "#/components/schemas/UsageLimit"}
                    assert "retry-after" in response["headers"]
                    described.add((operation["operationId"], status))
    assert described == {
        *((name, "429") for name in (*METERED, *THROUGH_TOOLS, "saveNote")),
        *((name, "503") for name in STORING),
    }


@pytest.mark.parametrize("name", METERED)
async def test_read_is_counted(api: NotesApi, name: str) -> None:
    note = await tea(api)
    response = await ask(api, note, name)
    assert response.status == 200, response.body
    cost = METERED[name].cost
    assert await read_by(api) == (cost, (cost, 0))


@pytest.mark.parametrize("name", [each for each in METERED if OPERATIONS[each].method == "GET"])
async def test_head_costs_nothing(api: NotesApi, name: str) -> None:
    note = await tea(api)
    response = await ask(api, note, name, "HEAD")
    assert (response.status, response.body) == (200, b"")
    assert await read_by(api) == (NOTHING, (NOTHING, 0))


@pytest.mark.parametrize("method", ["", "HEAD"])
@pytest.mark.parametrize("name", METERED)
@pytest.mark.parametrize("what", ["size", "objects"])
async def test_limit_that_is_used_up_refuses_every_read(
    api: NotesApi, name: str, what: str, method: str
) -> None:
    note = await tea(api)
    await limit(api, **{what: 0})
    if method and OPERATIONS[name].method != "GET":
        return
    response = await ask(api, note, name, method)
    assert_refused(response, f"account-download-{'bytes' if what == 'size' else what}")
    assert await read_by(api) == (NOTHING, (NOTHING, 0))


@pytest.mark.parametrize("method", ["", "HEAD"])
@pytest.mark.parametrize("name", METERED)
async def test_read_that_needs_more_than_is_left_is_refused(
    api: NotesApi, name: str, method: str
) -> None:
    note = await tea(api)
    if method and OPERATIONS[name].method != "GET":
        return
    await limit(api, size=METERED[name].cost.size - 1)
    assert_refused(await ask(api, note, name, method), "account-download-bytes")
    await limit(api, size=METERED[name].cost.size)
    assert (await ask(api, note, name, method)).status == 200


@pytest.mark.parametrize("name", METERED)
async def test_read_up_to_the_limit_is_allowed_once(api: NotesApi, name: str) -> None:
    note = await tea(api)
    await limit(api, size=METERED[name].cost.size)
    assert (await ask(api, note, name)).status == 200
    assert_refused(await ask(api, note, name), "account-download-bytes")


@pytest.mark.parametrize("what", ["size", "objects"])
async def test_limit_of_the_installation_refuses_everybody(what: str) -> None:
    async with opened(InstallationLimits(DownloadLimits(**{what: 1}))) as api:
        note = await tea(api)
        await limit(api, size=1 << 40)
        if what == "objects":
            assert (await ask(api, note, "getFile")).status == 200
        name = f"installation-download-{'bytes' if what == 'size' else what}"
        assert_refused(await ask(api, note, "getFile"), name)
        response = await api.client("reader").ask("HEAD", f"{note.place}/content")
        assert_refused(response, name)


@pytest.mark.parametrize("method", ["GET", "HEAD"])
@pytest.mark.parametrize("target", ["{place}?content=text", "{place}/content"])
async def test_known_content_costs_nothing_and_is_refused_alike(
    api: NotesApi, target: str, method: str
) -> None:
    note = await tea(api)
    place = target.format(place=note.place)
    known = await api.owner.ask(method, place, if_none_match=note.tag)
    assert known.status == 304
    assert await read_by(api) == (NOTHING, (NOTHING, 0))
    await limit(api, size=SIZE - 1)
    refused = await api.owner.ask(method, place, if_none_match=note.tag)
    assert_refused(refused, "account-download-bytes")


@pytest.mark.parametrize("method", ["GET", "HEAD"])
async def test_limit_is_named_before_the_bytes_are_looked_for(api: NotesApi, method: str) -> None:
    object_id = await api.upload(encoded(picture((20, 10)), "PNG"))
    place = f"{api.place}/attachments/{object_id}/finalize"
    image = (await api.owner.post(place, {"path": "attachments/a.png"})).json()["fileId"]
    api.images.blobs.blobs.clear()
    place = f"{api.files}/{image}/content"
    assert (await api.owner.ask(method, place)).status == 404
    await limit(api, size=1)
    assert_refused(await api.owner.ask(method, place), "account-download-bytes")


async def test_document_costs_its_bytes_too(api: NotesApi) -> None:
    note = await tea(api)
    full = await api.owner.get(note.place)
    document = full.json()["document"]["state"]
    found, _ = await read_by(api)
    assert found.objects == 1
    assert SIZE < found.size <= SIZE + len(document)


async def test_feed_without_texts_is_never_refused(api: NotesApi) -> None:
    await tea(api)
    await limit(api, size=0, objects=0)
    for target in (f"{api.place}/feed", api.files, f"{api.place}/links/unresolved"):
        assert (await api.owner.get(target)).status == 200
    assert await read_by(api) == (NOTHING, (NOTHING, 0))


async def test_writes_are_never_refused_for_what_was_read(api: NotesApi) -> None:
    note = await tea(api)
    await limit(api, size=0, objects=0)
    assert (await note.update(text="written")).status == 200
    assert (await note.delete()).status == 200


async def saved(api: NotesApi, note: Note, device: Device, vector: bytes | None) -> Response:
    """Save what a device has changed, as one that has ``vector``; None for all it has."""
    given = device.save()
    if vector is not None:
        given["stateVector"] = b64encode(vector).decode()
    return await api.owner.post(f"{note.place}/saves", given)


async def test_save_costs_what_the_device_lacks_alone(api: NotesApi) -> None:
    note = await api.note("tea.md", TEXT)
    device = Device.of((await note.read()).json(), 7)
    before, _ = await read_by(api)
    device.insert(0, "more ")
    assert (await saved(api, note, device, None)).status == 200
    assert (await saved(api, note, device, None)).json()["outcome"] == "unchanged"
    assert (await read_by(api))[0] == before
    update = b64decode((await saved(api, note, device, EMPTY)).json()["update"])
    assert len(update) > SIZE
    assert (await read_by(api))[0] == before.plus(Amount(len(update), 1))


@pytest.mark.parametrize("what", ["size", "objects"])
async def test_save_that_only_reads_is_refused_at_the_limit(api: NotesApi, what: str) -> None:
    note = await api.note("tea.md", TEXT)
    device = Device.of((await note.read()).json(), 7)
    before, _ = await read_by(api)
    await limit(api, **{what: 0})
    name = f"account-download-{'bytes' if what == 'size' else what}"
    assert_refused(await saved(api, note, device, EMPTY), name)
    # One that lacks nothing reads nothing.
    assert (await saved(api, note, device, None)).status == 200
    assert (await read_by(api))[0] == before


async def test_save_that_changes_the_note_is_counted_at_the_limit(api: NotesApi) -> None:
    note = await api.note("tea.md", TEXT)
    device = Device.of((await note.read()).json(), 7)
    before, _ = await read_by(api)
    await limit(api, size=0, objects=0)
    device.insert(0, "more ")
    response = await saved(api, note, device, EMPTY)
    assert (response.status, response.json()["outcome"]) == (200, "merged")
    update = b64decode(response.json()["update"])
    assert (await read_by(api))[0] == before.plus(Amount(len(update), 1))


async def attached(api: NotesApi, data: bytes = PNG) -> str:
    """The URL of the bytes of an image."""
    place = f"{api.place}/attachments/{await api.upload(data)}/finalize"
    response = await api.owner.post(place, {"path": "attachments/a.png"})
    assert response.status == 200, response.body
    return f"{api.files}/{response.json()['fileId']}"


async def test_image_costs_its_bytes_and_a_part_of_it_those_of_the_part(api: NotesApi) -> None:
    place = f"{await attached(api)}/content"
    assert (await api.owner.get(place)).status == 200
    assert (await read_by(api))[0] == Amount(len(PNG), 1)
    assert (await api.owner.get(place, range="bytes=5-9")).status == 206
    assert (await read_by(api))[0] == Amount(len(PNG) + 5, 2)


@pytest.mark.parametrize("target", ["{place}?content=text", "{place}/content"])
async def test_empty_note_costs_an_object(api: NotesApi, target: str) -> None:
    note = await api.note("tea.md", "")
    assert (await api.owner.get(target.format(place=note.place))).status == 200
    assert await read_by(api) == (Amount(0, 1), (Amount(0, 1), 0))


async def test_thumbnail_costs_its_bytes_and_is_refused_alike(api: NotesApi) -> None:
    place = f"{await attached(api)}/content?width=160"
    thumbnail = await api.owner.get(place)
    assert (await read_by(api))[0] == Amount(len(thumbnail.body), 1)
    await limit(api, objects=1)
    for method in ("GET", "HEAD"):
        assert_refused(await api.owner.ask(method, place), "account-download-objects")
        known = await api.owner.ask(method, place, if_none_match=tag_of(thumbnail))
        assert_refused(known, "account-download-objects")


async def test_published_image_costs_the_bytes_that_are_sent(api: NotesApi) -> None:
    data = encoded(picture((40, 30)), "JPEG", exif=personal_exif())
    object_id = await api.upload(data, "a.jpg", "image/jpeg")
    given = {"path": "attachments/a.jpg"}
    made = await api.owner.post(f"{api.place}/attachments/{object_id}/finalize", given)
    note = await api.note("tea.md", "![[a.jpg]]")
    link = await api.publish({"kind": "note", "fileId": note.id})
    change = made.json()
    path = f"attachments/{change['fileId']}/{change['revision']['id']}?note={note.id}"
    await asgi_client.ask(api.application, "HEAD", f"{link.path}/{path}")
    sent = await link.image(f"{link.token}/{path}")
    assert 0 < len(sent.body) < len(data)
    assert (await read_by(api))[0] == Amount(len(sent.body), 1)


async def test_facts_of_an_image_are_no_content(api: NotesApi) -> None:
    place = await attached(api)
    tag = tag_of(await api.owner.get(place))
    assert (await api.owner.get(place, if_none_match=tag)).status == 304
    assert (await read_by(api))[0] == NOTHING


async def test_snapshot_that_would_be_cut_off_is_not_begun(
    api: NotesApi, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sync, "_STEP", 1)
    for number in range(3):
        await api.note(f"{number}.md", "x" * 10)
    await limit(api, size=29)
    assert_refused(await api.owner.get(f"{api.place}/snapshot"), "account-download-bytes")
    await limit(api, size=30)
    assert (await api.owner.get(f"{api.place}/snapshot")).status == 200
    assert (await read_by(api))[0] == Amount(30, 3)


async def before_read(api: NotesApi, reads: int, act: Callable[[], Awaitable[None]]) -> None:
    """Act before the read of the database after ``reads`` others."""
    later = act if reads == 0 else partial(before_read, api, reads - 1, act)
    api.store.before_read = later


async def test_snapshot_ends_where_the_limit_is_reached_meanwhile(
    api: NotesApi, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sync, "_STEP", 1)
    notes = [await api.note(f"{number}.md", "x" * 10) for number in range(3)]
    await limit(api, size=35)
    await api.owner.get(f"{notes[0].place}?content=text")

    await limit(api, size=45)
    # The usage, the texts, the position, and the first step.
    await before_read(api, 4, partial(api.meter.count, OWNER, Amount(10, 1)))
    response = await api.owner.get(f"{api.place}/snapshot")
    lines = response.body.splitlines()
    assert response.status == 200
    assert [json.loads(line)["path"] for line in lines] == ["0.md", "1.md"]
    assert (await read_by(api))[0] == Amount(40, 4)


async def test_export_costs_every_file_and_is_not_begun_if_it_would_be_cut_off(
    api: NotesApi,
) -> None:
    await api.note("a.md", "x" * 10)
    await attached(api)
    await limit(api, size=10 + len(PNG) - 1)
    assert_refused(await api.owner.get(f"{api.place}/export"), "account-download-bytes")
    assert (await api.owner.get(f"{api.place}/export?format=notes")).status == 200
    assert (await read_by(api))[0] == Amount(10, 1)
    await limit(api)
    assert (await api.owner.get(f"{api.place}/export")).status == 200
    assert (await read_by(api))[0] == Amount(20 + len(PNG), 3)


async def test_export_of_a_history_costs_every_revision(api: NotesApi) -> None:
    note = await api.note("a.md", "x" * 10)
    for number in range(3):
        await note.update(text=f"{number}" * 10)
    await note.update(path="b.md")
    gone = await api.note("gone.md", "x" * 10)
    await gone.delete()
    await limit(api, size=49)
    place = f"{api.place}/export?format=history"
    assert_refused(await api.owner.get(place), "account-download-bytes")
    await limit(api, size=50)
    assert (await api.owner.get(place)).status == 200
    assert (await read_by(api))[0] == Amount(50, 5)


async def test_export_breaks_off_where_the_limit_is_reached_meanwhile(api: NotesApi) -> None:
    for number in range(3):
        await api.note(f"{number}.md", "x" * 10)
    await limit(api, size=30)
    # The usage, the sizes, the name, and the position.
    await before_read(api, 4, partial(api.meter.count, OWNER, Amount(10, 1)))
    # Nothing of so small an archive was sent.
    place = f"{api.place}/export"
    assert_refused(await api.owner.get(place), "account-download-bytes")
    assert (await read_by(api))[0] == Amount(10, 1)


async def test_bytes_of_one_image_are_written_once() -> None:
    async with opened(InstallationLimits(writes=2)) as api:
        for _ in range(3):
            assert (await api.owner.upload(api.place, PNG)).status == 201
        assert (await read_by(api))[1].writes == 1
        assert len(api.images.blobs.blobs) == 1


async def test_imported_images_that_are_stored_already_are_refused_alike() -> None:
    async with opened(InstallationLimits(writes=2)) as api:
        assert (await api.owner.upload(api.place, PNG)).status == 201
        given = await start(api)
        sent = await given.send(1, archive({"attachments/p.png": PNG}))
        assert sent.status == 200
        assert (await read_by(api))[1].writes == 2
        assert refusal(await given.complete()) == (503, "storage_busy")


async def test_images_are_stored_up_to_the_limit_of_the_installation() -> None:
    async with opened(InstallationLimits(writes=2)) as api:
        place = f"{await attached(api)}/content"
        assert (await api.owner.get(f"{place}?width=160")).status == 200
        other = encoded(picture((30, 20)), "PNG")
        responses = [
            await api.owner.upload(api.place, other),
            # It is refused alike, so that nobody learns which bytes are stored.
            await api.owner.upload(api.place, PNG),
            await api.owner.get(f"{place}?width=480"),
        ]
        for response in responses:
            assert refusal(response) == (503, "storage_busy")
            assert response.header("service-limit") == "installation-write-objects"
            assert int(response.header("retry-after") or "") > 0
        head = await api.owner.ask("HEAD", f"{place}?width=480")
        assert (head.status, head.header("service-limit")) == (503, "installation-write-objects")
        # A thumbnail that exists is not written again.
        assert (await api.owner.get(f"{place}?width=160")).status == 200
        assert (await read_by(api))[1].writes == 2
        assert len(api.images.blobs.blobs) == 2
