"""Documents on devices: edited offline, saved later, carried over to a new generation."""

import json
from base64 import b64encode
from collections.abc import AsyncIterator
from contextlib import suppress
from random import Random, SystemRandom
from typing import Any

import pytest
import trio
import trio.testing
from octavo_client import (
    Client,
    ConnectionFailed,
    EpochMismatchError,
    NoteDocument,
    NotFoundError,
    ProblemError,
    Retrying,
    UnexpectedResponse,
    WorkspaceClient,
)
from octavo_client.reading import WorkspaceReader
from octavo_rules.documents.document import NOTHING, initial
from octavo_rules.identity import ContentId, FileId

from packages.client.tests.stub_server import (
    CHANGE,
    FILE_DOCUMENT,
    REVISION,
    Stub,
    ok,
    problem,
    workspace_of,
)
from tests.e2e.octavo_process import PUBLIC
from tests.e2e.people import NO_TLS, Person
from tests.fakes.losing_transport import Fate, LossyTransport

START = "one\ntwo\nthree\n"


@pytest.fixture
def lossy_transport() -> LossyTransport:
    return LossyTransport()


@pytest.fixture
async def lossy(
    served: tuple[str, Person], lossy_transport: LossyTransport, workspace: WorkspaceClient
) -> AsyncIterator[WorkspaceClient]:
    """The workspace, over a connection that loses messages on demand."""
    url, person = served
    client = Client(
        url,
        entropy=SystemRandom(),
        key=person.key,
        origin=PUBLIC,
        retrying=Retrying(attempts=1),
        transport=lossy_transport,
        tls=NO_TLS,
    )
    async with client:
        yield client.workspace(workspace.id)


async def note(workspace: WorkspaceClient, text: str = START) -> FileId:
    return (await workspace.create(f"{workspace.new_file_id()}.md", text)).file_id


async def text_of(workspace: WorkspaceClient, file_id: FileId) -> str:
    """The text of the head, which is that of the document."""
    document = await NoteDocument.open(workspace, file_id)
    assert (await workspace.file(file_id)).text == document.text
    return document.text


async def start_new_generation(document: NoteDocument) -> None:
    """Save so much history with little text that the server discards it."""
    epoch = document.epoch
    rng = Random(1)
    for _ in range(6_000):
        document.insert(rng.randrange(4), "x")
        document.delete(2, 3)
    await document.save()
    assert document.epoch != epoch


async def test_edits_are_visible_locally_at_once_and_remotely_when_saved(
    workspace: WorkspaceClient,
) -> None:
    file_id = await note(workspace)
    document = await NoteDocument.open(workspace, file_id)
    assert (document.text, document.unsaved) == (START, False)
    document.insert(4, "1½ 🦉\n")
    document.delete(0, 4)
    document.replace(document.text.replace("three", "3"))
    assert (document.text, document.unsaved) == ("1½ 🦉\ntwo\n3\n", True)
    assert await text_of(workspace, file_id) == START
    saved = await document.save()
    assert (saved.outcome, document.unsaved) == ("merged", False)
    assert document.revision_id == saved.revision.id
    assert await text_of(workspace, file_id) == document.text


@pytest.mark.parametrize(("start", "end"), [(-1, 2), (3, 2), (0, 15), (15, 15)])
async def test_edit_outside_of_the_text_is_refused(
    workspace: WorkspaceClient, start: int, end: int
) -> None:
    document = await NoteDocument.open(workspace, await note(workspace))
    with pytest.raises(IndexError):
        document.delete(start, end)
    assert document.text == START


async def test_character_not_allowed_in_notes_is_refused_before_it_is_in_the_document(
    workspace: WorkspaceClient,
) -> None:
    document = await NoteDocument.open(workspace, await note(workspace))
    with pytest.raises(ValueError, match="NUL"):
        document.insert(0, "a\0b")
    with pytest.raises(ValueError, match="NUL"):
        document.replace("\0")
    assert (document.text, document.unsaved) == (START, False)


async def test_edits_of_two_devices_are_merged(workspace: WorkspaceClient) -> None:
    file_id = await note(workspace)
    first, second = [await NoteDocument.open(workspace, file_id) for _ in range(2)]
    first.insert(0, "zero\n")
    second.replace(START.replace("two", "2"))
    second.insert(len(second.text), "four 🦉\n")
    for each in (first, second, first):
        await each.save()
    assert first.text == second.text == "zero\none\n2\nthree\nfour 🦉\n"
    assert first.state_vector == second.state_vector
    assert await text_of(workspace, file_id) == first.text


