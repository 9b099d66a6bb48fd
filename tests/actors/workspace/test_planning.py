"""Which work on documents is done in a thread, so that others don't wait for it."""

from collections.abc import Callable
from dataclasses import replace
from typing import TypeVar

import pytest
import trio
from octavo_rules.changes import SaveNote
from octavo_rules.identity import Epoch, FileId, MutationId

from octavo.actors.workspace.messages import GetUpdateSince, Push
from octavo.actors.workspace.planning import (
    INLINE_BYTES,
    INLINE_CACHED_BYTES,
    INLINE_UPDATE_BYTES,
    DocumentServices,
)
from octavo.model.files.changeset import Changeset, fingerprint
from tests.actors.workspace.test_documents import device_of, save_of
from tests.fakes.inline_documents import inline_documents
from tests.fakes.workspace_rig import ANN, VAULT, Rig, note, serving
from tests.fakes.yjs_device import Device

R = TypeVar("R")


class Noted:
    """Does all work immediately, and counts what would have been done in a thread."""

    def __init__(self) -> None:
        self.count = 0

    async def __call__(self, work: Callable[[], R]) -> R:
        self.count += 1
        return work()


@pytest.fixture
def noted() -> Noted:
    return Noted()


@pytest.fixture
def documents(noted: Noted) -> DocumentServices:
    return replace(inline_documents(), offload=noted)


async def saved(rig: Rig, device: Device, noted: Noted) -> bool:
    """Push what the device has edited; return whether that was done in a thread."""
    before = noted.count
    await rig.push(save_of(device))
    return noted.count > before


@pytest.mark.parametrize(
    ("size", "in_thread"), [(1_000, False), (INLINE_BYTES // 4, False), (INLINE_BYTES, True)]
)
async def test_save_of_a_large_document_is_merged_in_a_thread(
    size: int, in_thread: bool, documents: DocumentServices, noted: Noted
) -> None:
    async with serving(documents=documents) as rig:
        await rig.push(note("a", "a.md", "x" * size))
        device = await device_of(rig)
        device.insert(0, "some words ")
        assert await saved(rig, device, noted) is in_thread


async def test_save_of_a_document_with_large_updates_beside_it_is_merged_in_a_thread(
    noted: Noted,
) -> None:
    # Nothing is cached, so that the document is loaded with the updates.
    documents = replace(inline_documents(max_bytes=0), offload=noted)
    async with serving(documents=documents) as rig:
        await rig.push(note("a", "a.md", "x" * (INLINE_BYTES * 3 // 4)))
        device = await device_of(rig)
        for words, in_thread in (("few", False), ("y" * (INLINE_BYTES // 3), True), ("few", True)):
            device.insert(0, words)
            assert await saved(rig, device, noted) is in_thread
            # It sends each update once.
            device.known = device.vector()


async def test_update_of_many_structs_is_merged_in_a_thread(
    documents: DocumentServices, noted: Noted
) -> None:
    async with serving(documents=documents) as rig:
        await rig.push(note("a", "a.md", "start"))
        device = await device_of(rig)
        for _ in range(1_000):
            device.insert(0, "x")
        save = save_of(device)
        assert INLINE_UPDATE_BYTES < len(save.update) < INLINE_BYTES
        assert await saved(rig, device, noted)


@pytest.mark.parametrize(("count", "in_thread"), [(10, False), (100, True)])
async def test_many_saves_of_a_batch_are_merged_in_a_thread(
    count: int, in_thread: bool, documents: DocumentServices, noted: Noted
) -> None:
    async with serving(documents=documents) as rig:
        await rig.push(note("a", "a.md", "start"))
        saves: list[SaveNote] = []
        for client in range(count):
            device = await device_of(rig, client + 1)
            device.insert(0, "x")
            saves.append(save_of(device))
        async with trio.open_nursery() as nursery:
            for number, save in enumerate(saves):
                changeset = Changeset(MutationId(f"m{number}"), fingerprint([save]), ANN, (save,))
                nursery.start_soon(rig.directory.ask, VAULT, Push(changeset))
        assert (noted.count > 0) is in_thread


@pytest.mark.parametrize(("count", "in_thread"), [(1, False), (8, True)])
async def test_many_questions_for_a_large_document_are_answered_in_a_thread(
    count: int, in_thread: bool, documents: DocumentServices, noted: Noted
) -> None:
    async with serving(documents=documents) as rig:
        await rig.push(note("a", "a.md", "x" * (INLINE_CACHED_BYTES // 4)))
        device = await device_of(rig)
        device.insert(0, "some words ")
        await rig.push(save_of(device))
        before = noted.count
        asked = GetUpdateSince(FileId("a"), Epoch(device.epoch), device.vector())
        async with trio.open_nursery() as nursery:
            for _ in range(count):
                nursery.start_soon(rig.directory.ask, VAULT, asked)
        assert (noted.count > before) is in_thread
