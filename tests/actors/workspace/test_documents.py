"""The workspace actor and its documents: failures, other processes, memory."""

from base64 import b64encode
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress

import pytest
import trio
from octavo_rules.changes import SaveNote
from octavo_rules.documents.document import DocumentUpdate, initial
from octavo_rules.documents.encoding import read_state_vector
from octavo_rules.identity import Epoch, FileId
from octavo_rules.problems import DocumentMalformed, DocumentTooLarge, EpochMismatch

from octavo.actors.workspace.messages import ChangesetRefused, CommitFailed, GetUpdateSince
from octavo.features.links.sql import link_index, link_queries
from octavo.model.documents import update_log
from octavo.model.documents.integration import LoadCost
from octavo.model.documents.update_log import DocumentLimits
from octavo.model.files.changeset import UpdateFile
from octavo.model.refusal import TooManyFiles, UnrenderableNote
from octavo.store import StoreUnavailable, Transaction
from tests.actors.workspace.test_actor import text_of
from tests.fakes.faulty_store import FaultyStore
from tests.fakes.inline_documents import inline_documents
from tests.fakes.stores import open_inline
from tests.fakes.workspace_rig import VAULT, Rig, create_workspace, edit, note, serving
from tests.fakes.yjs_device import Device
from tests.yjs.wire import Section, text, written
from tests.yjs.wire import Update as Bytes

A = FileId("a")


async def device_of(rig: Rig, client: int = 7, file: str = "a") -> Device:
    found = await rig.whole(file)
    assert found.document is not None
    assert found.stored.text == Device.kept(found.document, 1).text
    return Device.kept(found.document, client)


def save_of(device: Device, file: str = "a") -> SaveNote:
    return SaveNote(FileId(file), Epoch(device.epoch), device.doc.get_update(device.known))


async def lacking(rig: Rig, device: Device, file: str = "a") -> DocumentUpdate:
    asked = GetUpdateSince(FileId(file), Epoch(device.epoch), device.vector())
    found = await rig.directory.ask(VAULT, asked)
    assert found is not None
    return found


def take(device: Device, found: DocumentUpdate) -> None:
    device.take({"epoch": found.epoch, "update": b64encode(found.update).decode()})


@asynccontextmanager
async def two_processes(*, shared: bool = True) -> AsyncIterator[tuple[FaultyStore, Rig, Rig]]:
    """Serve a note "start" from two processes on one store; ``shared``: they know that."""
    engine = open_inline()
    flaky = FaultyStore(engine)
    await create_workspace(flaky)
    one, two = inline_documents(client=101), inline_documents(client=102)
    async with (
        serving(flaky, shared=shared, documents=one) as here,
        serving(flaky, shared=shared, name="s", documents=two) as there,
    ):
        await here.push(note("a", "a.md", "start"))
        there.ids = here.ids
        yield flaky, here, there
    engine.close()


async def test_saves_of_one_batch_build_on_each_other() -> None:
    async with serving() as rig:
        await rig.push(note("a", "a.md", "start"))
        device = await device_of(rig)
        for number in range(5):
            device.insert(0, f"{number} ")
            await rig.push(save_of(device))
        assert await text_of(rig, "a") == "4 3 2 1 0 start"


@pytest.mark.parametrize("kept", [False, True])
async def test_save_with_an_unknown_outcome_happened_once_or_not_at_all(kept: bool) -> None:
    engine = open_inline()
    flaky = FaultyStore(engine)
    await create_workspace(flaky)
    async with serving(flaky) as rig:
        await rig.push(note("a", "a.md", "start"))
        device = await device_of(rig)
        device.insert(0, "saved ")
        save = save_of(device)
        flaky.fail, flaky.commits_anyway = StoreUnavailable("gone", outcome_unknown=True), kept
        with pytest.raises(CommitFailed):
            await rig.push(save, mutation="doubtful")
        assert await text_of(rig, "a") == ("saved start" if kept else "start")
        # What was never committed must not appear in a document that is committed later.
        other = await device_of(rig, 8)
        other.insert(len(other.text), " other")
        await rig.push(save_of(other))
        assert await text_of(rig, "a") == ("saved start other" if kept else "start other")
        await rig.push(save, mutation="doubtful")
        assert await text_of(rig, "a") == "saved start other"
        await device_of(rig)
    engine.close()


