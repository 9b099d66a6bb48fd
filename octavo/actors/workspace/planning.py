"""Plan the changesets that wait over what is known, with the documents and links they need.

What is read for it must be of the position that is known; where the store is ahead, that is told
by `PositionMoved`, and what is known has to be refreshed first.

Changesets whose senders wait, planned one after the other and sorted by what came of it.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from octavo.actors.core import Envelope
from octavo.actors.jobs.indexing import catch_up_links
from octavo.actors.workspace.document_services import DocumentServices
from octavo.actors.workspace.messages import MissingUpdate, NotAccepted, Push
from octavo.documents import BatchDocuments
from octavo.model.documents.document import DocumentUpdate, KeptDocument
from octavo.model.files.batch import Batch
from octavo.model.files.changeset import (
    MOST_OPERATIONS,
    Changeset,
    content_of,
    size_of,
    writes_document,
)
from octavo.model.files.plan import Plan
from octavo.model.files.receipt import Receipt
from octavo.model.files.tree import Tree
from octavo.model.identity import FileId, MutationId, Position, WorkspaceId
from octavo.model.links.link_rewrite import file_moves, relinked
from octavo.model.refusal import DomainError, MutationReused
from octavo.store import Store, StoreUnavailable
from octavo.store.scripts.changesets import PositionMoved, WorkspaceGone
from octavo.store.scripts.documents import documents_of
from octavo.store.scripts.link_rewrite import notes_to_rewrite

BYTES_OF_AN_OPERATION = 16_384


class PendingPush(NamedTuple):
    """A changeset whose sender waits for the answer."""

    envelope: Envelope[Any]
    push: Push

    @property
    def weight(self) -> int:
        """In operations: so much text as takes as long as one more counts for one.

        One that rewrites links is planned alone, as it has to know every text as it is.
        """
        operations = self.push.changeset.operations
        if file_moves(operations):
            return MOST_OPERATIONS + 1
        return len(operations) + sum(map(size_of, operations)) // BYTES_OF_AN_OPERATION

    def accepted(self, receipt: Receipt) -> None:
        """Return with the receipt for the same mutation, if it was for the same content."""
        if receipt.fingerprint == self.push.changeset.fingerprint:
            self.envelope.reply(self.push.reply(receipt))
        else:
            self.refused(
                MutationReused(
                    "This mutationId was used for another change: take a new one for each."
                )
            )

    def refused(self, refusal: DomainError) -> None:
        """Return with why the changeset can't be accepted."""
        self.envelope.refuse(NotAccepted(refusal))


@dataclass(slots=True)
class PlanResult:
    """What became of changesets in planning: accepted by their mutation, and refused."""

    accepted: dict[MutationId, tuple[Plan, list[PendingPush]]] = field(default_factory=dict)
    refused: list[tuple[PendingPush, DomainError]] = field(default_factory=list)


def plan_all(
    batch: Batch, waiting: Sequence[PendingPush], completed: Callable[[Changeset], Changeset]
) -> PlanResult:
    """Plan every changeset that waits, as it is ``completed``; nobody is answered yet."""
    found = PlanResult()
    for sender in waiting:
        changeset = sender.push.changeset
        same = found.accepted.get(changeset.mutation_id)
        if same is not None:
            same[1].append(sender)
            continue
        try:
            found.accepted[changeset.mutation_id] = (batch.add(completed(changeset)), [sender])
        except DomainError as refusal:
            found.refused.append((sender, refusal))
    return found


LITTLE = 65_536
"""Bytes of documents and updates that are worked on, or read, without a thread of their own."""


@dataclass(slots=True)
class WorkspaceState:
    """The files as they stand in the store, at a position."""

    tree: Tree
    position: Position


class PlannedChangesets(NamedTuple):
    """A batch that is planned, the documents that it makes, and where they are kept afterwards."""

    batch: Batch
    found: PlanResult
    documents: list[tuple[FileId, KeptDocument]]
    drafts: BatchDocuments


