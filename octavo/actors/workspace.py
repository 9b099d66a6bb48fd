"""The actor of one workspace: puts its changesets in order, and knows the heads of its files.

It takes all changesets that wait, plans them one after the other, and has them kept together.
Only then is anybody answered, and everybody told of the new position. What it knows is a copy: the
position in the store is a fence, and when somebody else moved it, the plans are made anew. So
nothing rests on there being one such actor in the world.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

import trio

from octavo.actors.core import Actor, Envelope, Message
from octavo.actors.core import Refusal as Answer
from octavo.model.batch import Batch, portions
from octavo.model.changeset import MOST_OPERATIONS, Changeset, size_of
from octavo.model.identity import FileId, MutationId, Position, WorkspaceId
from octavo.model.plan import Plan
from octavo.model.receipt import Receipt, receipt_of
from octavo.model.refusal import MutationReused, Refusal
from octavo.model.revision import Revision
from octavo.model.tree import Tree
from octavo.store import Store, StoreUnavailable
from octavo.store.scripts.changesets import PositionMoved, Repeated, WorkspaceGone, keep
from octavo.store.scripts.heads import heads_after
from octavo.store.scripts.receipts import receipts

BYTES_OF_AN_OPERATION = 16_384
TURN = 100
"""So many heads are taken in before others on the loop have their turn."""
FEW = 10
"""So many receipts are read without a thread of their own."""
MOST_ATTEMPTS = 20
"""How often a batch is planned anew while others change the workspace, before it is given up."""


@dataclass(frozen=True, slots=True)
class Push(Message["Workspace", Receipt]):
    """Accept a changeset; refused with `NotAccepted`, `NotKept` or `NoWorkspace`."""

    changeset: Changeset


@dataclass(frozen=True, slots=True)
class HeadOf(Message["Workspace", Revision | None]):
    """Answer the head of a file, whatever its state; None for an unknown one."""

    file_id: FileId


class NotAccepted(Answer):
    """The changeset can't be accepted; ``refusal`` says why. Nothing of it was done."""

    def __init__(self, refusal: Refusal) -> None:
        super().__init__(refusal.detail)
        self.refusal = refusal


class NotKept(Answer):
    """The store failed; ``error`` says whether the changeset may have been kept all the same."""

    def __init__(self, error: StoreUnavailable) -> None:
        super().__init__(str(error))
        self.error = error


class NoWorkspace(Answer):
    """There is no such workspace."""


@dataclass(slots=True)
class _Known:
    """The files as they stand in the store, at a position."""

    tree: Tree
    position: Position


_Asked = Envelope[Push | HeadOf]


class _Waiting(NamedTuple):
    """A changeset whose sender waits for the answer."""

    envelope: _Asked
    push: Push

    def accepted(self, receipt: Receipt) -> None:
        """Answer with the receipt for the same mutation, if it was for the same content."""
        if receipt.fingerprint == self.push.changeset.fingerprint:
            self.envelope.reply(self.push.reply(receipt))
        else:
            self.refused(
                MutationReused(
                    "This mutationId was used for another change: take a new one for each."
                )
            )

    def refused(self, refusal: Refusal) -> None:
        self.envelope.refuse(NotAccepted(refusal))


@dataclass(slots=True)
class _Sorted:
    """What became of changesets in planning: accepted by their mutation, and refused."""

    accepted: dict[MutationId, tuple[Plan, list[_Waiting]]] = field(default_factory=dict)
    refused: list[tuple[_Waiting, Refusal]] = field(default_factory=list)


Announce = Callable[[WorkspaceId, Position], None]


class Workspace(Actor[Push | HeadOf]):
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
        purged: Callable[[], None] = lambda: None,
    ) -> None:
        self._id = workspace_id
        self._store = store
        self._now = now
        self._new_id = new_id
        self._announce = announce
        self._shared = shared
        self._purged = purged
        # None as long as nothing is known for certain.
        self._known: _Known | None = None

    async def handle_batch(self, batch: Sequence[_Asked]) -> None:
        """Answer the questions as of before the changesets, then accept these."""
        try:
            known = await self._refresh() if self._shared else self._known or await self._refresh()
            pushes: list[_Waiting] = []
            for envelope in batch:
                message = envelope.message
                if isinstance(message, HeadOf):
                    envelope.reply(message.reply(known.tree.heads.get(message.file_id)))
                else:
                    pushes.append(_Waiting(envelope, message))
            for portion in portions(pushes, _weight_of, MOST_OPERATIONS):
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
            if count % TURN == 0:
                await trio.lowlevel.checkpoint()
        moved = known.position != found.position
        known.position = found.position
        self._known = known
        if moved:
            self._announce(self._id, known.position)
        return known

    async def _accept(self, known: _Known, waiting: list[_Waiting]) -> _Known:
        for _ in range(MOST_ATTEMPTS):
            now = int(self._now() * 1000)
            batch = Batch(known.tree, known.position, now, self._new_id)
            found = _plan(batch, waiting)
            await self.context.fault_point("workspace.planned")
            try:
                if batch.plans:
                    await self._store.write(keep(self._id, known.position, batch.plans, now))
            except PositionMoved:
                batch.take_back()
                known = await self._refresh()
                continue
            except Repeated as repeated:
                batch.take_back()
                waiting = await self._answer_again(waiting, repeated.mutation_ids)
                continue
            await self.context.fault_point("workspace.committed")
            await self._publish(known, batch, found)
            return known
        raise StoreUnavailable("The workspace changes too fast for this change to be accepted.")

    async def _publish(self, known: _Known, batch: Batch, found: _Sorted) -> None:
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
        repeatable: dict[_Asked, tuple[_Waiting, Refusal]] = {}
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
        self, waiting: Sequence[_Waiting], mutation_ids: Sequence[MutationId]
    ) -> list[_Waiting]:
        """Answer what was accepted before; give back the others."""
        read = self._store.read if len(mutation_ids) <= FEW else self._store.read_much
        known = await read(receipts(self._id, mutation_ids))
        rest: list[_Waiting] = []
        for sender in waiting:
            receipt = known.get(sender.push.changeset.mutation_id)
            if receipt is None:
                rest.append(sender)
            else:
                sender.accepted(receipt)
        return rest


def _weight_of(sender: _Waiting) -> int:
    """In operations: so much text as takes as long as one more counts for one."""
    operations = sender.push.changeset.operations
    return len(operations) + sum(map(size_of, operations)) // BYTES_OF_AN_OPERATION


def _plan(batch: Batch, waiting: Sequence[_Waiting]) -> _Sorted:
    found = _Sorted()
    for sender in waiting:
        changeset = sender.push.changeset
        same = found.accepted.get(changeset.mutation_id)
        if same is not None:
            same[1].append(sender)
            continue
        try:
            found.accepted[changeset.mutation_id] = (batch.add(changeset), [sender])
        except Refusal as refusal:
            found.refused.append((sender, refusal))
    return found