async def test_concurrent_save_of_another_process_loses_nothing() -> None:
    async with two_processes() as (flaky, here, there):
        first, second = await device_of(here, 7), await device_of(here, 8)
        await here.push(edit(await head_id(here), text="start!"))
        first.insert(0, "first ")
        second.insert(len(second.text), " second")

        async def meanwhile() -> None:
            await there.push(save_of(second))

        flaky.before_write = meanwhile
        await here.push(save_of(first))
        for device, rig in ((first, here), (second, there)):
            take(device, await lacking(rig, device))
        assert first.text == second.text == await text_of(here, "a")
        assert first.text in ("first start second!", "first start! second")


async def test_text_write_of_another_process_is_no_work_of_this_one() -> None:
    async with two_processes(shared=False) as (_, here, there):
        await here.push(edit(await head_id(here), text="start here"))
        device = await device_of(here)
        head = await there.head("a")
        assert head is not None
        await there.push(edit(head, text="start here and there"))
        device.insert(0, "device: ")
        await here.push(save_of(device))
        assert await text_of(here, "a") == "device: start here and there"
        take(device, await lacking(here, device))
        assert device.text == "device: start here and there"


async def stored_documents(rig: Rig) -> int:
    async def count(transaction: Transaction) -> int:
        row = await transaction.fetch_one("SELECT COUNT(*) FROM documents")
        assert row is not None
        return int(row[0])

    return await rig.store.read(count)


async def test_texts_need_no_document_until_somebody_has_read_one() -> None:
    async with serving() as rig:
        await rig.push(note("a", "a.md", "one"), note("b", "b.md", "one"))
        for text in ("two", "three"):
            await rig.push(edit(await head_id(rig), text=text))
        assert await stored_documents(rig) == 0
        device = await device_of(rig)
        assert (device.text, device.epoch) == ("three", await head_id(rig))
        for text in ("three four", "three five"):
            await rig.push(edit(await head_id(rig), text=text))
            assert await stored_documents(rig) == 1
        take(device, await lacking(rig, device))
        assert device.text == "three five"
        assert await stored_documents(rig) == 1


@pytest.mark.parametrize("asked", [False, True])
async def test_edits_made_offline_merge_with_texts_written_since(asked: bool) -> None:
    engine = open_inline()
    await create_workspace(engine)
    async with serving(engine, documents=inline_documents(client=101)) as rig:
        await rig.push(note("a", "a.md", "start here"))
        device = await device_of(rig)
        if asked:
            take(device, await lacking(rig, device))
        device.insert(0, "offline: ")
        for text in ("start over there", "start there"):
            await rig.push(edit(await head_id(rig), text=text))
    # Another process, without what the first one had in memory.
    async with serving(engine, name="s", documents=inline_documents(client=102)) as rig:
        await rig.push(save_of(device))
        take(device, await lacking(rig, device))
        assert device.text == await text_of(rig, "a") == "offline: start there"
        assert (await device_of(rig)).epoch == device.epoch
    engine.close()


async def test_two_processes_that_bring_a_document_up_to_date_give_away_the_same() -> None:
    async with two_processes() as (flaky, here, there):
        first, second = await device_of(here, 7), await device_of(there, 8)
        await here.push(edit(await head_id(here), text="start over"))

        async def meanwhile() -> None:
            take(second, await lacking(there, second))

        flaky.before_write = meanwhile
        take(first, await lacking(here, first))
        assert first.text == second.text == "start over"
        second.insert(0, "second ")
        await there.push(save_of(second))
        take(first, await lacking(here, first))
        assert first.text == second.text == await text_of(here, "a") == "second start over"


