"""Updates of devices are stored beside the document of their note, until it is stored whole."""

from collections.abc import Awaitable, Callable

import pytest
import trio
from octavo_rules.changes import PurgeFile
from octavo_rules.content import note_text
from octavo_rules.documents.document import MergeUpdates
from octavo_rules.identity import FileId, Position, RevisionId

from octavo.actors.workspace.messages import RebuildDocuments
from octavo.actors.workspace.planning import read_current
from octavo.documents import merged
from octavo.features.history.rules.retention import Retention
from octavo.features.history.sql.history_pruning import FileKey, prune_file
from octavo.model.documents import update_log
from octavo.model.documents.integration import UNITS_A_STEP, LoadCost
from octavo.model.documents.update_log import DocumentLimits
from octavo.model.files.changeset import DeleteFile, RestoreFile
from octavo.store import Store, Transaction
from octavo.store.queries.documents import documents_of
from octavo.store.queries.files import WholeFile, whole_file
from tests.actors.workspace.test_actor import text_of
from tests.actors.workspace.test_documents import (
    device_of,
    head_id,
    lacking,
    save_of,
    take,
    two_processes,
)
from tests.fakes.faulty_store import FaultyStore
from tests.fakes.inline_documents import inline_documents
from tests.fakes.stores import open_inline
from tests.fakes.workspace_rig import VAULT, Rig, create_workspace, edit, note, serving
from tests.fakes.yjs_device import Device

FEW = DocumentLimits(logged=3)


async def rows(store: Store, table: str) -> int:
    async def count(transaction: Transaction) -> int:
        row = await transaction.fetch_one(f"SELECT COUNT(*) FROM {table}")
        assert row is not None
        return int(row[0])

    return await store.read(count)


async def execute(store: Store, sql: str) -> None:
    async def run(transaction: Transaction) -> None:
        await transaction.execute(sql)

    await store.write(run)


async def type_words(rig: Rig, *words: str) -> Device:
    """Save each word from a device."""
    device = await device_of(rig)
    for word in words:
        device.insert(len(device.text), word)
        await rig.push(save_of(device))
    return device


@pytest.mark.parametrize("max_bytes", [0, 1 << 20], ids=["forgotten", "in memory"])
async def test_updates_are_stored_beside_the_document_until_they_are_many(max_bytes: int) -> None:
    documents = inline_documents(limits=FEW, max_bytes=max_bytes)
    async with serving(documents=documents) as rig:
        await rig.push(note("a", "a.md", "start"))
        device = await device_of(rig)
        beside: list[int] = []
        text = "start"
        for number in range(9):
            device.insert(len(device.text), f" {number}")
            text += f" {number}"
            await rig.push(save_of(device))
            beside.append(await rows(rig.store, "document_updates"))
            take(device, await lacking(rig, device))
            assert device.text == await text_of(rig, "a") == text
        # The first one is stored whole: the document was derived from its text before.
        assert beside == [0, 1, 2, 3, 0, 1, 2, 3, 0]
        assert (await device_of(rig)).epoch == device.epoch


