"""A device that edits notes as documents, temporarily offline, and sometimes as texts."""

from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress
from functools import partial
from itertools import count
from random import Random
from typing import Any

import trio
from octavo_rules.changes import SaveNote
from octavo_rules.content import note_text
from octavo_rules.identity import Epoch, FileId

from octavo.actors.jobs.indexing import index_some
from octavo.actors.workspace.messages import GetUpdateSince, RebuildDocuments
from octavo.actors.workspace.planning import read_current
from octavo.features.links.reading import read_links
from octavo.features.links.sql.link_index import LINKS
from octavo.features.search.sql.fulltext_index import WORDS
from octavo.model.files.changeset import CreateFile, DeleteFile, RestoreFile, UpdateFile
from octavo.model.files.plan import Receipt
from octavo.store.queries.files import WholeFile, revision, revisions_of, whole_file
from octavo.store.queries.index_backlog import FileIndex
from tests.simulation.asking import Asking, NothingDone, Unsettled
from tests.simulation.bare_process import Violation
from tests.simulation.ledger import NOTES, POISON, SHARED, Ledger, Written
from tests.simulation.link_faults import faults_of_queries
from tests.simulation.process import Process
from tests.simulation.replica import Replica
from tests.simulation.sending import NOTHING, Sender, attempt

TEXTS = ("# K\n[l](l.md), [[m]] ", "[[k]] and ![it](m.md) ", "[k](k.md#k), [[l|L]], [[none]] ")
FEW = 3
"""Refusals of a save without concurrent saves that are tolerated; a new generation takes one."""
PATIENCE = 100
"""Attempts at an action that eventually succeeds."""


