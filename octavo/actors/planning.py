"""Plan the changesets that wait over what is known, with the documents and links they need.

What is read for it must be of the position that is known; where the store is ahead, that is told
by `PositionMoved`, and what is known has to be refreshed first.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from octavo.actors.documenting import Documenting
from octavo.actors.link_index import catch_up_links
from octavo.actors.sorting import Sorted, Waiting, plan_all
from octavo.actors.workspace_messages import Lacking
from octavo.documents import Drafts
from octavo.model.batch import Batch
from octavo.model.changeset import Changeset, content_of, size_of, writes_document
from octavo.model.document import DocumentUpdate, KeptDocument
from octavo.model.identity import FileId, Position, WorkspaceId
from octavo.model.refusal import Refusal
from octavo.model.relinking import moves, relinked
from octavo.model.tree import Tree
from octavo.store import Store, StoreUnavailable
from octavo.store.scripts.changesets import PositionMoved, WorkspaceGone
from octavo.store.scripts.documents import documents_of
from octavo.store.scripts.relinking import notes_to_relink

LITTLE = 65_536
"""Bytes of documents and updates that are worked on, or read, without a thread of their own."""


@dataclass(slots=True)
class Known:
    """The files as they stand in the store, at a position."""

    tree: Tree
    position: Position


class Planned(NamedTuple):
    """A batch that is planned, the documents that it makes, and where they are kept afterwards."""

    batch: Batch
    found: Sorted
    documents: list[tuple[FileId, KeptDocument]]
    drafts: Drafts


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
        documents: Documenting,
        new_id: Callable[[], str],
    ) -> None:
        self._id = workspace_id
        self._store = store
        self._documents = documents
        self._new_id = new_id

    async def plan(self, known: Known, waiting: Sequence[Waiting], now: int) -> Planned:
        """Plan ``waiting``, whose heads are in the tree of ``known`` then.

        Raises a `octavo.model.refusal.Refusal` when it is for the one changeset that waits, and
        can't even be planned.
        """
        texts = await self._texts_to_relink(known, waiting)
        operations = [each for sender in waiting for each in sender.push.changeset.operations]
        written = [each for each in operations if writes_document(each)]
        drafts, stored = await self._drafts(known, [*(o.file_id for o in written), *texts])

        def relink(changeset: Changeset) -> Changeset:
            return self._relinked(changeset, known, texts) if texts else changeset

        def work() -> Planned:
            _bring(drafts, stored)
            batch = Batch(known.tree, known.position, now, self._new_id, drafts)
            found = plan_all(batch, waiting, relink)
            return Planned(batch, found, drafts.changed(), drafts)

        much = _size_of(drafts, stored) + sum(map(size_of, written)) > LITTLE
        return await self._documents.offload(work) if much or texts else work()

    async def lacking(self, known: Known, asked: Sequence[Lacking]) -> list[DocumentUpdate | None]:
        """Answer what each asks for, as of what is known."""
        drafts, stored = await self._drafts(known, [each.file_id for each in asked])

        def work() -> list[DocumentUpdate | None]:
            _bring(drafts, stored)
            return [drafts.lacking(each.file_id, each.epoch, each.vector) for each in asked]

        much = _size_of(drafts, stored) > LITTLE
        found = await self._documents.offload(work) if much else work()
        drafts.settle()
        return found

    async def _drafts(
        self, known: Known, file_ids: Sequence[FileId]
    ) -> tuple[Drafts, Mapping[FileId, KeptDocument]]:
        """Answer drafts for notes, and the stored documents that are still to be brought there."""
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
        self, known: Known, waiting: Sequence[Waiting]
    ) -> Mapping[FileId, str]:
        """Answer the notes that links may be rewritten in, for the one changeset that asks so."""
        moving = moves([each for sender in waiting for each in sender.push.changeset.operations])
        if not moving:
            return {}
        if not await catch_up_links(self._store, self._id):
            raise StoreUnavailable(
                "The links of the workspace are still being taken into their index: try again soon."
            )
        found = await self._store.read_much(notes_to_relink(self._id, moving))
        if found is None:
            raise WorkspaceGone
        if found.position != known.position:
            raise PositionMoved
        return found.texts

    def _relinked(
        self, changeset: Changeset, known: Known, texts: Mapping[FileId, str]
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
        except Refusal as refusal:
            # A note from before there were limits must not keep others where they are.
            if before is not None and self._is_refused(before):
                return
            refusal.file_id = file_id
            raise

    def _is_refused(self, text: str) -> bool:
        try:
            self._documents.check_text(text)
        except Refusal:
            return True
        return False


def _bring(drafts: Drafts, stored: Mapping[FileId, KeptDocument]) -> None:
    for file_id, kept in stored.items():
        drafts.bring(file_id, kept)


def _size_of(drafts: Drafts, stored: Mapping[FileId, KeptDocument]) -> int:
    return drafts.weight + sum(len(kept.state) for kept in stored.values())
