"""Documents with updates that no editor writes read as their notes do, wherever they are stored.

Such updates refer to positions that no editor refers to; the text then depends on the order in
which updates are applied.
"""

from collections.abc import Callable
from dataclasses import replace
from random import Random
from typing import TypeVar

import pytest
from octavo_rules.changes import SaveNote
from octavo_rules.documents.document import initial
from octavo_rules.documents.encoding import LONG_BYTES
from octavo_rules.identity import ContentId, Epoch, FileId
from octavo_rules.problems import EpochMismatch

from octavo.actors.workspace.messages import ChangesetRefused, RebuildDocuments
from octavo.actors.workspace.planning import INLINE_BYTES
from octavo.documents import LiveDocument, document_batch, merged
from octavo.documents.document_batch import BatchDocument
from octavo.model.documents.update_log import DocumentLimits
from octavo.store import Store, Transaction
from octavo.store.queries.documents import documents_of, merge_updates
from tests.actors.workspace.test_actor import text_of
from tests.actors.workspace.test_documents import (
    device_of,
    head_id,
    lacking,
    save_of,
    take,
    two_processes,
)
from tests.fakes.inline_documents import inline_documents
from tests.fakes.stores import open_inline
from tests.fakes.workspace_rig import VAULT, create_workspace, edit, note, serving
from tests.fakes.yjs_device import Device
from tests.yjs.wire import Id, Section, text, written
from tests.yjs.wire import Update as Bytes

T = TypeVar("T")
A, B = FileId("a"), FileId("b")
SEEDS = (*range(20), 1775, 8382)
"""The last two found a process that went on with another document than it had stored."""
ALIKE = (
    "02020400040104746578740361626344040001610103000401047465787402616200",
    "0101060044040202616200",
    "01010800c4040003010361626300",
)
"""Updates of which a document reads the same once it is stored whole, but not after `UNLIKE`."""
UNLIKE = "01010803440402016100"
ALIKE_ONCE = (
    "0101040004010474657874016100",
    None,
    "0102020084040001610401047465787402616200",
    None,
    "010105008402000362626200",
    "010306008404000161440201026162840201016200",
    "0101060484050102616200",
    None,
    "01010203040104746578740361626100",
    None,
    "0101020684020502616200",
    "0203070044020003616161c402040206016184060503626161010401840400016100",
    None,
)
"""Updates, and where their document is stored whole: it reads the same when it is loaded then, but
not when the state of what was loaded is."""


class Forger:
    """Draws updates whose structs stand between any two others."""

    def __init__(self, random: Random) -> None:
        self._random = random
        self._clocks: dict[int, int] = {}
        self._drawn: dict[int, int] = {}

    def draw(self) -> bytes:
        """Return an update for a document with all that was accepted."""
        random = self._random
        self._drawn = {}
        sections: list[Section] = []
        for client in sorted(random.sample(range(2, 9), random.choice([1, 1, 2])), reverse=True):
            start = end = self._clocks.get(client, 0)
            structs = []
            for _ in range(random.choice([1, 1, 2, 3])):
                ids = [(each, clock) for each, n in self._clocks.items() for clock in range(n)]
                ids += [(client, clock) for clock in range(start, end)]
                word = "abc"[: random.choice([1, 2, 3])]
                structs.append(text(word, self._any(ids, 0.6), self._any(ids, 0.5)))
                end += len(word)
            sections.append(Section(client, start, structs))
            self._drawn[client] = end
        return Bytes(sections).encoded()

    def accepted(self) -> None:
        """Go on with the last update."""
        self._clocks.update(self._drawn)

    def _any(self, ids: list[Id], share: float) -> Id | None:
        return self._random.choice(ids) if ids and self._random.random() < share else None


async def stored_text(store: Store, file_id: FileId = A) -> str | None:
    """Return the text of the document that is stored; None if it is behind its note."""
    read = await store.read(documents_of(VAULT, (file_id,)))
    assert read is not None
    stored, _, newer = read.documents[file_id]
    assert stored is not None
    return None if newer else LiveDocument(stored.document, 1, stored.updates).text


