"""Plan pending changesets against the state of a workspace.

Planning reads the documents and links that the changesets need, and brings the documents up to date
with the texts of their notes. What it reads must belong to the cursor of the state; if the store
has another, `PositionMoved` is raised, and the state must be refreshed first.
"""

from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence, Set
from contextlib import AbstractAsyncContextManager, nullcontext
from dataclasses import dataclass, field
from functools import partial
from typing import Any, NamedTuple, TypeVar

from attrs import define
from greenroom import Envelope
from octavo_rules.changes import SaveNote
from octavo_rules.documents.document import ChangedDocument, DocumentUpdate, MergeUpdates
from octavo_rules.identity import (
    ContentId,
    Cursor,
    Epoch,
    FileId,
    MutationId,
    RevisionId,
    WorkspaceId,
)
from octavo_rules.problems import DocumentMalformed, Problem

from octavo.actors.workspace.messages import (
    ChangesetRefused,
    GetUpdateSince,
    Push,
    RebuildDocuments,
)
from octavo.documents import CheckText, DocumentBatch, DocumentCache, merged
from octavo.model.documents.update_log import DocumentLimits
from octavo.model.files.changeset import (
    MAX_OPERATIONS,
    AttachImage,
    Changeset,
    content_of,
    file_moves,
    size_of,
)
from octavo.model.files.image import ObjectId
from octavo.model.files.plan import Batch, Plan, Receipt, check_confinement
from octavo.model.files.tree import Tree
from octavo.model.links.link_rewrite import relinked_within
from octavo.model.refusal import MutationReused
from octavo.store import Store
from octavo.store.fair_turns import FairTurns, RunInThread
from octavo.store.queries.changesets import PositionMoved, WorkspaceGone, compressed_texts
from octavo.store.queries.documents import FollowedDocument, documents_of
from octavo.store.queries.files import WholeFile

T = TypeVar("T")
MAX_THREADS = 2
"""Threads for work on documents. Its native code holds the interpreter lock, so a single step still
blocks other tasks; they run between the steps.
"""
MAX_READS = 5
"""Attempts to read files while their texts change."""
LOADED_AT_ONCE = 2
"""Actors that have loaded long documents at the same time, and may wait for a thread."""
FOLLOWED_AT_ONCE = 8
"""Documents that an actor brings up to date together: each may have megabytes."""


async def inline_offload(work: Callable[[], T]) -> T:
    """Run ``work`` inline, for reproducible runs."""
    return work()


@dataclass(frozen=True, slots=True)
class DocumentServices:
    """The cache and the limits of documents, and where expensive work on them runs.

    Attributes:
        cache: the documents of all workspaces between saves.
        check_text: raises a `octavo_rules.problems.Problem` for a text that no note may have.
        offload: runs work that may take long.
        loading: limits how many actors load long documents at the same time.
    """

    cache: DocumentCache
    check_text: CheckText
    limits: DocumentLimits = field(default_factory=DocumentLimits)
    offload: RunInThread = inline_offload
    loading: FairTurns = field(default_factory=partial(FairTurns, LOADED_AT_ONCE, 1))

    def document_batch(self, workspace_id: WorkspaceId) -> DocumentBatch:
        """Return the documents for a new batch of the workspace."""
        return DocumentBatch(workspace_id, self.cache, self.limits, self.check_text)


async def read_current(
    read: Callable[[MergeUpdates | None], Awaitable[T]],
    files_in: Callable[[T], Iterable[WholeFile]],
    follow: Callable[[RebuildDocuments], Awaitable[bool]],
) -> T:
    """Read files with documents that are up to date with their texts, and are stored whole.

    Updates that are stored meanwhile are merged here. So devices that go on saving don't keep
    others from reading, and a costly update is merged for one reader at most.

    If that fails, or texts are replaced during each of `MAX_READS` attempts, a document has the
    text in another epoch: a device that edits it has to transfer its edits.

    Args:
        read: reads the files with their documents; the argument is that of
            `octavo.store.queries.files.whole_file`.
        files_in: returns the files in the result.
        follow: asks the actor of their workspace; returns whether that has succeeded.

    Raises:
        Exception: what ``read`` and ``follow`` raise.
    """
    result = await read(None)
    for _ in range(MAX_READS):
        files = [*files_in(result)]
        behind = [file.stored.revision.file_id for file in files if file.behind]
        if not behind and not any(file.unread for file in files):
            break
        # Freed before they are read again: they may have megabytes.
        del files, result
        # A message without files records that documents are read.
        for at in range(0, max(len(behind), 1), FOLLOWED_AT_ONCE):
            some = tuple(behind[at : at + FOLLOWED_AT_ONCE])
            if not await follow(RebuildDocuments(some)):
                return await read(merged)
        result = await read(merged)
    return result