async def test_document_in_memory_that_another_process_brought_up_to_date_is_read_again() -> None:
    async with two_processes() as (_, here, there):
        device = await device_of(here)
        device.insert(0, "the ")
        await there.push(save_of(device))
        # Both have it in memory.
        for rig in (here, there):
            take(device, await lacking(rig, device))
        # Its own texts discard nothing.
        await there.push(edit(await head_id(there), text="the start over"))
        for rig in (here, there):
            take(device, await lacking(rig, device))
            assert device.text == "the start over"
        device.insert(0, "and ")
        await there.push(save_of(device))
        assert await text_of(here, "a") == "and the start over"
        assert (await device_of(here)).text == "and the start over"


async def test_document_that_could_not_be_stored_is_not_given_away() -> None:
    engine = open_inline()
    flaky = FaultyStore(engine)
    await create_workspace(flaky)
    async with serving(flaky) as rig:
        await rig.push(note("a", "a.md", "start"))
        device = await device_of(rig)
        await rig.push(edit(await head_id(rig), text="start over"))
        flaky.fail = StoreUnavailable("gone", outcome_unknown=True)
        with pytest.raises(CommitFailed):
            await lacking(rig, device)
        take(device, await lacking(rig, device))
        assert device.text == "start over"
        device.insert(0, "and ")
        await rig.push(save_of(device))
        assert await text_of(rig, "a") == "and start over"
    engine.close()


async def test_save_on_an_unrecorded_document_that_is_refused_leaves_it_unrecorded() -> None:
    async with serving() as rig:
        await rig.push(note("a", "a.md", "start"))
        # The epoch is the id of the revision, which is no secret.
        refused = SaveNote(A, Epoch(await head_id(rig)), b"no update")
        await rig.refusal(refused)
        await rig.push(edit(await head_id(rig), text="start over"))
        device = await device_of(rig)
        assert (device.text, device.epoch) == ("start over", await head_id(rig))


@pytest.mark.parametrize("damage", ["state", "kept text", "no content"])
async def test_document_that_is_damaged_begins_anew_with_the_next_text(damage: str) -> None:
    engine = open_inline()
    await create_workspace(engine)

    async def execute(sql: str) -> None:
        async def script(transaction: Transaction) -> None:
            await transaction.execute(sql)

        await engine.write(script)

    async with serving(engine, documents=inline_documents(max_bytes=0)) as rig:
        await rig.push(note("a", "a.md", "start"), note("b", "b.md", "other"))
        device = await device_of(rig)
        if damage == "state":
            device.insert(0, "saved ")
            await rig.push(save_of(device))
            await execute("UPDATE documents SET base_state = x'0909', vector = x'00'")
            device.insert(0, "and ")
            assert isinstance(await rig.refusal(save_of(device)), DocumentMalformed)
        await rig.push(edit(await head_id(rig), text="new"))
        if damage == "kept text":
            await execute("UPDATE documents SET base_state = x'0909'")
        if damage == "no content":
            await execute("UPDATE documents SET content_revision_id = NULL")
        # Others are not affected.
        other = await device_of(rig, file="b")
        other.insert(0, "an ")
        await rig.push(save_of(other, "b"))
        again = await device_of(rig)
        assert again.text == "new"
        again.insert(0, "and ")
        await rig.push(save_of(again))
        assert await text_of(rig, "a") == "and new"
        assert (await device_of(rig)).epoch == again.epoch
    engine.close()


async def head_id(rig: Rig, file: str = "a") -> str:
    head = await rig.head(file)
    assert head is not None
    return head.revision_id