async def drift(seed: int) -> tuple[str | None, str | None] | None:
    """Forge a document in two processes; return how it and its note read once they differ."""
    random = Random(seed)
    forger = Forger(random)
    engine = open_inline()
    await create_workspace(engine)
    limits = DocumentLimits(logged=random.choice([1, 2, 64]))
    one, two = (inline_documents(limits=limits, client=each) for each in (101, 102))
    async with (
        serving(engine, shared=True, documents=one) as here,
        serving(engine, shared=True, documents=two, name="s") as there,
    ):
        there.ids = here.ids
        await here.push(note("a", "a.md", ""))
        epoch = (await device_of(here)).epoch
        for _ in range(10):
            rig, other = (here, there) if random.random() < 0.7 else (there, here)
            try:
                await rig.push(SaveNote(A, Epoch(epoch), forger.draw()))
            except ChangesetRefused as refused:
                if isinstance(refused.refusal, EpochMismatch):
                    break
                continue
            forger.accepted()
            if (drawn := random.random()) < 0.2:
                await random.choice([rig, other]).directory.ask(VAULT, RebuildDocuments((A,)))
            elif drawn < 0.4:
                await engine.write(prune)
            stored, expected = await stored_text(engine), await text_of(rig, "a")
            if stored not in (None, expected):
                return stored, expected
    engine.close()
    return None


async def prune(transaction: Transaction) -> None:
    """Merge the updates of all files, as retention does."""
    for file in (1, 2):
        await merge_updates(transaction, 1, file, merged)


@pytest.mark.parametrize("seed", SEEDS)
async def test_forged_document_reads_as_its_note_whoever_stores_it_whole(seed: int) -> None:
    assert await drift(seed) is None


@pytest.mark.parametrize("stores", ["the same process", "another process", "retention"])
async def test_next_update_belongs_to_the_document_as_it_was_stored_whole(stores: str) -> None:
    async with two_processes() as (store, here, there):
        await here.push(note("b", "b.md", ""))
        epoch = Epoch((await device_of(here, file="b")).epoch)
        for update in ALIKE:
            await here.push(SaveNote(B, epoch, bytes.fromhex(update)))
        assert await text_of(here, "b") == "abaababcabc"
        if stores == "retention":
            await store.write(prune)
        else:
            rig = here if stores == "the same process" else there
            await rig.directory.ask(VAULT, RebuildDocuments((B,)))
        await here.push(SaveNote(B, epoch, bytes.fromhex(UNLIKE)))
        assert await stored_text(store, B) == await text_of(here, "b") == "abaababacabc"
        device = await device_of(there, file="b")
        assert device.epoch == epoch
        device.insert(0, "Q")
        await there.push(save_of(device, "b"))
        assert await text_of(there, "b") == "Qabaababacabc"


MEMORY = pytest.mark.parametrize("max_bytes", [0, 1 << 20], ids=["forgotten", "in memory"])


