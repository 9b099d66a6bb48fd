"""The actor of one workspace: puts its changesets in order, and knows the heads of its files.

It takes all changesets that wait, plans them one after the other, and has them kept together.
Only then is anybody answered, and everybody told of the new position. What it knows is a copy: the
position in the store is a fence, and when somebody else moved it, the plans are made anew. So
nothing rests on there being one such actor in the world.

The actors of all workspaces, each awake while somebody uses it.
"""

from collections.abc import Callable, Sequence

import trio

from octavo.actors.core import Actor, DirectorySpec, Envelope
from octavo.actors.workspace.document_services import DocumentServices
from octavo.actors.workspace.messages import HeadOf, MissingUpdate, NotKept, NoWorkspace, Push
from octavo.actors.workspace.planning import PendingPush, Planner, PlanResult, WorkspaceState
from octavo.model.files.batch import Batch, portions
from octavo.model.files.changeset import MOST_OPERATIONS
from octavo.model.files.receipt import receipt_of
from octavo.model.files.tree import Tree
from octavo.model.identity import MutationId, Position, WorkspaceId
from octavo.model.refusal import DomainError
from octavo.store import Store, StoreUnavailable
from octavo.store.scripts.changesets import (
    PositionMoved,
    Repeated,
    WorkspaceGone,
    commit_changesets,
    receipts,
)
from octavo.store.scripts.feed import heads_after

TURN = 100
"""So many heads are taken in before others on the loop have their turn."""
FEW = 10
"""So many receipts are read without a thread of their own."""
MOST_ATTEMPTS = 20
"""How often a batch is planned anew while others change the workspace, before it is given up."""


_Asked = Envelope[Push | HeadOf | MissingUpdate]


Announce = Callable[[WorkspaceId, Position], None]


class WorkspaceActor(Actor[Push | HeadOf | MissingUpdate]):
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
        documents: DocumentServices,
        purged: Callable[[], None] = lambda: None,
    ) -> None:
        self._id = workspace_id
        self._store = store
        self._now = now
        self._new_id = new_id
        self._announce = announce
        self._shared = shared
        self._purged = purged
        self._shelf = documents.shelf
        self._planner = Planner(workspace_id, store, documents, new_id)
        # None as long as nothing is known for certain.
        self._known: WorkspaceState | None = None

    async def handle_batch(self, batch: Sequence[_Asked]) -> None:
        """Return the questions as of before the changesets, then accept these."""
        try:
            known = await self._refresh() if self._shared else self._known or await self._refresh()
            pushes: list[PendingPush] = []
            lacking: list[tuple[_Asked, MissingUpdate]] = []
            for envelope in batch:
                message = envelope.message
                if isinstance(message, HeadOf):
                    envelope.reply(message.reply(known.tree.heads.get(message.file_id)))
                elif isinstance(message, MissingUpdate):
                    lacking.append((envelope, message))
                else:
                    pushes.append(PendingPush(envelope, message))
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

    async def _refresh(self) -> WorkspaceState:
        """Bring what is known up to the store; raises `WorkspaceGone` and `StoreUnavailable`.

        What was kept without an answer, by this actor or the one before it, is announced now.
        """
        known = self._known or WorkspaceState(Tree(), Position(0))
        found = await self._store.read_much(heads_after(self._id, known.position))
        if found is None:
            raise WorkspaceGone
        for count, head in enumerate(found.heads, start=1):
            known.tree.put(head)
            # The document that is in memory may be an older one.
            self._shelf.take(self._id, head.file_id)
            if count % TURN == 0:
                await trio.lowlevel.checkpoint()
        moved = known.position != found.position
        known.position = found.position
        self._known = known
        if moved:
            self._announce(self._id, known.position)
        return known

    async def _accept(self, known: WorkspaceState, waiting: list[PendingPush]) -> WorkspaceState:
        for _ in range(MOST_ATTEMPTS):
            now = int(self._now() * 1000)
            batch: Batch | None = None
            try:
                batch, found, documents, drafts = await self._planner.plan(known, waiting, now)
                await self.context.fault_point("workspace.planned")
                if batch.plans:
                    script = commit_changesets(
                        self._id, known.position, batch.plans, now, documents
                    )
                    await self._store.write(script)
            except PositionMoved:
                if batch is not None:
                    batch.take_back()
                known = await self._refresh()
                continue
            except Repeated as repeated:
                if batch is not None:
                    batch.take_back()
                waiting = await self._answer_again(waiting, repeated.mutation_ids)
                continue
            except DomainError as refusal:
                await self._refuse([(sender, refusal) for sender in waiting])
                return known
            await self.context.fault_point("workspace.committed")
            drafts.settle()
            await self._publish(known, batch, found)
            return known
        raise StoreUnavailable("The workspace changes too fast for this change to be accepted.")

    async def _tell_lacking(
        self, known: WorkspaceState, asked: Sequence[tuple[_Asked, MissingUpdate]]
    ) -> WorkspaceState:
        for _ in range(MOST_ATTEMPTS):
            try:
                found = await self._planner.lacking(known, [message for _, message in asked])
            except PositionMoved:
                known = await self._refresh()
                continue
            for (envelope, message), lacks in zip(asked, found, strict=True):
                envelope.reply(message.reply(lacks))
            return known
        raise StoreUnavailable("The workspace changes too fast for its documents to be read.")

    async def _publish(self, known: WorkspaceState, batch: Batch, found: PlanResult) -> None:
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
        await self._refuse(found.refused)

    async def _refuse(self, refused: Sequence[tuple[PendingPush, DomainError]]) -> None:
        # A change that was accepted before looks like a wrong one when it is sent again.
        repeatable: dict[_Asked, tuple[PendingPush, DomainError]] = {}
        for sender, refusal in refused:
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
        self, waiting: Sequence[PendingPush], mutation_ids: Sequence[MutationId]
    ) -> list[PendingPush]:
        """Return what was accepted before; give back the others."""
        read = self._store.read if len(mutation_ids) <= FEW else self._store.read_much
        known = await read(receipts(self._id, mutation_ids))
        rest: list[PendingPush] = []
        for sender in waiting:
            receipt = known.get(sender.push.changeset.mutation_id)
            if receipt is None:
                rest.append(sender)
            else:
                sender.accepted(receipt)
        return rest


IDLE_SECONDS = 300.0
MOST_AWAKE = 1000


def workspaces(
    store: Store,
    *,
    now: Callable[[], float],
    new_id: Callable[[], str],
    announce: Announce,
    shared: bool,
    documents: DocumentServices,
    purged: Callable[[], None] = lambda: None,
) -> DirectorySpec[WorkspaceId, WorkspaceActor]:
    """Return what to put under supervision; the arguments are those of `WorkspaceActor`."""

    def workspace(workspace_id: WorkspaceId) -> WorkspaceActor:
        return WorkspaceActor(
            workspace_id,
            store,
            now=now,
            new_id=new_id,
            announce=announce,
            shared=shared,
            documents=documents,
            purged=purged,
        )

    return DirectorySpec("workspaces", workspace, idle_timeout=IDLE_SECONDS, max_awake=MOST_AWAKE)