async def test_document_outlives_its_cache_entry() -> None:
    documents = inline_documents(max_bytes=0)
    async with serving(documents=documents) as rig:
        await rig.push(note("a", "a.md", "start"))
        device = await device_of(rig)
        for number in range(3):
            device.insert(0, f"{number} ")
            await rig.push(save_of(device))
            await rig.push(edit(await head_id(rig), text=f"{await text_of(rig, 'a')}."))
        take(device, await lacking(rig, device))
        assert device.text == await text_of(rig, "a") == "2 1 0 start..."


async def test_history_is_discarded_and_the_text_stays() -> None:
    limits = DocumentLimits(history=3, history_free=200)
    async with serving(documents=inline_documents(limits=limits)) as rig:
        await rig.push(note("a", "a.md", "start"))
        device, late = await device_of(rig, 7), await device_of(rig, 8)
        epochs = {device.epoch}
        for number in range(60):
            device.insert(0, f"{number} ")
            device.delete(0, len(f"{number} "))
            device.insert(0, ".")
            await rig.push(save_of(device))
            take(device, await lacking(rig, device))
            epochs.add(device.epoch)
        assert 1 < len(epochs) < 30
        assert device.text == await text_of(rig, "a") == "." * 60 + "start"
        late.insert(0, "late ")
        assert isinstance(await rig.refusal(save_of(late)), EpochMismatch)
        found = await lacking(rig, late)
        assert found.epoch == device.epoch
        take(late, found)
        assert late.text == device.text


async def test_document_with_costly_history_from_small_saves_discards_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(update_log, "MAX_STEPS", 40)
    counted: list[int] = []

    def loading(state: bytes) -> LoadCost:
        counted.append(len(state))
        return LoadCost(steps=41 if len(counted) == 3 else 40, pieces=len(counted))

    monkeypatch.setattr(update_log, "loading", loading)
    async with serving() as rig:
        await rig.push(note("a", "a.md", "start"))
        device = await device_of(rig)
        epochs = [device.epoch]
        while len(counted) < 3:
            device.insert(2, "x")
            await rig.push(save_of(device))
            take(device, await lacking(rig, device))
            epochs.append(device.epoch)
        assert len(set(epochs[:-1])) == 1
        assert epochs[-1] != epochs[0]
        assert device.text == await text_of(rig, "a") == "st" + "x" * (len(epochs) - 1) + "art"


async def test_save_after_discarded_history_is_of_another_generation() -> None:
    limits = DocumentLimits(history=1, history_free=10)
    async with serving(documents=inline_documents(limits=limits)) as rig:
        await rig.push(note("a", "a.md", "x" * 100))
        one, two = await device_of(rig, 7), await device_of(rig, 8)
        one.insert(50, "1")
        two.insert(50, "2")
        await rig.push(save_of(one))
        assert isinstance(await rig.refusal(save_of(two)), EpochMismatch)
        assert await text_of(rig, "a") == "x" * 50 + "1" + "x" * 50


@pytest.mark.parametrize(
    ("limits", "text"),
    [
        (DocumentLimits(update=64), "x" * 64),
        (DocumentLimits(state=200), "x" * 200),
    ],
)
async def test_save_past_a_bound_changes_nothing(limits: DocumentLimits, text: str) -> None:
    async with serving(documents=inline_documents(limits=limits)) as rig:
        await rig.push(note("a", "a.md", "start"))
        device = await device_of(rig)
        before = device.doc.get_update()
        device.insert(0, text)
        assert isinstance(await rig.refusal(save_of(device)), DocumentTooLarge)
        again = await device_of(rig)
        assert again.doc.get_update() == before
        again.insert(0, "small ")
        await rig.push(save_of(again))
        assert await text_of(rig, "a") == "small start"


async def test_text_that_cannot_be_rendered_is_undone() -> None:
    def check(text: str) -> None:
        if "!" in text:
            raise UnrenderableNote("no", limit="!", maximum=0, found=1)

    documents = inline_documents(check_text=check)
    async with serving(documents=documents) as rig:
        await rig.push(note("a", "a.md", "start"))
        device = await device_of(rig)
        device.insert(0, "ok ")
        await rig.push(save_of(device))
        device.insert(0, "!")
        for _ in range(2):
            assert isinstance(await rig.refusal(save_of(device)), UnrenderableNote)
        device.delete(0, 1)
        await rig.push(save_of(device))
        assert await text_of(rig, "a") == "ok start"
        await device_of(rig)