BYTES_OF_AN_OPERATION = 16_384


class PendingPush(NamedTuple):
    """A changeset whose sender waits for the reply."""

    envelope: Envelope[Any]
    push: Push
    size: int
    """The bytes of its texts and updates."""
    weight: int
    """The cost of planning, in operations; `BYTES_OF_AN_OPERATION` of text count as one.

    One that rewrites links is planned alone, as it needs the texts of all notes.
    """
    moves: bool
    """Whether it rewrites links."""

    @classmethod
    def of(cls, envelope: Envelope[Any], push: Push) -> "PendingPush":
        """Return a push with its size and its weight."""
        operations = push.changeset.operations
        size = 0
        for operation in operations:
            size += size_of(operation)
        moves = bool(file_moves(operations))
        weight = MAX_OPERATIONS + 1 if moves else len(operations) + size // BYTES_OF_AN_OPERATION
        return cls(envelope, push, size, weight, moves)

    def attaches(self, object_ids: Set[ObjectId]) -> FileId | None:
        """Return the first file that gets one of the uploads; None without any."""
        for operation in self.push.changeset.operations:
            if isinstance(operation, AttachImage) and operation.image.object_id in object_ids:
                return operation.file_id
        return None

    def reply_receipt(self, receipt: Receipt) -> None:
        """Reply with the receipt of the mutation, or refuse if that had other content."""
        if receipt.fingerprint == self.push.changeset.fingerprint:
            self.envelope.reply(self.push.reply(receipt))
        else:
            self.refuse(
                MutationReused(
                    "This mutationId was used for another change: use a new one for each change."
                )
            )

    def refuse(self, refusal: Problem) -> None:
        """Refuse the changeset for ``refusal``."""
        self.envelope.refuse(ChangesetRefused(refusal))


@dataclass(slots=True)
class PushVerdicts:
    """The result of planning for each pending push.

    Attributes:
        accepted: the plan of each mutation, and the pushes that sent it.
        refused: the other pushes, each with the reason.
    """

    accepted: dict[MutationId, tuple[Plan, list[PendingPush]]] = field(default_factory=dict)
    refused: list[tuple[PendingPush, Problem]] = field(default_factory=list)


def plan_all(
    batch: Batch,
    waiting: Sequence[PendingPush],
    completed: Callable[[Changeset], Changeset] | None,
) -> PushVerdicts:
    """Plan every pending changeset after ``completed`` transformed it; reply to none of them."""
    verdicts = PushVerdicts()
    for pending in waiting:
        changeset = pending.push.changeset
        same = verdicts.accepted.get(changeset.mutation_id)
        if same is not None:
            same[1].append(pending)
            continue
        try:
            planned = batch.add(changeset if completed is None else completed(changeset))
            verdicts.accepted[changeset.mutation_id] = (planned, [pending])
        except Problem as refusal:
            verdicts.refused.append((pending, refusal))
    return verdicts


INLINE_BYTES = 65_536
"""Bytes of documents that are processed or read without a separate thread, counted once for each
save or query, with what the batch may add to them."""
INLINE_UPDATE_BYTES = 4096
"""Bytes of the updates of a batch that are merged without a separate thread: a few of them may be a
struct, which may conflict with many others."""
INLINE_CACHED_BYTES = 1_048_576
"""The same as `INLINE_BYTES`, of documents in memory from which updates are taken alone."""
BYTES_OF_A_SAVE = 1024
"""The cost of merging any update, in bytes of a document."""
INLINE_TEXT_BYTES = 262_144
"""Bytes of new texts that are planned without a separate thread, and compressed by the writer."""


@dataclass(slots=True)
class WorkspaceState:
    """The files of a workspace as stored at a cursor."""

    tree: Tree
    cursor: Cursor


class PlannedBatch(NamedTuple):
    """A batch to commit.

    Attributes:
        batch: the plans of the accepted changesets.
        verdicts: which pushes they come from, and which pushes were refused.
        to_store: the documents to store with the batch, or without plans.
        documents: the documents to cache after the commit.
        texts: new texts as they are stored, of a batch that has many.
    """

    batch: Batch
    verdicts: PushVerdicts
    to_store: list[ChangedDocument]
    documents: DocumentBatch
    texts: Mapping[RevisionId, bytes]


class ReadDocuments(NamedTuple):
    """The replies to requests for documents.

    Attributes:
        updates: the reply to each request.
        to_store: the documents to store before the replies; None for nothing, while an empty list
            still records that documents are read.
        documents: the documents to cache afterwards.
    """

    updates: list[DocumentUpdate | None]
    to_store: list[ChangedDocument] | None
    documents: DocumentBatch


