"""What devices write: changes of the files that they know of, mostly valid."""

from collections.abc import Mapping
from random import Random

from octavo_rules.changes import PurgeFile
from octavo_rules.content import NoteText, note_text
from octavo_rules.identity import Digest, FileId, MutationId, WorkspaceId

from octavo.model.files.changeset import (
    ChangeOperation,
    Changeset,
    CreateFile,
    DeleteFile,
    RestoreFile,
    UpdateFile,
)
from octavo.model.files.revision import Revision, State
from tests.simulation.ledger import made_by_somebody
from tests.simulation.specification import Intent, Kind, Sent

FILES = tuple(FileId(name) for name in "efgh")
# One path twice, and one that is a folder of another.
PATHS = ("a.md", "A.md", "b.md", "b.md/c.md", "d.md", "d/e.md", "d/f.md", "g.md", "h.md")
KINDS: Mapping[State, Mapping[Kind, int]] = {
    "live": {"update": 7, "delete": 4, "create": 1, "purge": 1},
    "deleted": {"restore": 5, "purge": 5, "update": 1, "create": 1},
    "purged": {"create": 1, "update": 1, "restore": 1, "purge": 1},
}
"""The operations tried on a file in its last known state, with weights; some are refused."""


class Drafts:
    """A device's knowledge of files, and the changes that it derives from it.

    Attributes:
        texts: what it wrote, by digest.
    """

    def __init__(self, device: str) -> None:
        self._device = device
        self._heads: dict[tuple[WorkspaceId, FileId], Revision] = {}
        self._mutations = 0
        self.texts: dict[Digest, str] = {}

    def learn(self, workspace_id: WorkspaceId, head: Revision) -> None:
        """Record a head, unless a newer one is known."""
        known = self._heads.get((workspace_id, head.file_id))
        if known is None or known.position < head.position:
            self._heads[workspace_id, head.file_id] = head

    def draft(
        self, workspace_id: WorkspaceId, random: Random, mutation: MutationId | None = None
    ) -> tuple[Sent, Changeset]:
        """Draw a changeset, with a new identity unless one is given."""
        if mutation is None:
            mutation = self._mutation()
        drawn = [
            self._operation(self._heads.get((workspace_id, file_id)), file_id, mutation, random)
            for file_id in random.sample(FILES, random.choice([1, 1, 2, 3]))
        ]
        operations = tuple(operation for operation, _ in drawn)
        changeset = made_by_somebody(mutation, operations, random)
        intents = tuple(intent for _, intent in drawn)
        return Sent(workspace_id, mutation, changeset.fingerprint, intents), changeset

    def live_file(self, random: Random) -> tuple[WorkspaceId, FileId] | None:
        """Draw a file that is live as far as the device knows; None without one."""
        live = sorted(place for place, head in self._heads.items() if head.state == "live")
        return random.choice(live) if live else None

    def removal(
        self, workspace_id: WorkspaceId, file_id: FileId, random: Random
    ) -> tuple[Sent, Changeset] | None:
        """Draw the deletion of a live file, or the purge of a deleted one; None for others."""
        head = self._heads.get((workspace_id, file_id))
        if head is None or head.state == "purged":
            return None
        operation: ChangeOperation = PurgeFile(file_id)
        intent = Intent("purge", file_id)
        if head.state == "live":
            operation = DeleteFile(file_id, frozenset({head.revision_id}))
            intent = Intent("delete", file_id, head.mutation_id)
        changeset = made_by_somebody(self._mutation(), (operation,), random)
        sent = Sent(workspace_id, changeset.mutation_id, changeset.fingerprint, (intent,))
        return sent, changeset

    def _mutation(self) -> MutationId:
        self._mutations += 1
        return MutationId(f"{self._device}{self._mutations - 1}")

    def _operation(
        self, head: Revision | None, file_id: FileId, mutation: MutationId, random: Random
    ) -> tuple[ChangeOperation, Intent]:
        path = random.choice(PATHS)
        content = self._write(f"{mutation} {file_id} {random.getrandbits(32)}")
        kind: Kind = "create"
        if head is not None:
            kinds = KINDS[head.state]
            [kind] = random.choices([*kinds], [*kinds.values()])
        if head is None or kind == "create":
            made = CreateFile(file_id, path, content)
            return made, Intent("create", file_id, None, path, content.digest)
        tag, expected = frozenset({head.revision_id}), head.mutation_id
        if kind == "update":
            to = random.choice([None, None, path])
            # Sometimes the current content of the file: that changes nothing.
            new = random.choice([content, content, self._held(head)])
            digest = None if new is None else new.digest
            return UpdateFile(file_id, tag, new, to), Intent(kind, file_id, expected, to, digest)
        if kind == "delete":
            return DeleteFile(file_id, tag), Intent(kind, file_id, expected)
        if kind == "restore":
            to = random.choice([None, path])
            return RestoreFile(file_id, tag, to), Intent(kind, file_id, expected, to)
        return PurgeFile(file_id), Intent(kind, file_id)

    def _write(self, text: str) -> NoteText:
        content = note_text(text)
        self.texts[content.digest] = text
        return content

    def _held(self, head: Revision) -> NoteText | None:
        text = self.texts.get(head.digest)
        return None if text is None else note_text(text)