class Planner:
    """Plans for one workspace.

    Every method raises `PositionMoved`, `WorkspaceGone` and `octavo.store.StoreUnavailable`, and
    then nothing changed.

    Args:
        workspace_id: which.
        store: where it is kept.
        documents: works on the documents of notes.
        new_id: makes the ids of revisions.
    """

    def __init__(
        self,
        workspace_id: WorkspaceId,
        store: Store,
        documents: DocumentServices,
        new_id: Callable[[], str],
    ) -> None:
        self._id = workspace_id
        self._store = store
        self._documents = documents
        self._new_id = new_id

    async def plan(
        self, known: WorkspaceState, waiting: Sequence[PendingPush], now: int
    ) -> PlannedChangesets:
        """Plan ``waiting``, whose heads are in the tree of ``known`` then.

        Raises a `octavo.model.refusal.DomainError` when it is for the one changeset that waits, and
        can't even be planned.
        """
        texts = await self._texts_to_relink(known, waiting)
        operations = [each for sender in waiting for each in sender.push.changeset.operations]
        written = [each for each in operations if writes_document(each)]
        drafts, stored = await self._drafts(known, [*(o.file_id for o in written), *texts])

        def relink(changeset: Changeset) -> Changeset:
            return self._relinked(changeset, known, texts) if texts else changeset

        def work() -> PlannedChangesets:
            _bring(drafts, stored)
            batch = Batch(known.tree, known.position, now, self._new_id, drafts)
            found = plan_all(batch, waiting, relink)
            return PlannedChangesets(batch, found, drafts.changed(), drafts)

        much = _size_of(drafts, stored) + sum(map(size_of, written)) > LITTLE
        return await self._documents.offload(work) if much or texts else work()

    async def lacking(
        self, known: WorkspaceState, asked: Sequence[MissingUpdate]
    ) -> list[DocumentUpdate | None]:
        """Return what each asks for, as of what is known."""
        drafts, stored = await self._drafts(known, [each.file_id for each in asked])

        def work() -> list[DocumentUpdate | None]:
            _bring(drafts, stored)
            return [drafts.lacking(each.file_id, each.epoch, each.vector) for each in asked]

        much = _size_of(drafts, stored) > LITTLE
        found = await self._documents.offload(work) if much else work()
        drafts.settle()
        return found

    async def _drafts(
        self, known: WorkspaceState, file_ids: Sequence[FileId]
    ) -> tuple[BatchDocuments, Mapping[FileId, KeptDocument]]:
        """Return drafts for notes, and the stored documents that are still to be brought there."""
        drafts = self._documents.drafts(self._id)
        heads = known.tree.heads
        lacking = drafts.take(
            file_id
            for file_id in dict.fromkeys(file_ids)
            if file_id in heads and heads[file_id].kind == "note" and heads[file_id].path
        )
        if not lacking:
            return drafts, {}
        little = sum(heads[file_id].size for file_id in lacking) <= LITTLE
        read = self._store.read if little else self._store.read_much
        found = await read(documents_of(self._id, lacking))
        if found is None:
            raise WorkspaceGone
        if found.position != known.position:
            raise PositionMoved
        return drafts, found.documents

    async def _texts_to_relink(
        self, known: WorkspaceState, waiting: Sequence[PendingPush]
    ) -> Mapping[FileId, str]:
        """Return the notes that links may be rewritten in, for the one changeset that asks so."""
        moving = file_moves(
            [each for sender in waiting for each in sender.push.changeset.operations]
        )
        if not moving:
            return {}
        if not await catch_up_links(self._store, self._id):
            raise StoreUnavailable(
                "The links of the workspace are still being taken into their index: try again soon."
            )
        found = await self._store.read_much(notes_to_rewrite(self._id, moving))
        if found is None:
            raise WorkspaceGone
        if found.position != known.position:
            raise PositionMoved
        return found.texts

    def _relinked(
        self, changeset: Changeset, known: WorkspaceState, texts: Mapping[FileId, str]
    ) -> Changeset:
        found = relinked(changeset, known.tree.heads, texts)
        for operation in found.operations:
            content = content_of(operation)
            if content is not None:
                self._check(operation.file_id, content.text, texts.get(operation.file_id))
        return found

    def _check(self, file_id: FileId, text: str, before: str | None) -> None:
        try:
            self._documents.check_text(text)
        except DomainError as refusal:
            # A note from before there were limits must not keep others where they are.
            if before is not None and self._is_refused(before):
                return
            refusal.file_id = file_id
            raise

    def _is_refused(self, text: str) -> bool:
        try:
            self._documents.check_text(text)
        except DomainError:
            return True
        return False


def _bring(drafts: BatchDocuments, stored: Mapping[FileId, KeptDocument]) -> None:
    for file_id, kept in stored.items():
        drafts.bring(file_id, kept)


def _size_of(drafts: BatchDocuments, stored: Mapping[FileId, KeptDocument]) -> int:
    return drafts.weight + sum(len(kept.state) for kept in stored.values())