@pytest.mark.parametrize("max_bytes", [0, 1 << 20], ids=["forgotten", "in memory"])
async def test_updates_that_split_texts_are_few_beside_a_long_text(
    monkeypatch: pytest.MonkeyPatch, max_bytes: int
) -> None:
    # As in a text of 1 MB: each insertion may split two texts of 1000 units.
    monkeypatch.setattr(update_log, "MAX_MERGING_STEPS", 1000 // UNITS_A_STEP * 8)
    async with serving(documents=inline_documents(max_bytes=max_bytes)) as rig:
        await rig.push(note("a", "a.md", "x" * 1000))
        device = await device_of(rig)
        beside: list[int] = []
        for number in range(7):
            device.insert(10 * number, "y")
            await rig.push(save_of(device))
            take(device, await lacking(rig, device))
            beside.append(await rows(rig.store, "document_updates"))
        # Of those that it has read, their bytes alone are known.
        assert beside == ([0, 1, 0, 1, 0, 1, 0] if max_bytes == 0 else [0, 1, 2, 3, 0, 1, 2])
        assert (await device_of(rig)).text == await text_of(rig, "a") == device.text


@pytest.mark.parametrize("max_bytes", [0, 1 << 20], ids=["forgotten", "in memory"])
async def test_whoever_reads_a_document_has_it_stored_whole(max_bytes: int) -> None:
    async with serving(documents=inline_documents(max_bytes=max_bytes)) as rig:
        await rig.push(note("a", "a.md", "start"))
        await type_words(rig, " 1", " 2", " 3")
        assert await rows(rig.store, "document_updates") == 2
        device = await device_of(rig)
        assert device.text == "start 1 2 3"
        assert await rows(rig.store, "document_updates") == 0
        device.insert(0, "again ")
        await rig.push(save_of(device))
        assert await rows(rig.store, "document_updates") == 1
        assert (await device_of(rig)).text == await text_of(rig, "a") == "again start 1 2 3"


async def test_devices_that_go_on_saving_keep_nobody_from_reading() -> None:
    async with serving() as rig:
        await rig.push(note("a", "a.md", "start"))
        await type_words(rig, " 1", " 2")
        busy = await device_of(rig)
        reads = 0

        async def read(merge: MergeUpdates | None) -> WholeFile | None:
            nonlocal reads
            reads += 1
            busy.insert(len(busy.text), f" {reads}")
            await rig.push(save_of(busy))
            return await rig.store.read(whole_file(VAULT, FileId("a"), merge))

        async def follow(message: RebuildDocuments) -> bool:
            await rig.directory.ask(VAULT, message)
            return True

        found = await read_current(read, lambda whole: [whole] if whole else [], follow)
        assert found is not None
        assert found.document is not None
        assert not found.behind
        assert found.document.epoch == busy.epoch
        assert Device.kept(found.document, 9).text == found.stored.text == busy.text
        assert reads == 2


async def test_document_that_can_not_be_stored_whole_is_read_all_the_same() -> None:
    engine = open_inline()
    flaky = FaultyStore(engine)
    await create_workspace(flaky)
    async with serving(flaky) as rig:
        await rig.push(note("a", "a.md", "start"))
        await type_words(rig, " 1", " 2")
        epoch = (await device_of(rig)).epoch
        await type_words(rig, " 3")

        async def follow(_: RebuildDocuments) -> bool:
            # As on a full disk.
            return False

        found = await read_current(
            lambda merge: rig.store.read(whole_file(VAULT, FileId("a"), merge)),
            lambda whole: [whole] if whole else [],
            follow,
        )
        assert found is not None
        assert found.document is not None
        assert found.document.epoch == epoch
        assert Device.kept(found.document, 9).text == "start 1 2 3"
    engine.close()


async def test_updates_of_one_batch_share_a_row() -> None:
    engine = open_inline()
    await create_workspace(engine)
    async with serving(engine, documents=inline_documents(limits=FEW)) as rig:
        await rig.push(note("a", "a.md", "start"))
        await type_words(rig, "!")
        one, two = await device_of(rig, 7), await device_of(rig, 8)
        one.insert(0, "one ")
        two.insert(0, "two ")
        async with trio.open_nursery() as nursery:
            nursery.start_soon(rig.push, save_of(one))
            nursery.start_soon(rig.push, save_of(two))
        assert await rows(engine, "document_updates") == 1
        found = await text_of(rig, "a")
        assert sorted(found or "") == sorted("one two start!")
    async with serving(engine, name="s", documents=inline_documents(client=102)) as rig:
        assert (await device_of(rig)).text == found
        take(one, await lacking(rig, one))
        assert one.text == found
    engine.close()


async def test_text_that_is_written_follows_all_updates_and_clears_them() -> None:
    documents = inline_documents(limits=FEW, max_bytes=0)
    async with serving(documents=documents) as rig:
        await rig.push(note("a", "a.md", "start"))
        offline = await type_words(rig, " 1", " 2", " 3")
        offline.insert(0, "offline ")
        await rig.push(edit(await head_id(rig), text="start 1 2 3 written"))
        # The document stays as it is until somebody needs it.
        assert await rows(rig.store, "document_updates") == 2
        await rig.push(save_of(offline))
        assert await text_of(rig, "a") == "offline start 1 2 3 written"
        assert await rows(rig.store, "document_updates") == 0
        assert (await device_of(rig)).text == "offline start 1 2 3 written"


async def test_purged_note_leaves_no_updates() -> None:
    async with serving() as rig:
        await rig.push(note("a", "a.md", "start"))
        await type_words(rig, " 1", " 2")
        assert await rows(rig.store, "document_updates") == 1
        head = frozenset({RevisionId(await head_id(rig))})
        await rig.push(DeleteFile(FileId("a"), head))
        await rig.push(PurgeFile(FileId("a")))
        assert await rows(rig.store, "document_updates") == await rows(rig.store, "documents") == 0


async def test_refused_update_leaves_those_before_it_in_the_document() -> None:
    async with serving() as rig:
        await rig.push(note("a", "a.md", "start"))
        device = await type_words(rig, " 1", " 2")
        device.insert(0, "\0")
        await rig.refusal(save_of(device))
        await type_words(rig, " 3")
        assert await text_of(rig, "a") == "start 1 2 3"
        assert (await device_of(rig)).text == "start 1 2 3"


async def test_process_appends_to_a_document_that_another_one_has_stored_whole() -> None:
    async with two_processes() as (flaky, here, there):
        device = await type_words(here, " 1", " 2")
        take(device, await lacking(here, device))
        # As retention does: the position stays, and so does what this process has in memory.
        found = await flaky.read(whole_file(VAULT, FileId("a"), merged))
        assert found is not None
        assert found.document is not None
        state, vector = found.document.state.hex(), found.document.vector.hex()
        await execute(flaky, f"UPDATE documents SET base_state = x'{state}', vector = x'{vector}'")
        await execute(flaky, "DELETE FROM document_updates")
        device.insert(len(device.text), " 3")
        await here.push(save_of(device))
        assert await rows(flaky, "document_updates") == 1
        assert (await device_of(there)).text == await text_of(there, "a") == "start 1 2 3"


async def test_nothing_is_appended_to_a_document_of_another_epoch() -> None:
    async with two_processes() as (flaky, here, there):
        device = await type_words(here, " 1", " 2")
        before = device.epoch
        take(device, await lacking(here, device))
        await execute(flaky, "DELETE FROM documents")
        await execute(flaky, "DELETE FROM document_updates")
        device.insert(len(device.text), " 3")
        await here.refusal(save_of(device))
        again = await device_of(there)
        assert again.epoch != before
        assert again.text == await text_of(there, "a") == "start 1 2"


@pytest.mark.parametrize("damage", ["x'05'", "x'0300'", "x'03010101'"])
async def test_damaged_update_is_reported_and_a_text_begins_anew(damage: str) -> None:
    engine = open_inline()
    await create_workspace(engine)
    async with serving(engine) as rig:
        await rig.push(note("a", "a.md", "start"))
        device = await type_words(rig, " 1", " 2")
    await execute(engine, f"UPDATE document_updates SET updates = {damage}")
    async with serving(engine, name="s", documents=inline_documents(client=102)) as rig:
        device.insert(0, "lost? ")
        await rig.refusal(save_of(device))
        assert await text_of(rig, "a") == "start 1 2"
        await rig.push(edit(await head_id(rig), text="written"))
        assert (await device_of(rig)).text == "written"
        assert await rows(engine, "document_updates") == 0
        await type_words(rig, " again")
        assert await text_of(rig, "a") == (await device_of(rig)).text == "written again"
    engine.close()


async def test_restored_text_has_a_readable_document_whatever_was_preserved() -> None:
    async with serving() as rig:
        await rig.push(note("a", "a.md", "start"))
        first = await head_id(rig)
        device = await device_of(rig)
        await rig.push(edit(first, text="other"))
        expected = frozenset({RevisionId(await head_id(rig))})
        restored = RestoreFile(FileId("a"), expected, None, note_text("start"), RevisionId(first))
        await rig.push(restored)
        assert await text_of(rig, "a") == "start"
        again = await device_of(rig)
        assert again.text == "start"
        device.insert(0, "offline ")
        await rig.push(save_of(device))
        assert await text_of(rig, "a") == "offline start"
        assert (await device_of(rig)).text == "offline start"


async def test_document_whose_pieces_were_counted_is_stored_whole(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(update_log, "MAX_STEPS", 40)
    monkeypatch.setattr(update_log, "loading", lambda _: LoadCost(steps=1, pieces=1))
    async with serving() as rig:
        await rig.push(note("a", "a.md", "start"))
        device = await device_of(rig)
        beside: list[int] = []
        for number in range(8):
            device.insert(2, f"{number}")
            await rig.push(save_of(device))
            beside.append(await rows(rig.store, "document_updates"))
            take(device, await lacking(rig, device))
        # Merging those before may have taken as long as loading all of it.
        assert beside == [0, 1, 0, 1, 2, 3, 0, 1]
        assert (await device_of(rig)).text == await text_of(rig, "a") == device.text


async def secret_beside_the_document(rig: Rig) -> None:
    """Insert a text beside the document, and delete it there."""
    device = await type_words(rig, "!", "!", "SECRET")
    take(device, await lacking(rig, device))
    device.delete(len(device.text) - 6, len(device.text))
    await rig.push(save_of(device))


async def secret_in_the_document(rig: Rig) -> None:
    """Insert a text, have it stored whole, and delete it beside it."""
    device = await type_words(rig, "!")
    device.insert(0, "SECRET")
    await rig.push(save_of(device))
    device = await device_of(rig)
    device.delete(0, 6)
    await rig.push(save_of(device))


async def secret_sent_again(rig: Rig) -> None:
    """Save a text, have it deleted, and send it once more with what follows."""
    device = await device_of(rig, 9)
    device.insert(0, "SECRET")
    await rig.push(save_of(device))
    other = await device_of(rig, 10)
    other.delete(0, 6)
    await rig.push(save_of(other))
    await device_of(rig, 11)
    device.insert(len(device.text), " more")
    await rig.push(save_of(device))


@pytest.mark.parametrize(
    "write", [secret_beside_the_document, secret_in_the_document, secret_sent_again]
)
async def test_text_of_a_pruned_revision_is_in_no_document(
    write: Callable[[Rig], Awaitable[None]],
) -> None:
    engine = open_inline()
    await create_workspace(engine)
    async with serving(engine) as rig:
        await rig.push(note("a", "a.md", "start"))
        await write(rig)
        text = await text_of(rig, "a")
        assert await rows(engine, "document_updates") > 0
        after: Position | None = Position(0)
        while after is not None:
            step = prune_file(FileKey(1, 1), after, Retention(0, 0, 1), 2_000_000_000_000, merged)
            after = await engine.write(step)
        assert await rows(engine, "revisions") == 0
        found = await engine.read(documents_of(VAULT, (FileId("a"),)))
        assert found is not None
        stored = found.documents[FileId("a")].stored
        assert stored is not None
        assert not any(b"SECRET" in each for each in (stored.document.state, *stored.updates))
        assert (await device_of(rig, 12)).text == text
    engine.close()
