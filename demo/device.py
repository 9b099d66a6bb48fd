"""A device that keeps a copy of a workspace: it edits, saves, listens, follows, ends in step."""

import random
from collections import Counter
from dataclasses import dataclass, field

import trio
from octavo_client import (
    Create,
    HeadMovedError,
    Mirror,
    NoteDocument,
    WorkspaceChanged,
    WorkspaceClient,
)
from octavo_rules.identity import FileId
from octavo_rules.schemas import FileChange

PUSH_AT_ONCE = 100
PAUSE = 0.002
"""Seconds between two edits of a device, about."""
PATIENCE = 30.0
"""Seconds that an edit has, once it began."""


@dataclass
class Device:
    """One device of an account.

    Attributes:
        workspace: what it edits.
        sent: when each position was sent, by whichever device.
        mirror: its copy.
        documents: those of the notes that it has open.
        latencies: seconds from the save of the other device to the notice here.
    """

    name: str
    workspace: WorkspaceClient
    sent: dict[int, float]
    random: random.Random
    mirror: Mirror = field(init=False)
    documents: dict[FileId, NoteDocument] = field(default_factory=dict)
    counts: Counter[str] = field(default_factory=Counter)
    latencies: list[float] = field(default_factory=list)
    _own: set[int] = field(default_factory=set)

    def __post_init__(self) -> None:
        self.mirror = Mirror(self.workspace)

    async def push(self, vault: dict[str, str]) -> None:
        """Push a whole vault, many notes a changeset."""
        made = [Create(self.workspace.new_file_id(), path, text) for path, text in vault.items()]
        for start in range(0, len(made), PUSH_AT_ONCE):
            await self.workspace.push(made[start : start + PUSH_AT_ONCE])

    async def follow(self) -> None:
        """Follow the workspace until cancelled."""
        await self.mirror.run(self._heard)

    def _heard(self, notice: WorkspaceChanged) -> None:
        self.counts["notices"] += 1
        position = notice.position
        if position in self.sent and position not in self._own:
            self.latencies.append(trio.current_time() - self.sent[position])

    async def edit(self) -> None:
        """Edit notes as they come to mind, until cancelled."""
        while True:
            # A few notes are what both work on just now: there one is refused now and then.
            ids = sorted(self.mirror.notes)
            file_id = self.random.choice(ids[:5] if self.random.random() < 0.5 else ids)
            save = self.random.choice((self._save_text, self._save_document))
            with trio.move_on_after(PATIENCE, shield=True):
                await save(file_id)
            await trio.sleep(self.random.uniform(0, 2 * PAUSE))

    async def settle(self) -> None:
        """Bring the copy and all open documents up to date."""
        await self.mirror.pull()
        for document in self.documents.values():
            await document.save()

    async def _save_text(self, file_id: FileId) -> None:
        note = self.mirror.notes[file_id]
        text, head = note.text + self._line(), note.revision_id
        while True:
            sent = trio.current_time()
            try:
                change = await self.workspace.update(file_id, head, text=text)
            except HeadMovedError:
                # The other device was first: read its head, and put the line behind that.
                self.counts["refused and retried"] += 1
                file = await self.workspace.file(file_id)
                text, head = f"{file.text}{self._line()}", file.head.id
            else:
                self._saved(change, sent)
                return

    async def _save_document(self, file_id: FileId) -> None:
        if file_id not in self.documents:
            self.documents[file_id] = await NoteDocument.open(self.workspace, file_id)
        document = self.documents[file_id]
        document.insert(self.random.randint(0, len(document.text)), self._line())
        sent = trio.current_time()
        self._saved(await document.save(), sent)
        self.counts["documents merged"] += 1

    def _saved(self, change: FileChange, sent: float) -> None:
        self.counts["saves"] += 1
        self._own.add(change.position)
        self.sent[change.position] = sent

    def _line(self) -> str:
        return f"\nEdited on {self.name}, {self.random.getrandbits(32):08x}.\n"
