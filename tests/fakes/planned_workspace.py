"""Concise changesets and trees for tests."""

from collections.abc import Iterator
from itertools import count

from octavo_rules.changes import PurgeFile
from octavo_rules.content import note_text
from octavo_rules.identity import START, AccountId, Digest, FileId, MutationId

from octavo.model.files.changeset import (
    ChangeOperation,
    Changeset,
    CreateFile,
    DeleteFile,
    RestoreFile,
    UpdateFile,
)
from octavo.model.files.confinement import Confinement
from octavo.model.files.plan import Plan, plan
from octavo.model.files.revision import Origin, Revision
from octavo.model.files.tree import Tree
from tests.fakes.plain_documents import PlainDocuments

AUTHOR = AccountId("ann")


class PlannedWorkspace:
    """An in-memory workspace: plans changesets and accepts them immediately."""

    def __init__(self) -> None:
        self.tree = Tree()
        self.cursor = START
        self.documents = PlainDocuments()
        self._ids: Iterator[int] = count(1)

    def plan(
        self,
        *operations: ChangeOperation,
        within: Confinement | None = None,
        origin: Origin = "device",
    ) -> Plan:
        changeset = Changeset(
            MutationId("m"), Digest("f"), AUTHOR, operations, origin=origin, within=within
        )
        return plan(
            self.tree, self.cursor, changeset, 0, lambda: f"r{next(self._ids)}", self.documents
        )

    def push(
        self,
        *operations: ChangeOperation,
        within: Confinement | None = None,
        origin: Origin = "device",
    ) -> list[str]:
        """Accept the operations; return their outcomes."""
        planned = self.plan(*operations, within=within, origin=origin)
        for change in planned.changes:
            self.tree.put(change.head)
        self.cursor = planned.cursor
        return [change.outcome for change in planned.changes]

    def head(self, file: str) -> Revision:
        return self.tree.heads[FileId(file)]

    def tag(self, file: str) -> frozenset[str]:
        """The tag of the head; for a missing file, one that matches nothing."""
        head = self.tree.heads.get(FileId(file))
        return frozenset({"none" if head is None else head.revision_id})

    def live(self) -> dict[str, str]:
        return {h.file_id: h.path for h in self.tree.heads.values() if h.state == "live"}

    def create(self, file: str, path: str, text: str = "") -> CreateFile:
        return CreateFile(FileId(file), path, note_text(text))

    def update(
        self, file: str, *, text: str | None = None, path: str | None = None, tag: str | None = None
    ) -> UpdateFile:
        expected = self.tag(file) if tag is None else frozenset({tag})
        return UpdateFile(FileId(file), expected, None if text is None else note_text(text), path)

    def delete(self, file: str) -> DeleteFile:
        return DeleteFile(FileId(file), self.tag(file))

    def restore(self, file: str, path: str | None = None) -> RestoreFile:
        return RestoreFile(FileId(file), self.tag(file), path)

    def purge(self, file: str) -> PurgeFile:
        return PurgeFile(FileId(file))