async def test_save_without_edits_fetches_those_of_others(workspace: WorkspaceClient) -> None:
    made = await workspace.create("a.md", START)
    document = await NoteDocument.open(workspace, made.file_id)
    changed = await workspace.update(made.file_id, made.revision.id, text="new\n", path="b.md")
    saved = await document.save()
    assert (saved.outcome, document.text, document.path) == ("unchanged", "new\n", "b.md")
    assert document.revision_id == changed.revision.id


async def test_save_reads_no_whole_document(
    workspace: WorkspaceClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    file_id = await note(workspace)
    devices = [await NoteDocument.open(workspace, file_id) for _ in range(2)]
    monkeypatch.delattr(WorkspaceReader, "file")
    for number, document in enumerate(devices * 2):
        document.insert(number, f"{number} 🦉\n")
        document.delete(number, number + 1)
        await document.save()
        assert not document.unsaved


async def test_deletion_by_itself_is_saved(workspace: WorkspaceClient) -> None:
    file_id = await note(workspace)
    document = await NoteDocument.open(workspace, file_id)
    document.delete(0, 4)
    await document.save()
    assert await text_of(workspace, file_id) == "two\nthree\n"


async def test_edit_during_a_save_is_left_for_the_next(
    workspace: WorkspaceClient,
) -> None:
    file_id = await note(workspace)
    document, other = [await NoteDocument.open(workspace, file_id) for _ in range(2)]
    other.insert(0, "other\n")
    await other.save()
    document.insert(0, "saved\n")
    async with trio.open_nursery() as nursery:
        nursery.start_soon(document.save)
        await trio.testing.wait_all_tasks_blocked()
        document.insert(len(document.text), "later\n")
    assert document.unsaved
    assert "later" not in await text_of(workspace, file_id)
    await document.save()
    assert await text_of(workspace, file_id) == document.text
    assert sorted(document.text.split()) == sorted(["saved", "other", *START.split(), "later"])


@pytest.mark.parametrize("lost", ["request lost", "response lost"])
async def test_lost_save_is_resent_and_happens_once(
    lossy: WorkspaceClient, lossy_transport: LossyTransport, lost: Fate
) -> None:
    file_id = await note(lossy)
    document = await NoteDocument.open(lossy, file_id)
    document.insert(0, "once\n")
    lossy_transport.fates = [lost]
    with pytest.raises(ConnectionFailed) as failed:
        await document.save()
    assert failed.value.outcome_unknown
    assert document.unsaved
    document.insert(0, "then\n")
    saved = await document.save()
    assert await text_of(lossy, file_id) == document.text == f"then\nonce\n{START}"
    assert (saved.position, document.unsaved) == (3, False)


@pytest.mark.parametrize("seed", range(5))
async def test_devices_on_an_unreliable_network_keep_every_line_once(
    workspace: WorkspaceClient, lossy: WorkspaceClient, lossy_transport: LossyTransport, seed: int
) -> None:
    rng = Random(seed)
    file_id = await note(workspace)
    devices = [await NoteDocument.open(lossy, file_id) for _ in range(3)]
    lossy_transport.fates = rng.choices(("reaches", "request lost", "response lost"), k=40)
    lines = START.splitlines(keepends=True)
    for number in range(40):
        device = rng.choice(devices)
        # At the start of an existing line.
        starts = [0, *(at + 1 for at, each in enumerate(device.text) if each == "\n")]
        lines.append(f"line {number} 🦉\n")
        device.insert(rng.choice(starts), lines[-1])
        if rng.random() < 0.7:
            with suppress(ConnectionFailed):
                await device.save()
        if rng.random() < 0.3:
            # Its program ends, and starts again.
            devices[devices.index(device)] = NoteDocument.load(lossy, device.dump())
    lossy_transport.fates = []
    for device in [*devices, *devices]:
        await device.save()
    assert len({device.text for device in devices}) == 1
    assert await text_of(workspace, file_id) == devices[0].text
    assert sorted(devices[0].text.splitlines(keepends=True)) == sorted(lines)
    for device in devices:
        assert device.state_vector == devices[0].state_vector


async def test_stored_document_goes_on_in_another_program(workspace: WorkspaceClient) -> None:
    file_id = await note(workspace)
    document, other = [await NoteDocument.open(workspace, file_id) for _ in range(2)]
    document.insert(0, "zero 🦉\n")
    document.delete(7, 11)
    other.insert(len(other.text), "four\n")
    await other.save()
    again = NoteDocument.load(workspace, document.dump())
    assert (again.text, again.unsaved) == ("zero 🦉\ntwo\nthree\n", True)
    members = ("file_id", "path", "revision_id", "epoch", "state_vector")
    assert [getattr(again, each) for each in members] == [
        getattr(document, each) for each in members
    ]
    again.insert(0, "and ")
    await again.save()
    assert await text_of(workspace, file_id) == again.text == "and zero 🦉\ntwo\nthree\nfour\n"
    assert not NoteDocument.load(workspace, again.dump()).unsaved


async def test_document_that_was_stored_before_later_saves_merges_them(
    workspace: WorkspaceClient,
) -> None:
    file_id = await note(workspace)
    document = await NoteDocument.open(workspace, file_id)
    document.insert(0, "once\n")
    stored = document.dump()
    document.insert(0, "later\n")
    await document.save()
    again = NoteDocument.load(workspace, stored)
    again.insert(len(again.text), "last\n")
    await again.save()
    assert await text_of(workspace, file_id) == again.text == f"later\nonce\n{START}last\n"


async def test_stored_save_whose_response_was_lost_happens_once(
    workspace: WorkspaceClient, lossy: WorkspaceClient, lossy_transport: LossyTransport
) -> None:
    file_id = await note(lossy)
    document = await NoteDocument.open(lossy, file_id)
    document.insert(0, "once\n")
    lossy_transport.fates = ["response lost"]
    with pytest.raises(ConnectionFailed):
        await document.save()
    again = NoteDocument.load(workspace, document.dump())
    assert again.unsaved
    saved = await again.save()
    assert (saved.position, again.unsaved) == (2, False)
    assert await text_of(workspace, file_id) == f"once\n{START}"


@pytest.mark.parametrize("change", ["cut", "version", "text", "state", "nothing"])
async def test_bytes_that_are_no_stored_document_are_refused(
    workspace: WorkspaceClient, change: str
) -> None:
    document = await NoteDocument.open(workspace, await note(workspace))
    document.insert(0, "mine\n")
    stored = document.dump()
    members = json.loads(stored)
    empty = b64encode(NOTHING).decode()
    bad = {
        "cut": stored[:-10],
        "version": json.dumps(members | {"version": 2}).encode(),
        "text": json.dumps(members | {"edits": empty}).encode(),
        "state": json.dumps(members | {"synced": "AAAA"}).encode(),
        "nothing": b"",
    }
    with pytest.raises(ValueError, match="no document that was dumped"):
        NoteDocument.load(workspace, bad[change])


async def test_no_flipped_bit_of_a_stored_document_changes_what_is_loaded(
    workspace: WorkspaceClient,
) -> None:
    document = await NoteDocument.open(workspace, await note(workspace))
    document.insert(0, "mine\n")
    stored = document.dump()
    loaded = 0
    for at in range(len(stored)):
        damaged = stored[:at] + bytes((stored[at] ^ 1,)) + stored[at + 1 :]
        try:
            found = NoteDocument.load(workspace, damaged)
        except ValueError:
            continue
        # Of the last sign of base64, some bits are not used.
        assert found.dump() == stored
        loaded += 1
    assert loaded < 5


async def test_many_notes_are_read_with_their_documents(workspace: WorkspaceClient) -> None:
    file_ids = [await note(workspace) for _ in range(2)]
    found = await workspace.read(file_ids, document=True)
    documents = [NoteDocument(workspace, each) for each in found.items]
    assert [each.file_id for each in documents] == file_ids
    with pytest.raises(ValueError, match="with its document"):
        NoteDocument(workspace, (await workspace.read(file_ids)).items[0])


async def test_refused_save_keeps_the_edits_locally(workspace: WorkspaceClient) -> None:
    made = await workspace.create("a.md", START)
    document = await NoteDocument.open(workspace, made.file_id)
    document.insert(0, "kept\n")
    gone = await workspace.delete(made.file_id, made.revision.id)
    with pytest.raises(NotFoundError):
        await document.save()
    assert document.unsaved
    await workspace.restore(made.file_id, gone.revision.id)
    await document.save()
    assert await text_of(workspace, made.file_id) == f"kept\n{START}"


async def test_text_not_allowed_in_notes_is_refused_and_can_be_corrected(
    workspace: WorkspaceClient,
) -> None:
    file_id = await note(workspace)
    document = await NoteDocument.open(workspace, file_id)
    document.insert(0, "> " * 5_000)
    with pytest.raises(ProblemError) as refused:
        await document.save()
    assert refused.value.code == "unrenderable_note"
    document.replace(f"mended\n{START}")
    await document.save()
    assert await text_of(workspace, file_id) == f"mended\n{START}"


async def test_new_generation_begun_by_the_own_save_keeps_the_text(
    workspace: WorkspaceClient,
) -> None:
    document = await NoteDocument.open(workspace, await note(workspace))
    text = document.text
    await start_new_generation(document)
    assert await text_of(workspace, document.file_id) == document.text
    assert document.text.endswith(text[4:])
    document.insert(0, "and on\n")
    await document.save()
    assert await text_of(workspace, document.file_id) == document.text


async def test_unsaved_edits_are_carried_over_to_a_new_generation(
    workspace: WorkspaceClient,
) -> None:
    file_id = await note(workspace)
    first, second = [await NoteDocument.open(workspace, file_id) for _ in range(2)]
    second.insert(len(second.text), "carried over 🦉\n")
    second.delete(4, 8)
    await start_new_generation(first)
    await second.save()
    assert second.epoch == first.epoch
    assert second.text == first.text.replace("two\n", "") + "carried over 🦉\n"
    assert await text_of(workspace, file_id) == second.text
    await first.save()
    assert first.text == second.text


async def test_save_whose_response_was_lost_is_not_carried_over_twice(
    workspace: WorkspaceClient, lossy: WorkspaceClient, lossy_transport: LossyTransport
) -> None:
    file_id = await note(workspace)
    first = await NoteDocument.open(workspace, file_id)
    second = await NoteDocument.open(lossy, file_id)
    second.insert(len(second.text), "once\n")
    lossy_transport.fates = ["response lost"]
    with pytest.raises(ConnectionFailed):
        await second.save()
    await start_new_generation(first)
    second.insert(len(second.text), "then\n")
    await second.save()
    assert not second.unsaved
    assert second.text == await text_of(workspace, file_id)
    assert second.text.count("once\n") == second.text.count("then\n") == 1


async def test_mismatch_with_the_current_generation_is_raised() -> None:
    file = _with_document(START)
    stub = Stub([ok(file), problem(409, "epoch_mismatch"), ok(file)])
    async with stub.client() as client:
        opened = await NoteDocument.open(workspace_of(client), FileId(file["id"]))
        opened.insert(0, "kept\n")
        with pytest.raises(EpochMismatchError):
            await opened.save()
    assert (opened.text, opened.unsaved) == (f"kept\n{START}", True)


async def test_server_that_always_misses_what_updates_build_on_is_given_up() -> None:
    file = _with_document(START)
    stub = Stub([ok(file)])
    async with stub.client() as client:
        opened = await NoteDocument.open(workspace_of(client), FileId(file["id"]))
        opened.insert(0, "kept\n")
        stub.replies = [problem(422, "document_dependency_missing"), ok(file)] * 100
        with pytest.raises(ProblemError, match="document_dependency_missing"):
            await opened.save()
    bodies = [json.loads(each.content) for each in stub.requests if each.method == "POST"]
    assert len(bodies) == 4
    assert len({each["mutationId"] for each in bodies}) == 4
    assert (opened.text, opened.unsaved) == (f"kept\n{START}", True)


async def test_server_that_keeps_missing_what_it_accepted_is_given_up() -> None:
    file = _with_document(START)
    saved = {
        **CHANGE,
        "outcome": "merged",
        "epoch": file["document"]["epoch"],
        "update": b64encode(NOTHING).decode(),
        "stateVector": file["document"]["stateVector"],
    }
    stub = Stub([ok(file)])
    async with stub.client() as client:
        opened = await NoteDocument.open(workspace_of(client), FileId(file["id"]))
        opened.insert(0, "kept\n")
        stub.replies = [ok(saved), ok(file)] * 100
        with pytest.raises(UnexpectedResponse, match="keeps lacking"):
            await opened.save()
    bodies = [json.loads(each.content) for each in stub.requests if each.method == "POST"]
    assert len(bodies) == 4
    assert len({each["update"] for each in bodies}) == 1
    assert (opened.text, opened.unsaved) == (f"kept\n{START}", True)


def _with_document(text: str) -> dict[str, Any]:
    kept = initial(ContentId(REVISION["id"]), text)
    state, vector = (b64encode(each).decode() for each in (kept.state, kept.vector))
    document = {"epoch": kept.epoch, "state": state, "stateVector": vector}
    return {**FILE_DOCUMENT, "text": text, "document": document}


async def test_image_or_text_only_creates_no_document(workspace: WorkspaceClient) -> None:
    file = await workspace.file(await note(workspace))
    with pytest.raises(ValueError, match="with its document"):
        NoteDocument(workspace, file)