class _Wanted(NamedTuple):
    """The documents of notes that some work needs.

    Attributes:
        batch: the documents.
        contents: the contents of the heads.
        missing: files whose documents are not cached.
        behind: files whose cached documents have earlier texts.
        size: the bytes of the texts of both.
    """

    batch: DocumentBatch
    contents: Mapping[FileId, ContentId]
    missing: Sequence[FileId]
    behind: Sequence[FileId]
    size: int


class _Loading(NamedTuple):
    """The documents of a batch, with what is to be loaded into them.

    Attributes:
        batch: the documents.
        stored: those that are not cached, and the texts of those that are, and are behind.
        contents: the contents of the heads.
        read: whether it is known that a document of the workspace may have been read.
    """

    batch: DocumentBatch
    stored: Mapping[FileId, FollowedDocument]
    contents: Mapping[FileId, ContentId]
    read: bool

    @property
    def size(self) -> int:
        """The size of the documents, in bytes."""
        return self.batch.weight + sum(
            len(document.text or "") + (0 if document.stored is None else document.stored.size)
            for document in self.stored.values()
        )

    def load(self) -> None:
        """Load the documents, and bring them up to date."""
        for file_id, (stored, followed, text) in self.stored.items():
            content_id = self.contents[file_id]
            try:
                if stored is not None:
                    kept = followed is not None
                    self.batch.load(file_id, stored, fixed=self.read or kept, kept=kept)
                if text is not None and self.batch.has(file_id):
                    self.batch.follow(file_id, content_id, text, followed)
            except DocumentMalformed:
                self.batch.drop(file_id)
            # A document that can't be read must not prevent work on the others.
            if text is not None and not self.batch.has(file_id):
                self.batch.begin_anew(file_id, content_id, text, followed)


class NotesToRewrite(NamedTuple):
    """Texts of notes at a cursor, the moved ones included."""

    cursor: Cursor
    texts: dict[FileId, str]


LinkSources = Callable[[WorkspaceId, Mapping[FileId, str]], Awaitable[NotesToRewrite | None]]
"""Returns the notes that moves of files to new paths may affect; None without the workspace.

Raises `TooManyFiles`, and `octavo.store.StoreUnavailable`.
"""