@MEMORY
@pytest.mark.parametrize("long_bytes", [LONG_BYTES, 1], ids=["", "long vectors"])
@pytest.mark.parametrize("offline", [True, False], ids=["offline", "current"])
async def test_device_never_gets_a_document_that_reads_differently(
    max_bytes: int, long_bytes: int, offline: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(document_batch, "LONG_BYTES", long_bytes)
    async with serving(documents=inline_documents(max_bytes=max_bytes)) as rig:
        await rig.push(note("a", "a.md", "0"))
        device = await device_of(rig, 21)
        before = Epoch(device.epoch)
        state = Bytes([Section(5, 0, [text("ab")]), Section(3, 0, [text("xy", (5, 0))])])
        await rig.push(SaveNote(A, before, state.encoded()))
        if not offline:
            take(device, await lacking(rig, device))
        forged = written(20, 0, text("!", None, (3, 1))).encoded()
        await rig.push(SaveNote(A, before, forged))
        take(device, await lacking(rig, device))
        assert device.text == await text_of(rig, "a")
        assert device.epoch != before
        device.known = device.vector()
        device.insert(1, " mine ")
        await rig.push(save_of(device))
        take(device, await lacking(rig, device))
        assert device.text == await text_of(rig, "a")


@pytest.mark.parametrize("at", range(12))
async def test_device_that_gets_all_of_a_document_goes_on_as_the_server_does(at: int) -> None:
    async with serving() as rig:
        await rig.push(note("a", "a.md", ""))
        epoch = Epoch((await device_of(rig)).epoch)
        for update in ALIKE:
            await rig.push(SaveNote(A, epoch, bytes.fromhex(update)))
        device = Device.kept(initial(ContentId("x"), "of another epoch"), 7)
        take(device, await lacking(rig, device))
        assert device.epoch == epoch
        assert await stored_text(rig.store) == await text_of(rig, "a") == device.text
        device.known = device.vector()
        device.insert(at, "#")
        await rig.push(save_of(device))
        assert await text_of(rig, "a") == device.text


@MEMORY
async def test_document_that_was_stored_whole_is_compared_before_parts_are_given_away(
    max_bytes: int,
) -> None:
    async with serving(documents=inline_documents(max_bytes=max_bytes)) as rig:
        await rig.push(note("a", "a.md", ""))
        offline = await device_of(rig)
        for update in ALIKE_ONCE:
            if update is None:
                await rig.directory.ask(VAULT, RebuildDocuments((A,)))
            else:
                await rig.push(SaveNote(A, Epoch(offline.epoch), bytes.fromhex(update)))
            if update == ALIKE_ONCE[0]:
                take(offline, await lacking(rig, offline))
        other = Device.kept(initial(ContentId("x"), "of another epoch"), 9)
        for device in offline, other:
            take(device, await lacking(rig, device))
            assert device.text == await text_of(rig, "a")


@MEMORY
async def test_device_of_another_epoch_gets_the_text_that_was_written_last(max_bytes: int) -> None:
    async with serving(documents=inline_documents(max_bytes=max_bytes)) as rig:
        await rig.push(note("a", "a.md", "start"))
        await rig.push(save_of(await device_of(rig)))
        await rig.push(edit(await head_id(rig), text="written"))
        device = Device.kept(initial(ContentId("x"), "of another epoch"), 9)
        take(device, await lacking(rig, device))
        assert device.text == "written"


async def test_document_is_loaded_once_for_all_who_lack_a_text(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    loaded = 0
    compare = BatchDocument.compare

    def count(document: BatchDocument, client: int, epoch_next: Epoch) -> None:
        nonlocal loaded
        loaded += 1
        compare(document, client, epoch_next)

    monkeypatch.setattr(BatchDocument, "compare", count)
    async with serving() as rig:
        await rig.push(note("a", "a.md", "start"))
        one, *others = [await device_of(rig, client) for client in (7, 8, 9)]
        for number in range(3):
            one.insert(0, f"{number}")
            await rig.push(save_of(one))
            take(one, await lacking(rig, one))
            assert loaded == number
            for each in others:
                take(each, await lacking(rig, each))
            assert loaded == number + 1


@pytest.mark.parametrize("lacks", [False, True])
async def test_large_document_is_compared_without_holding_up_others(lacks: bool) -> None:
    offloaded = 0

    async def offload(work: Callable[[], T]) -> T:
        nonlocal offloaded
        offloaded += 1
        return work()

    documents = replace(inline_documents(), offload=offload)
    async with serving(documents=documents) as rig:
        await rig.push(note("a", "a.md", "word " * (INLINE_BYTES // 4)))
        one, other = await device_of(rig, 7), await device_of(rig, 8)
        one.insert(0, "x")
        await rig.push(save_of(one))
        offloaded = 0
        await lacking(rig, other if lacks else one)
        assert offloaded == lacks


async def test_honest_updates_of_many_devices_keep_their_epoch() -> None:
    async with serving() as rig:
        await rig.push(note("a", "a.md", "start"))
        devices = [await device_of(rig, client) for client in (7, 8, 9)]
        for number in range(30):
            device = devices[number % 3]
            device.insert(number % 4, f"{number}")
            await rig.push(save_of(device))
            for each in devices[: number % 2 + 1]:
                take(each, await lacking(rig, each))
        for each in devices:
            take(each, await lacking(rig, each))
            assert each.text == await text_of(rig, "a")
        assert {each.epoch for each in devices} == {(await device_of(rig)).epoch}