async def test_update_that_would_read_differently_once_stored_begins_a_new_generation() -> None:
    async with serving() as rig:
        await rig.push(note("a", "a.md", ""))
        device = await device_of(rig)
        state = Bytes([Section(5, 0, [text("ab")]), Section(3, 0, [text("xy", (5, 0))])])
        await rig.push(SaveNote(A, Epoch(device.epoch), state.encoded()))
        assert await text_of(rig, "a") == "axyb"
        device = await device_of(rig)
        device.insert(4, " honest")
        forged = SaveNote(A, Epoch(device.epoch), written(20, 0, text("!", None, (3, 1))).encoded())
        honest = save_of(device)
        async with trio.open_nursery() as nursery:
            nursery.start_soon(rig.push, forged)
            nursery.start_soon(rig.push, honest)
        found = await text_of(rig, "a")
        assert found is not None
        assert sorted(found) == sorted("axyb honest!")
        again = await device_of(rig)
        assert again.epoch != device.epoch
        assert again.text == found


async def forge(rig: Rig) -> None:
    """Make a note whose document reads the same once it is stored, but not after a later write."""
    await rig.push(note("a", "a.md", "ABCD"))
    device = await device_of(rig)
    [mouse] = read_state_vector(device.doc.get_state())
    first = Bytes(
        [Section(2, 0, [text("ed", None, (mouse, 1))]), Section(7, 0, [text("f", (2, 0))])]
    )
    structs = [text("ae", None, (2, 1)), text("g", (7, 0)), text("dac", (7, 0))]
    second = Bytes([Section(3, 0, structs)], [(mouse, [(1, 2)])])
    for update in (first, second):
        await rig.push(SaveNote(A, Epoch(device.epoch), update.encoded()))


@pytest.mark.explore(schedules=20, early_time=False)
async def test_no_save_is_lost_when_a_new_generation_begins_within_its_batch() -> None:
    async with serving() as rig:
        await forge(rig)
        honest = await device_of(rig, 1234567)
        changed = f"{honest.text[:1]}W{honest.text[1:]}"
        await rig.push(edit(await head_id(rig), text=changed))
        head = await rig.head("a")
        assert head is not None
        # What will begin is known: the insertion of the text of the head.
        forged = Device.kept(initial(head.content_id, changed), 99)
        forged.insert(0, "forged ")
        honest.insert(0, "honest ")
        accepted: list[str] = []

        async def save(device: Device, word: str) -> None:
            with suppress(ChangesetRefused):
                await rig.push(save_of(device))
                accepted.append(word)

        async with trio.open_nursery() as nursery:
            nursery.start_soon(save, honest, "honest ")
            nursery.start_soon(save, forged, "forged ")
        found = await text_of(rig, "a")
        assert found is not None
        assert accepted
        assert [each for each in accepted if each not in found] == []
        assert (await device_of(rig)).text == found


@pytest.mark.parametrize("refused", [False, True], ids=["", "beside a refused save"])
@pytest.mark.parametrize("max_bytes", [0, 1 << 20], ids=["forgotten", "in memory"])
@pytest.mark.parametrize("at", range(11))
async def test_note_with_a_hostile_document_accepts_valid_edits_and_texts(
    at: int, max_bytes: int, refused: bool
) -> None:
    def check(text: str) -> None:
        if "!" in text:
            raise UnrenderableNote("no", limit="!", maximum=0, found=1)

    documents = inline_documents(max_bytes=max_bytes, check_text=check)
    async with serving(documents=documents) as rig:
        await forge(rig)
        device = await device_of(rig, 1234567)
        device.insert(at, "x")
        await rig.push(save_of(device))
        assert await text_of(rig, "a") == device.text
        for word in ("W", "WX Y"):
            device = await device_of(rig)
            changed = device.text[:at] + word + device.text[at:]
            await rig.push(edit(await head_id(rig), text=changed))
            if refused:
                device.insert(0, "!")
                assert isinstance(await rig.refusal(save_of(device)), UnrenderableNote)
            assert await text_of(rig, "a") == changed
            assert (await device_of(rig)).text == changed


