"""Three devices on Yjs, and the service: they edit one note offline, sync, and converge."""

import random
from base64 import b64encode
from collections.abc import Callable
from functools import partial
from typing import TypeVar

import pytest
import trio
from octavo_rules.changes import SaveNote
from octavo_rules.content import note_text
from octavo_rules.identity import Epoch, FileId

from octavo.actors.workspace.messages import GetUpdateSince
from octavo.model.files.changeset import RestoreFile
from octavo.store.queries.files import WholeFile
from tests.actors.workspace.test_actor import text_of
from tests.fakes.inline_documents import inline_documents
from tests.fakes.workspace_rig import VAULT, Rig, edit, note, serving
from tests.yjs.devices import WORDS, YjsDevice
from tests.yjs.devices import edit as edit_somewhere
from tests.yjs.peer import Peer, missing

R = TypeVar("R")

FILE = FileId("a")
START = "# A note\n\nwith some text \N{GRINNING FACE} in it,\nto be edited.\n"
STEPS = 60


class Offline:
    """A device that edits its copy of the note, and syncs on request."""

    def __init__(self, rig: Rig, peer: Peer, client: int, rng: random.Random) -> None:
        self.rig = rig
        self.copy = YjsDevice(peer, client)
        self.rng = rng
        self.epoch = Epoch("")
        # The state of the service, as far as the device knows.
        self.known = b"\0"

    async def read(self) -> None:
        whole = await head_of(self.rig)
        assert whole.document is not None
        self.epoch = whole.document.epoch
        await run(self.copy.apply, whole.document.state)
        self.known = await run(self.copy.state_vector)

    async def edit(self) -> None:
        await run(edit_somewhere, self.copy, self.rng)

    async def sync(self) -> None:
        update = await run(self.copy.diff, self.known)
        mutation = f"{self.rng.getrandbits(48)}"
        for _ in range(self.rng.choice((1, 1, 2))):
            # Sometimes the response was lost, and the save is sent again.
            await self.rig.push(SaveNote(FILE, self.epoch, update), mutation=mutation)
        vector = await run(self.copy.state_vector)
        lacking = await self.rig.directory.ask(VAULT, GetUpdateSince(FILE, self.epoch, vector))
        assert lacking is not None
        assert lacking.epoch == self.epoch
        await run(self.copy.apply, lacking.update)
        self.known = await run(self.copy.state_vector)


async def run(call: Callable[..., R], *arguments: object) -> R:
    """Call the peer, which takes time."""
    return await trio.to_thread.run_sync(partial(call, *arguments))


async def head_of(rig: Rig) -> WholeFile:
    return await rig.whole(FILE)


async def write_as_text(rig: Rig, rng: random.Random, first: str) -> None:
    """A writer without a document: it replaces the text, or restores the first one."""
    head = await rig.head(FILE)
    assert head is not None
    if rng.random() < 0.2:
        given_back = RestoreFile(FILE, frozenset({head.revision_id}), content=note_text(first))
        await rig.push(given_back)
        return
    text = await text_of(rig, "a") or ""
    start = rng.randint(0, len(text))
    end = min(len(text), start + rng.choice((0, 1, 5, 20)))
    await rig.push(edit(head, text=text[:start] + rng.choice(WORDS) + text[end:]))


@pytest.mark.parametrize("seed", range(10))
async def test_devices_that_edit_offline_and_sync_in_any_order_converge(
    peer: Peer, seed: int
) -> None:
    rng = random.Random(seed)
    documents = inline_documents(max_bytes=rng.choice((0, 1 << 24)))
    async with serving(documents=documents) as rig:
        await rig.push(note("a", "a.md", START))
        devices = [Offline(rig, peer, client, rng) for client in (11, 22, 33)]
        for device in devices:
            await device.read()
        for _ in range(STEPS):
            drawn = rng.random()
            device = rng.choice(devices)
            if drawn < 0.7:
                await device.edit()
            elif drawn < 0.9:
                await device.sync()
            else:
                await write_as_text(rig, rng, START)
        for _ in range(2):
            for device in rng.sample(devices, len(devices)):
                await device.sync()
        whole = await head_of(rig)
        assert whole.document is not None
        received = await run(peer.outcomes, [(whole.document.state,)])
        texts = [await run(device.copy.text) for device in devices]
        assert texts == [whole.stored.text] * 3
        assert [each.text for each in received] == [whole.stored.text]
        assert not received[0].pending


async def test_device_on_yjs_and_the_service_write_the_same_initial_document(peer: Peer) -> None:
    async with serving() as rig:
        await rig.push(note("a", "a.md", START))
        whole = await head_of(rig)
        assert whole.document is not None
        [received] = await run(peer.outcomes, [(whole.document.state,)])
        assert (received.text, received.pending, received.roots) == (START, False, ("text",))
        name = b64encode(whole.document.vector).decode()
        await run(peer.new, name, 5)
        await run(peer.apply, name, whole.document.state)
        assert await run(peer.state_vector, name) == whole.document.vector


def test_peer_without_node_names_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "")
    assert "apt-get install nodejs npm" in (missing() or "")