@define(eq=False)
class Planner:
    """Plans the changesets of one workspace.

    Every method may raise `PositionMoved`, `WorkspaceGone` and `octavo.store.StoreUnavailable`; the
    state is unchanged then.

    Args:
        workspace_id: the workspace.
        store: the store of the workspace.
        documents: the documents of notes and the work on them.
        links: reads the notes that link to others.
        new_id: returns an id for a revision.
    """

    _workspace_id: WorkspaceId
    _store: Store
    _documents: DocumentServices
    _links: LinkSources
    _new_id: Callable[[], str]

    async def plan(
        self,
        state: WorkspaceState,
        waiting: Sequence[PendingPush],
        now: int,
        room: int | None = None,
    ) -> PlannedBatch:
        """Plan ``waiting``; the tree of ``state`` then has the new heads.

        ``room`` is that of `octavo.model.files.plan.Batch`.
        """
        moving, written = False, 0
        saves: list[SaveNote] = []
        for pending in waiting:
            moving = moving or pending.moves
            written += pending.size
            operations = pending.push.changeset.operations
            saves += [operation for operation in operations if isinstance(operation, SaveNote)]
        texts = await self._texts_to_relink(state, waiting) if moving else {}

        async def planned(loading: _Loading) -> PlannedBatch:
            documents = loading.batch

            def relink(changeset: Changeset) -> Changeset:
                return self._relinked(changeset, state, texts)

            def work() -> PlannedBatch:
                if saves:
                    loading.load()
                batch = Batch(state.tree, state.cursor, now, self._new_id, documents, room)
                verdicts = plan_all(batch, waiting, relink if texts else None)
                prepared = compressed_texts(batch.plans) if long else {}
                return PlannedBatch(batch, verdicts, documents.changed(), documents, prepared)

            updates = sum(map(size_of, saves))
            work_on = len(saves) * (loading.size + written + BYTES_OF_A_SAVE) if saves else 0
            long = written > INLINE_TEXT_BYTES or bool(texts)
            much = work_on > INLINE_BYTES or updates > INLINE_UPDATE_BYTES or long
            return await self._documents.offload(work) if much else work()

        if not saves:
            documents = self._documents.document_batch(self._workspace_id)
            return await planned(_Loading(documents, {}, {}, read=False))
        wanted = self._wanted(state, [save.file_id for save in saves])
        async with self._turn_for(wanted):
            return await planned(await self._load(state, wanted))

    async def documents(
        self, state: WorkspaceState, queries: Sequence[GetUpdateSince | RebuildDocuments]
    ) -> ReadDocuments:
        """Bring documents up to date; return the reply to each query at the position of ``state``.

        The reply to `RebuildDocuments` is None.
        """
        read: list[FileId] = []
        file_ids: list[FileId] = []
        for query in queries:
            if isinstance(query, RebuildDocuments):
                read += query.file_ids
            else:
                file_ids.append(query.file_id)
        wanted = self._wanted(state, [*file_ids, *read])
        async with self._turn_for(wanted):
            loading = await self._load(state, wanted)
            batch, heads = loading.batch, state.tree.heads

            def update_for(query: GetUpdateSince | RebuildDocuments) -> DocumentUpdate | None:
                if isinstance(query, RebuildDocuments) or query.file_id not in loading.contents:
                    return None
                epoch_next = Epoch(heads[query.file_id].revision_id)
                return batch.missing_update(query.file_id, query.epoch, query.vector, epoch_next)

            def work() -> ReadDocuments:
                loading.load()
                for file_id in read:
                    if file_id in loading.contents:
                        batch.merge_updates(file_id, Epoch(heads[file_id].revision_id))
                # Some begin a new epoch here.
                updates = [update_for(query) for query in queries]
                return ReadDocuments(updates, batch.changed(), batch)

            asked = [query for query in queries if isinstance(query, GetUpdateSince)]
            loads = (
                bool(loading.stored)
                or batch.updates_beside(read)
                or any(batch.must_load(query.file_id, query.epoch, query.vector) for query in asked)
            )
            much = loading.size * len(queries) > (INLINE_BYTES if loads else INLINE_CACHED_BYTES)
            replies = await self._documents.offload(work) if much else work()
            unread = not loading.read and any(
                isinstance(query, RebuildDocuments) for query in queries
            )
            unfixed = any(document.followed is None for document in loading.stored.values())
            nothing = not (replies.to_store or unread or (unfixed and not loading.read))
            return replies._replace(to_store=None) if nothing else replies

    def _wanted(self, state: WorkspaceState, file_ids: Sequence[FileId]) -> _Wanted:
        """Return what work on the documents of notes needs."""
        documents = self._documents.document_batch(self._workspace_id)
        heads = state.tree.heads
        contents = {
            file_id: heads[file_id].content_id
            for file_id in dict.fromkeys(file_ids)
            if file_id in heads and heads[file_id].kind == "note" and heads[file_id].path
        }
        missing, behind = documents.take(contents)
        size = sum(heads[file_id].size for file_id in (*missing, *behind))
        return _Wanted(documents, contents, missing, behind, size)

    def _turn_for(self, wanted: _Wanted) -> AbstractAsyncContextManager[None]:
        """Hold a turn during the block if the documents are long: each may take many megabytes."""
        return nullcontext() if wanted.size <= INLINE_BYTES else self._documents.loading.turn()

    async def _load(self, state: WorkspaceState, wanted: _Wanted) -> _Loading:
        """Return the documents of notes, and what is to be loaded into them."""
        documents, contents, missing, behind, size = wanted
        if not missing and not behind:
            return _Loading(documents, {}, contents, read=False)
        read = self._store.read if size <= INLINE_BYTES else self._store.read_much
        followed = await read(documents_of(self._workspace_id, missing, behind))
        if followed is None:
            raise WorkspaceGone
        if followed.cursor != state.cursor:
            raise PositionMoved
        for file_id in behind:
            # Another process has brought it up to date: the edits made here would repeat its edits.
            if documents.content_of(file_id) != followed.documents[file_id].followed:
                raise PositionMoved
        return _Loading(documents, followed.documents, contents, followed.read)

    async def _texts_to_relink(
        self, state: WorkspaceState, waiting: Sequence[PendingPush]
    ) -> Mapping[FileId, str]:
        """Return the texts of notes whose links a move of ``waiting`` may change."""
        moving = file_moves(
            [operation for pending in waiting for operation in pending.push.changeset.operations]
        )
        notes = await self._links(self._workspace_id, moving)
        if notes is None:
            raise WorkspaceGone
        if notes.cursor != state.cursor:
            raise PositionMoved
        return notes.texts

    def _relinked(
        self, changeset: Changeset, state: WorkspaceState, texts: Mapping[FileId, str]
    ) -> Changeset:
        check_confinement(changeset, state.tree.heads)
        relinked = relinked_within(changeset, state.tree.heads, texts)
        for operation in relinked.operations:
            content = content_of(operation)
            if content is not None:
                self._check(operation.file_id, content.text, texts.get(operation.file_id))
        return relinked

    def _check(self, file_id: FileId, text: str, before: str | None) -> None:
        try:
            self._documents.check_text(text)
        except Problem as refusal:
            # A note that predates the limits must not prevent the move of other files.
            if before is not None and self._is_refused(before):
                return
            refusal.file_id = file_id
            raise

    def _is_refused(self, text: str) -> bool:
        try:
            self._documents.check_text(text)
        except Problem:
            return True
        return False
