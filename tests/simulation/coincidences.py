"""Sights of what must coincide often: several things in one batch, or at the same moment."""

from collections import Counter
from collections.abc import Callable, Sequence
from typing import Any

import pytest
from greenroom import ActorQuarantined, Envelope, NotExecuted, directory
from greenroom.cell import Cell
from greenroom.mailbox import Mailbox
from octavo_rules.identity import FileId, WorkspaceId

from octavo.actors.group_commit import Storage, Write
from octavo.actors.notice_hub import Listener, NoticeHub
from octavo.actors.workspace.actor import WorkspaceActor
from octavo.actors.workspace.messages import Push
from octavo.model.files.plan import Batch
from octavo.store.queries.changesets import PositionMoved
from octavo.store.queries.revision_rows import select_in
from octavo.store.transaction import Transaction
from tests.fakes.stores import listen_too

COINCIDENCES = (
    "several pushes in a batch",
    "several pushes to one file in a batch",
    "several scripts in a storage batch",
    "messages wait at a passivation",
    "messages wait when a key is quarantined",
    "several plans are taken back",
    "an indexed note is purged",
    "a note with a document is purged",
    "an indexed note is moved",
    "another process was faster",
    "a listener leaves when others are due",
)
"""Each has to occur in a tenth of the runs, or the simulation tests less than it claims."""
SHARE = 0.1

Saw = Callable[[str], None]

_INDEXED = """
    SELECT files.file_id FROM fulltext_notes JOIN files
    ON files.workspace = fulltext_notes.workspace AND files.pk = fulltext_notes.file
    WHERE files.workspace = (SELECT pk FROM workspaces WHERE id = $1::uuid)
    AND files.file_id IN ($ids)
"""
_DOCUMENTS = _INDEXED.replace("fulltext_notes", "documents")


def watch(patch: pytest.MonkeyPatch, saw: Saw) -> None:
    """Call ``saw`` with each coincidence as long as ``patch`` lasts."""
    _watch_workspaces(patch, saw)
    _watch_commits(patch, saw)
    _watch_storage(patch, saw)
    _watch_passivations(patch, saw)
    _watch_purges(patch, saw)


def _watch_workspaces(patch: pytest.MonkeyPatch, saw: Saw) -> None:
    handle_batch, roll_back = WorkspaceActor.handle_batch, Batch.roll_back

    async def handle(self: WorkspaceActor, batch: Sequence[Envelope[Any]]) -> None:
        pushes = [each.message for each in batch if isinstance(each.message, Push)]
        if len(pushes) > 1:
            saw("several pushes in a batch")
            files = Counter(o.file_id for push in pushes for o in push.changeset.operations)
            if max(files.values()) > 1:
                saw("several pushes to one file in a batch")
        await handle_batch(self, batch)

    def take_back(self: Batch) -> None:
        if len(self.plans) > 1:
            saw("several plans are taken back")
        roll_back(self)

    patch.setattr(WorkspaceActor, "handle_batch", handle)
    patch.setattr(Batch, "roll_back", take_back)


def _watch_commits(patch: pytest.MonkeyPatch, saw: Saw) -> None:
    unsubscribe = NoticeHub.unsubscribe

    def moved(self: PositionMoved) -> None:
        saw("another process was faster")

    def leave(self: NoticeHub[Any], workspace_id: WorkspaceId, listener: Listener[Any]) -> None:
        unsubscribe(self, workspace_id, listener)
        if workspace_id in self._due and workspace_id in self._listeners:
            saw("a listener leaves when others are due")

    patch.setattr(PositionMoved, "__init__", moved)
    patch.setattr(NoticeHub, "unsubscribe", leave)


def _watch_storage(patch: pytest.MonkeyPatch, saw: Saw) -> None:
    handle_batch = Storage.handle_batch

    async def handle(self: Storage, batch: Sequence[Envelope[Write[Any]]]) -> None:
        if len(batch) > 1:
            saw("several scripts in a storage batch")
        await handle_batch(self, batch)

    patch.setattr(Storage, "handle_batch", handle)


def _watch_passivations(patch: pytest.MonkeyPatch, saw: Saw) -> None:
    run = directory.run_incarnation  # type: ignore[attr-defined]
    refuse_waiting = Mailbox.refuse_waiting

    async def run_to_the_end(cell: Cell, ready: Callable[[], None]) -> None:
        await run(cell, ready)
        if cell.mailbox.in_use:
            saw("messages wait at a passivation")

    def refuse(self: Mailbox, refusal: Callable[[], NotExecuted]) -> int:
        if self.in_use and isinstance(refusal(), ActorQuarantined):
            saw("messages wait when a key is quarantined")
        return refuse_waiting(self, refusal)

    patch.setattr(directory, "run_incarnation", run_to_the_end)
    patch.setattr(Mailbox, "refuse_waiting", refuse)


def _watch_purges(patch: pytest.MonkeyPatch, saw: Saw) -> None:
    async def look(
        transaction: Transaction,
        workspace_id: WorkspaceId,
        workspace: int,
        file_ids: Sequence[FileId],
    ) -> None:
        if await select_in(transaction, _INDEXED, workspace_id, file_ids):
            saw("an indexed note is purged")
        if await select_in(transaction, _DOCUMENTS, workspace_id, file_ids):
            saw("a note with a document is purged")

    async def keep(transaction: Transaction, workspace: int, file_ids: Sequence[Any]) -> None:
        sql = "SELECT 1 FROM fulltext_notes WHERE workspace = $1 AND path IS NOT NULL LIMIT 1"
        if await transaction.fetch_one(sql, workspace):
            saw("an indexed note is moved")

    listen_too(patch, "files_purged", look, first=True)
    listen_too(patch, "files_moving", keep)