async def test_note_older_than_a_limit_does_not_prevent_moves_of_others() -> None:
    def check(text: str) -> None:
        if "!" in text:
            raise UnrenderableNote("no", limit="!", maximum=0, found=1)

    async with serving(documents=inline_documents(check_text=check)) as rig:
        await rig.push(note("a", "topic.md"), note("b", "b.md", "[it](topic.md) !"))
        move = UpdateFile(A, frozenset({await head_id(rig)}), path="theme.md", rewrite_links=True)
        await rig.push(move)
        assert await text_of(rig, "b") == "[it](theme.md) !"


async def test_purged_file_has_no_document_to_miss() -> None:
    async with serving() as rig:
        asked = GetUpdateSince(A, Epoch("none"), b"\0")
        assert await rig.directory.ask(VAULT, asked) is None


async def test_links_are_rewritten_in_the_text_of_another_process() -> None:
    engine = open_inline()
    flaky = FaultyStore(engine)
    await create_workspace(flaky)
    async with serving(flaky) as here, serving(flaky, name="s") as there:
        await here.push(note("a", "topic.md"))
        await here.push(note("b", "b.md", "[it](topic.md)"))
        there.ids = here.ids
        head = await there.head("b")
        assert head is not None

        async def meanwhile() -> None:
            await there.push(edit(head, text="changed, and still [it](topic.md)"))

        flaky.before_write = meanwhile
        move = UpdateFile(A, frozenset({await head_id(here)}), path="theme.md", rewrite_links=True)
        receipt = await here.push(move)
        assert [each.head.file_id for each in receipt.outcomes] == ["a", "b"]
        assert await text_of(here, "b") == "changed, and still [it](theme.md)"
    engine.close()


@pytest.mark.parametrize(
    "may_lack",
    [pytest.param(0, id="while updating the index"), pytest.param(9, id="before commit")],
)
async def test_links_that_another_process_adds_meanwhile_are_rewritten(
    may_lack: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(link_index, "MAX_FILES", may_lack)
    engine = open_inline()
    flaky = FaultyStore(engine)
    await create_workspace(flaky)
    async with serving(flaky) as here, serving(flaky, name="s") as there:
        await here.push(note("a", "topic.md"), note("b", "b.md", "[it](topic.md)"))
        there.ids = here.ids

        async def meanwhile() -> None:
            await there.push(note("c", "c.md", "[[topic]]"))

        flaky.before_write = meanwhile
        move = UpdateFile(A, frozenset({await head_id(here)}), path="theme.md", rewrite_links=True)
        receipt = await here.push(move)
        assert [each.head.file_id for each in receipt.outcomes] == ["a", "b", "c"]
        assert (await text_of(here, "b"), await text_of(here, "c")) == (
            "[it](theme.md)",
            "[[theme]]",
        )
    engine.close()


async def test_more_links_than_one_changeset_rewrites_are_refused(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(link_queries, "MAX_NOTES", 2)
    async with serving() as rig:
        await rig.push(note("a", "topic.md"))
        await rig.push(*(note(f"n{n}", f"{n}.md", "[it](topic.md)") for n in range(3)))
        move = UpdateFile(A, frozenset({await head_id(rig)}), path="theme.md", rewrite_links=True)
        assert isinstance(await rig.refusal(move), TooManyFiles)
        assert isinstance(await rig.refusal(move, mutation="m"), TooManyFiles)
        assert await text_of(rig, "n0") == "[it](topic.md)"
