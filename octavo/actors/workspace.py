"""The actor of one workspace: puts its changesets in order, and knows the heads of its files.

It takes all changesets that wait, plans them one after the other, and has them kept together.
Only then is anybody answered, and everybody told of the new position. What it knows is a copy: the
position in the store is a fence, and when somebody else moved it, the plans are made anew. So
nothing rests on there being one such actor in the world.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import trio

from octavo.actors.core import Actor, Envelope
from octavo.actors.documenting import Documenting
from octavo.actors.sorting import Sorted, Waiting, plan_all
from octavo.actors.workspace_messages import HeadOf, Lacking, NotKept, NoWorkspace, Push
from octavo.documents import Drafts
from octavo.model.batch import Batch, portions
from octavo.model.changeset import MOST_OPERATIONS, size_of, writes_document
from octavo.model.document import DocumentUpdate, KeptDocument
from octavo.model.identity import FileId, MutationId, Position, WorkspaceId
from octavo.model.receipt import receipt_of
from octavo.model.refusal import Refusal
from octavo.model.tree import Tree
from octavo.store import Store, StoreUnavailable
from octavo.store.scripts.changesets import PositionMoved, Repeated, WorkspaceGone, keep
from octavo.store.scripts.documents import documents_of
from octavo.store.scripts.heads import heads_after
from octavo.store.scripts.receipts import receipts

TURN = 100
"""So many heads are taken in before others on the loop have their turn."""
FEW = 10
"""So many receipts are read without a thread of their own."""
LITTLE = 65_536
"""Bytes of documents and updates that are worked on, or read, without a thread of their own."""
MOST_ATTEMPTS = 20
"""How often a batch is planned anew while others change the workspace, before it is given up."""


@dataclass(slots=True)
class _Known:
    """The files as they stand in the store, at a position."""

    tree: Tree
    position: Position


class _Planned(NamedTuple):
    """A batch that is planned, and the documents that it makes."""

    batch: Batch
    found: Sorted
    documents: list[tuple[FileId, KeptDocument]]


_Asked = Envelope[Push | HeadOf | Lacking]


Announce = Callable[[WorkspaceId, Position], None]


class Workspace(Actor[Push | HeadOf | Lacking]):
    """Serves one workspace.

    Args:
        workspace_id: which.
        store: where it is kept.
        now: the time, in seconds of Unix time.
        new_id: makes the ids of revisions.
        announce: told of each new position, once it is durable, and of the newest one when the
            store was read; must not wait.
        shared: True when other processes change the store, so that it is looked up whether
            they did before anything is answered.
        documents: works on the documents of notes.
        purged: told when texts of purged files are left to be removed; must not wait.
    """

    def __init__(
        self,
        workspace_id: WorkspaceId,
        store: Store,
        *,
        now: Callable[[], float],
        new_id: Callable[[], str],
        announce: Announce,
        shared: bool,
        documents: Documenting,
        purged: Callable[[], None] = lambda: None,
    ) -> None:
        self._id = workspace_id
        self._store = store
        self._now = now
        self._new_id = new_id
        self._announce = announce
        self._shared = shared
        self._purged = purged
        self._documents = documents
        # None as long as nothing is known for certain.
        self._known: _Known | None = None

    async def handle_batch(self, batch: Sequence[_Asked]) -> None:
        """Answer the questions as of before the changesets, then accept these."""
        try:
            known = await self._refresh() if self._shared else self._known or await self._refresh()
            pushes: list[Waiting] = []
            lacking: list[tuple[_Asked, Lacking]] = []
            for envelope in batch:
                message = envelope.message
                if isinstance(message, HeadOf):
                    envelope.reply(message.reply(known.tree.heads.get(message.file_id)))
                elif isinstance(message, Lacking):
                    lacking.append((envelope, message))
                else:
                    pushes.append(Waiting(envelope, message))
            if lacking:
                known = await self._tell_lacking(known, lacking)
            for portion in portions(pushes, lambda sender: sender.weight, MOST_OPERATIONS):
                known = await self._accept(known, portion)
        except WorkspaceGone:
            for envelope in batch:
                envelope.refuse(NoWorkspace())
            self.context.stop()
        except StoreUnavailable as error:
            # Whether the write was kept is not known now: read before anything else is said.
            self._known = None
            # Files may have been purged all the same.
            self._purged()
            for envelope in batch:
                envelope.refuse(NotKept(error))

    async def _refresh(self) -> _Known:
        """Bring what is known up to the store; raises `WorkspaceGone` and `StoreUnavailable`.

        What was kept without an answer, by this actor or the one before it, is announced now.
        """
        known = self._known or _Known(Tree(), Position(0))
        found = await self._store.read_much(heads_after(self._id, known.position))
        if found is None:
            raise WorkspaceGone
        for count, head in enumerate(found.heads, start=1):
            known.tree.put(head)
            # The document that is in memory may be an older one.
            self._documents.shelf.take(self._id, head.file_id)
            if count % TURN == 0:
                await trio.lowlevel.checkpoint()
        moved = known.position != found.position
        known.position = found.position
        self._known = known
        if moved:
            self._announce(self._id, known.position)
        return known

    async def _accept(self, known: _Known, waiting: list[Waiting]) -> _Known:
        for _ in range(MOST_ATTEMPTS):
            now = int(self._now() * 1000)
            known, drafts, stored = await self._drafts(known, _documents_written(waiting))
            batch, found, documents = await self._plan(known, now, waiting, drafts, stored)
            await self.context.fault_point("workspace.planned")
            try:
                if batch.plans:
                    script = keep(self._id, known.position, batch.plans, now, documents)
                    await self._store.write(script)
            except PositionMoved:
                batch.take_back()
                known = await self._refresh()
                continue
            except Repeated as repeated:
                batch.take_back()
                waiting = await self._answer_again(waiting, repeated.mutation_ids)
                continue
            await self.context.fault_point("workspace.committed")
            drafts.settle()
            await self._publish(known, batch, found)
            return known
        raise StoreUnavailable("The workspace changes too fast for this change to be accepted.")

    async def _drafts(
        self, known: _Known, file_ids: Sequence[FileId]
    ) -> tuple[_Known, Drafts, Mapping[FileId, KeptDocument]]:
        """Answer drafts for notes, and the stored documents that are still to be brought there."""
        for _ in range(MOST_ATTEMPTS):
            drafts = self._documents.drafts(self._id)
            heads = known.tree.heads
            lacking = drafts.take(
                file_id
                for file_id in dict.fromkeys(file_ids)
                if file_id in heads and heads[file_id].kind == "note" and heads[file_id].path
            )
            if not lacking:
                return known, drafts, {}
            little = sum(heads[file_id].size for file_id in lacking) <= LITTLE
            read = self._store.read if little else self._store.read_much
            found = await read(documents_of(self._id, lacking))
            if found is None:
                raise WorkspaceGone
            if found.position == known.position:
                return known, drafts, found.documents
            known = await self._refresh()
        raise StoreUnavailable("The workspace changes too fast for its documents to be read.")

    async def _plan(
        self,
        known: _Known,
        now: int,
        waiting: Sequence[Waiting],
        drafts: Drafts,
        stored: Mapping[FileId, KeptDocument],
    ) -> _Planned:
        def work() -> _Planned:
            _bring(drafts, stored)
            batch = Batch(known.tree, known.position, now, self._new_id, drafts)
            found = plan_all(batch, waiting)
            return _Planned(batch, found, drafts.changed())

        operations = (each for sender in waiting for each in sender.push.changeset.operations)
        written = sum(size_of(each) for each in operations if writes_document(each))
        if drafts.weight + _size_of(stored) + written <= LITTLE:
            return work()
        return await self._documents.offload(work)

    async def _tell_lacking(self, known: _Known, asked: Sequence[tuple[_Asked, Lacking]]) -> _Known:
        file_ids = [message.file_id for _, message in asked]
        known, drafts, stored = await self._drafts(known, file_ids)

        def work() -> list[DocumentUpdate | None]:
            _bring(drafts, stored)
            return [drafts.lacking(each.file_id, each.epoch, each.vector) for _, each in asked]

        little = drafts.weight + _size_of(stored) <= LITTLE
        found = work() if little else await self._documents.offload(work)
        for (envelope, message), lacks in zip(asked, found, strict=True):
            envelope.reply(message.reply(lacks))
        drafts.settle()
        return known

    async def _publish(self, known: _Known, batch: Batch, found: Sorted) -> None:
        moved = known.position != batch.position
        known.position = batch.position
        for plan, senders in found.accepted.values():
            receipt = receipt_of(plan)
            for sender in senders:
                sender.accepted(receipt)
        if moved:
            self._announce(self._id, known.position)
            if any(each.outcome == "purged" for plan in batch.plans for each in plan.changes):
                self._purged()
        # A change that was accepted before looks like a wrong one when it is sent again.
        repeatable: dict[_Asked, tuple[Waiting, Refusal]] = {}
        for sender, refusal in found.refused:
            if sender.push.changeset.repeatable:
                repeatable[sender.envelope] = (sender, refusal)
            else:
                sender.refused(refusal)
        if repeatable:
            senders = [sender for sender, _ in repeatable.values()]
            mutation_ids = [sender.push.changeset.mutation_id for sender in senders]
            for sender in await self._answer_again(senders, mutation_ids):
                sender.refused(repeatable[sender.envelope][1])

    async def _answer_again(
        self, waiting: Sequence[Waiting], mutation_ids: Sequence[MutationId]
    ) -> list[Waiting]:
        """Answer what was accepted before; give back the others."""
        read = self._store.read if len(mutation_ids) <= FEW else self._store.read_much
        known = await read(receipts(self._id, mutation_ids))
        rest: list[Waiting] = []
        for sender in waiting:
            receipt = known.get(sender.push.changeset.mutation_id)
            if receipt is None:
                rest.append(sender)
            else:
                sender.accepted(receipt)
        return rest


def _documents_written(waiting: Iterable[Waiting]) -> list[FileId]:
    operations = (each for sender in waiting for each in sender.push.changeset.operations)
    return [each.file_id for each in operations if writes_document(each)]


def _bring(drafts: Drafts, stored: Mapping[FileId, KeptDocument]) -> None:
    for file_id, kept in stored.items():
        drafts.bring(file_id, kept)


def _size_of(stored: Mapping[FileId, KeptDocument]) -> int:
    return sum(len(kept.state) for kept in stored.values())
