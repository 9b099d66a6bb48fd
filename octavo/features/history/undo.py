"""Undo what a program changed in a workspace, as a set."""

from collections.abc import Callable, Mapping
from typing import NamedTuple

from attrs import define
from greenroom import Directory
from octavo_rules.content import NoteText, note_text
from octavo_rules.identity import FileId, WorkspaceId

from octavo.actors.workspace.messages import FindUnplaceable, WorkspaceMessage
from octavo.features.history.rules.reversion import KeptFile, Reversion, operation_of, undo
from octavo.features.history.sql.program_changes import TOO_MANY, ChangesOfProgram, histories_of
from octavo.model.files.changeset import MAX_OPERATIONS, ChangeOperation
from octavo.model.refusal import TooManyFiles
from octavo.store import Store
from octavo.store.queries import files

MAX_BYTES = 8 * 1024 * 1024
"""Bytes of text that one undo restores."""
_HOUR = 3_600_000


class UndoOutlook(NamedTuple):
    """What an undo would do at present: files that return, and files that are left, by path."""

    reversions: tuple[Reversion, ...]
    kept: tuple[KeptFile, ...]

    @property
    def size(self) -> int:
        """The bytes of the texts that are read for it."""
        return sum(
            reversion.target.size
            for reversion in self.reversions
            if reversion.target is not None and reversion.needs_text
        )


class HistoryPruned(Exception):
    """Revisions from the requested time may have been pruned.

    ``offered`` is a time that is late enough, in milliseconds of Unix time.
    """

    def __init__(self, offered: int) -> None:
        super().__init__(offered)
        self.offered = offered


class OutlookOutdated(Exception):
    """A text that an outlook needs is gone: its note was purged since."""


@define(eq=False)
class ProgramUndo:
    """Finds out how the changes of a program are undone.

    Args:
        store: the store of the workspaces.
        workspaces: their actors.
        now: returns Unix time in seconds.
        kept: milliseconds for which all revisions are stored. Before that, the state before a
            change may be missing.
    """

    _store: Store
    _workspaces: Directory[WorkspaceId, WorkspaceMessage]
    _now: Callable[[], float]
    _kept: int

    @property
    def offered(self) -> int:
        """The time, in milliseconds, since which changes can be undone within the next hour."""
        return self._earliest() + min(_HOUR, self._kept // 2)

    async def outlook(self, workspace_id: WorkspaceId, changes: ChangesOfProgram) -> UndoOutlook:
        """Return what an undo of ``changes`` would do at present.

        Raises `HistoryPruned`, `TooManyFiles` and `StoreUnavailable`, and the errors of the
        workspace's actor. Changes nothing.
        """
        if changes.since < self._earliest():
            raise HistoryPruned(self.offered)
        changed = await self._store.read_much(histories_of(workspace_id, changes))
        reversions: list[Reversion] = []
        kept: list[KeptFile] = []
        for history in changed.histories.values():
            undone = undo(history, lambda revision: changes.includes(revision, changed.numbers))
            if isinstance(undone, Reversion):
                reversions.append(undone)
            elif undone is not None:
                kept.append(undone)
        if len(reversions) > MAX_OPERATIONS:
            raise TooManyFiles(TOO_MANY)
        if reversions:
            heads = tuple(reversion.result for reversion in reversions)
            blocked = await self._workspaces.ask(workspace_id, FindUnplaceable(heads))
            kept += [
                KeptFile(r.head, "path_taken") for r in reversions if r.head.file_id in blocked
            ]
            reversions = [
                reversion for reversion in reversions if reversion.head.file_id not in blocked
            ]
        return UndoOutlook(
            tuple(sorted(reversions, key=lambda reversion: reversion.head.path)),
            tuple(sorted(kept, key=lambda file: file.head.path)),
        )

    async def operations(
        self, workspace_id: WorkspaceId, outlook: UndoOutlook
    ) -> tuple[ChangeOperation, ...]:
        """Return the operations that carry out an outlook, guarded by the heads that it saw.

        Raises `TooManyFiles` for more text than `MAX_BYTES`, `OutlookOutdated` and
        `StoreUnavailable`.
        """
        texts = await self._texts(workspace_id, outlook)
        if any(
            reversion.needs_text and reversion.head.file_id not in texts
            for reversion in outlook.reversions
        ):
            raise OutlookOutdated
        return tuple(
            operation_of(reversion, texts.get(reversion.head.file_id))
            for reversion in outlook.reversions
        )

    def _earliest(self) -> int:
        return int(self._now() * 1000) - self._kept

    async def _texts(
        self, workspace_id: WorkspaceId, outlook: UndoOutlook
    ) -> Mapping[FileId, NoteText]:
        named = [
            reversion.target.revision_id
            for reversion in outlook.reversions
            if reversion.target is not None and reversion.needs_text
        ]
        if not named:
            return {}
        _, stored = await self._store.read_much(files.files(workspace_id, [], named, MAX_BYTES))
        return {
            file.revision.file_id: note_text(file.text) for file in stored if file.text is not None
        }