class Editor:
    """Performs the actions that its turns draw, on the notes of `SHARED`.

    Args:
        name: of the device.
        asking: its connection to the service.
        ledger: records what it writes.
        violated: called with each violation.
        sender: sends its changes.
    """

    def __init__(
        self,
        name: str,
        asking: Asking[Process],
        ledger: Ledger,
        violated: Violation,
        sender: Sender,
    ) -> None:
        self._name = name
        self._asking = asking
        self._ledger = ledger
        self._violated = violated
        self._sender = sender
        self._clients = count((ord(name) << 16) + 1)
        self.replicas: dict[FileId, Replica] = {}

    async def turn(self, random: Random) -> None:
        """Do one thing, as far as it is possible."""
        file_id = random.choice([*NOTES])
        drawn = random.random()
        with suppress(NothingDone, Unsettled):
            if drawn < 0.5:
                await self._edit(file_id, random)
            elif drawn < 0.58:
                await self._save(random.sample([*NOTES], 2), random)
            elif drawn < 0.62:
                await self._spoil(file_id, random)
            elif drawn < 0.74:
                await self._write(file_id, random)
            elif drawn < 0.82:
                await self._turn_over(file_id, random)
            elif drawn < 0.87:
                await self._restore_earlier(file_id, random)
            elif drawn < 0.93:
                await self._move(file_id, random)
            elif drawn < 0.96:
                await self._sender.repeat(random)
            else:
                await self._synchronize(file_id, random)
                # As the job does, and a search.
                index: FileIndex[Any] = random.choice([LINKS, WORDS])
                await self._asking.ask(
                    random,
                    lambda process, _: index_some(process.store, index, [SHARED]),
                    f"{self._name} updates the {index.name}",
                    SHARED,
                )
                await self._query_links(random)

    async def make(self, random: Random) -> None:
        """Create the notes."""
        made = [
            CreateFile(file_id, paths[0], note_text(text))
            for (file_id, paths), text in zip(NOTES.items(), TEXTS, strict=True)
        ]
        await self._patiently(partial(self._sender.send, "make", made, NOTHING, random))

    async def write_for_the_last_time(self, random: Random) -> None:
        """Send a save, and one that must be refused, while others do so."""
        await attempt(partial(self._spoil, random.choice([*NOTES]), random))

    async def revive(self, random: Random) -> None:
        """Restore deleted notes."""
        for file_id in NOTES:
            await self._patiently(partial(self._revive, file_id, random))

    async def _revive(self, file_id: FileId, random: Random) -> None:
        whole = await self._read(file_id, random)
        if whole.stored.revision.state == "deleted":
            # Another file may have its path by now.
            change = RestoreFile(file_id, _tag(whole), f"at rest/{file_id}.md")
            await self._sender.send("state", [change], NOTHING, random)

    async def save_all(self, random: Random) -> None:
        """Save the remaining edits."""
        for file_id, replica in self.replicas.items():
            for _ in range(FEW):
                if replica.is_ahead:
                    await self._patiently(partial(self._save, [file_id], random))
            if replica.is_ahead:
                self._violated(f"{self._name} can't save {replica.text!r} of {file_id}")

    async def take_all(self, random: Random) -> None:
        """Fetch and apply missing updates."""
        for file_id in NOTES:
            await self._patiently(partial(self._synchronize, file_id, random))

    async def _patiently(self, act: Callable[[], Awaitable[object]]) -> None:
        for _ in range(PATIENCE):
            try:
                await act()
            except (NothingDone, Unsettled):
                # In quarantine, perhaps.
                await trio.sleep(1)
            else:
                return
        raise AssertionError(f"{SHARED} is out of reach for {self._name}")

    # As documents

    async def _edit(self, file_id: FileId, random: Random) -> None:
        replica = await self._replica(file_id, random)
        for _ in range(random.choice([1, 1, 3])):
            if random.random() < 0.1:
                replica.delete(self._ledger.marks_in(replica.text), random)
            else:
                replica.insert(self._ledger.mark(self._name, file_id), random)
        if random.random() < 0.8:
            await self._save([file_id], random)
        if random.random() < 0.3:
            await self._synchronize(file_id, random)

    async def _save(self, file_ids: Sequence[FileId], random: Random) -> None:
        replicas = [await self._replica(file_id, random) for file_id in file_ids]
        saves = [
            SaveNote(file_id, each.epoch, each.update())
            for file_id, each in zip(file_ids, replicas, strict=True)
        ]
        written = Written(
            tuple(mark for each in replicas for mark in each.added),
            tuple(mark for each in replicas for mark in each.dropped),
        )
        response = await self._sender.send("save", saves, written, random)
        if isinstance(response, Receipt):
            for replica in replicas:
                replica.saved()
        elif response.code == "epoch_mismatch":
            for file_id in file_ids:
                await self._synchronize(file_id, random)

    async def _spoil(self, file_id: FileId, random: Random) -> None:
        """Send an update that must not be accepted, together with a valid save."""
        replica = await self._replica(file_id, random)
        replica.insert(self._ledger.mark(self._name, file_id), random)
        mark = self._ledger.mark(self._name, file_id)
        kind = random.choice(["poison", "cut", "beside"])
        update = replica.spoilt(next(self._clients), mark + POISON * (kind == "poison"))
        saves = [SaveNote(file_id, replica.epoch, update[:-1] if kind == "cut" else update)]
        if kind == "beside":
            other = random.choice([each for each in NOTES if each != file_id])
            saves.append(SaveNote(other, Epoch("of nobody"), update))
        written = Written((mark, *replica.added), (*replica.dropped,))
        # Both draw the same, and so use the same process.
        seed = random.getrandbits(32)
        async with trio.open_nursery() as nursery:
            nursery.start_soon(attempt, partial(self._save, [file_id], Random(seed)))
            await attempt(partial(self._sender.send, "spoilt", saves, written, Random(seed)))

    async def _synchronize(self, file_id: FileId, random: Random) -> None:
        replica = await self._replica(file_id, random)
        asked = GetUpdateSince(file_id, replica.epoch, replica.vector())
        found = await self._asking.ask(
            random,
            lambda process, limit: process.directory.ask(SHARED, asked, timeout=limit),
            f"{self._name} asks for what is missing in {file_id}",
            SHARED,
            f"{SHARED}/{file_id}",
        )
        assert found is not None, "the note is gone"
        if found.epoch != replica.epoch:
            self._ledger.saw(["shed"])
        replica.take(found, random)
        if replica.added and found.epoch != asked.epoch:
            self._ledger.saw(["carried over"])

    async def _replica(self, file_id: FileId, random: Random) -> Replica:
        if file_id not in self.replicas:
            whole = await self._read(file_id, random)
            assert whole.document is not None
            self.replicas[file_id] = Replica(whole.document, next(self._clients))
        return self.replicas[file_id]

    # As texts

    async def _write(self, file_id: FileId, random: Random) -> None:
        """Write a text on the head, and again on the previous one."""
        mark = self._ledger.mark(self._name, file_id)
        for _ in range(3):
            whole = await self._read(file_id, random)
            text = whole.stored.text or ""
            at = random.randint(0, len(text))
            new = text[:at] + mark + text[at + random.choice([0, 0, 0, 2]) :]
            update = UpdateFile(file_id, _tag(whole), note_text(new))
            written = self._ledger.difference(text, new)
            response = await self._sender.send("text", [update], written, random)
            if isinstance(response, Receipt) and random.random() < 0.5:
                # Two processes may bring the document up to date at the same time.
                async with trio.open_nursery() as nursery:
                    for _ in range(4):
                        draws = Random(random.getrandbits(32))
                        act = partial(self._synchronize, file_id, draws)
                        nursery.start_soon(attempt, act, name=f"{self._name} asks twice")
            if isinstance(response, Receipt) or response.code != "head_moved":
                return

    async def _turn_over(self, file_id: FileId, random: Random) -> None:
        """Delete a live note, restore a deleted one."""
        whole = await self._read(file_id, random)
        live = whole.stored.revision.state == "live"
        change = DeleteFile(file_id, _tag(whole)) if live else RestoreFile(file_id, _tag(whole))
        await self._sender.send("state", [change], NOTHING, random)

    async def _restore_earlier(self, file_id: FileId, random: Random) -> None:
        """Restore an earlier text of a note."""
        whole = await self._read(file_id, random)
        script = revisions_of(SHARED, file_id, whole.stored.revision.position, 5)
        about = (SHARED, f"{SHARED}/{file_id}")
        earlier = await self._asking.ask(
            random,
            lambda process, _: process.store.read(script),
            f"{self._name} reads the history of {file_id}",
            *about,
        )
        chosen = random.choice([*earlier, whole.stored.revision]).revision_id
        read = revision(SHARED, file_id, chosen)
        stored = await self._asking.ask(
            random,
            lambda process, _: process.store.read(read),
            f"{self._name} reads {chosen} of {file_id}",
            *about,
        )
        assert stored is not None, "a revision is gone"
        text = stored.text or ""
        change = RestoreFile(file_id, _tag(whole), content=note_text(text))
        written = self._ledger.difference(whole.stored.text or "", text)
        await self._sender.send("state", [change], written, random)

    async def _move(self, file_id: FileId, random: Random) -> None:
        whole = await self._read(file_id, random)
        path = random.choice(NOTES[file_id])
        move = UpdateFile(file_id, _tag(whole), path=path, rewrite_links=True)
        response = await self._sender.send("state", [move], NOTHING, random)
        if isinstance(response, Receipt) and len(response.outcomes) > 1:
            self._ledger.saw(["rewritten"])

    async def _query_links(self, random: Random) -> None:
        query = faults_of_queries(SHARED)
        found = await self._asking.ask(
            random,
            lambda process, _: read_links(process.store, SHARED, query),
            f"{self._name} queries links",
            SHARED,
        )
        for fault in found:
            self._violated(fault)
        self._ledger.saw(["links queried"])

    async def _read(self, file_id: FileId, random: Random) -> WholeFile:
        whole = await self._asking.ask(
            random,
            lambda process, limit: read_current(
                lambda merge: process.store.read(whole_file(SHARED, file_id, merge)),
                lambda found: () if found is None else (found,),
                partial(_follow, process, limit),
            ),
            f"{self._name} reads {file_id}",
            SHARED,
            f"{SHARED}/{file_id}",
        )
        assert whole is not None, "a note is gone"
        if whole.behind or whole.unread:
            # It was replaced each time; the device would edit a document of another epoch.
            raise NothingDone
        return whole


async def _follow(process: Process, limit: float, message: RebuildDocuments) -> bool:
    await process.directory.ask(SHARED, message, timeout=limit)
    return True


def _tag(whole: WholeFile) -> frozenset[str]:
    return frozenset({whole.stored.revision.revision_id})
