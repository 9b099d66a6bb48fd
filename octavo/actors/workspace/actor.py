"""The actor of one workspace: it orders the workspace's changesets and caches the file heads.

The actor takes all pending changesets, plans them in order, and commits them, as a rule in one
transaction. Only then does it reply to the senders and announce the new position. Its state is a
cache: the cursor in the store is a fence, and when another writer has moved it, the actor refreshes
its state and plans again. When the history of the database was taken back, so that it does not have
the cursor of the actor, everything is read anew. Correctness does not depend on a workspace having
a single actor.
`workspaces` is the directory of these actors; each is awake while it is in use.
"""

import logging
from collections.abc import Callable, Sequence, Set
from operator import attrgetter
from typing import Protocol

import trio
from greenroom import UNANSWERED, Actor, DirectorySpec, Envelope, Reply
from octavo_rules.identity import START, Cursor, MutationId, WorkspaceId
from octavo_rules.problems import Problem

from octavo.actors.workspace import messages, planning
from octavo.model.files.changeset import MAX_OPERATIONS
from octavo.model.files.image import ObjectId, UploadMissing
from octavo.model.files.plan import Batch, portions, receipt_of
from octavo.model.files.tree import Tree
from octavo.store import Store, StoreUnavailable
from octavo.store.fair_turns import working_for
from octavo.store.queries import blobs, changesets, feed

HEADS_PER_TURN = 100
"""Heads that are read into the tree before the loop yields to other tasks."""
FEW_RECEIPTS = 10
"""Receipts that are read without a separate thread."""
MAX_ATTEMPTS = 20
"""Attempts to commit a batch while other writers change the workspace."""


_log = logging.getLogger(__name__)

_Request = Envelope[messages.WorkspaceMessage]


Announce = Callable[[WorkspaceId, Cursor], None]


class StorageQuota(Protocol):
    """Limits the storage of the owners of workspaces."""

    async def remaining(self, workspace_id: WorkspaceId) -> int | None:
        """Return by how many bytes the files of a workspace may grow; None without a limit.

        It may be negative. Raises `octavo.store.StoreUnavailable`.
        """

    def grew(self, workspace_id: WorkspaceId, growth: int) -> None:
        """Count that the files have grown, or shrunk if ``growth`` is negative."""


class WorkspaceActor(Actor[messages.WorkspaceMessage]):
    """Accepts the changesets of one workspace and answers queries about its files.

    Args:
        workspace_id: the workspace.
        store: the store of the workspace.
        now: returns Unix time in seconds.
        new_id: returns an id for a revision.
        announce: receives each new cursor after its commit, and the newest cursor after the store
            was read; must not block.
        shared: True when other processes change the store; the state is then refreshed before
            each batch.
        documents: the documents of notes and the work on them.
        links: reads the notes that link to others.
        purged: called when files were purged, or may have been: their contents are left to remove,
            and nothing may hold them; must not block.
        storage: limits the storage of the owners; None for no limits.
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
        documents: planning.DocumentServices,
        links: planning.LinkSources,
        purged: Callable[[], None] = lambda: None,
        storage: StorageQuota | None = None,
    ) -> None:
        self._id = workspace_id
        self._store = store
        self._now = now
        self._new_id = new_id
        self._announce = announce
        self._shared = shared
        self._purged = purged
        self._storage = storage
        self._cache = documents.cache
        self._planner = planning.Planner(workspace_id, store, documents, links, new_id)
        # None until the store was read, and after a write of unknown outcome.
        self._state: planning.WorkspaceState | None = None

    def answer(self, message: messages.WorkspaceMessage) -> Reply:
        """Return a head at once, if this process alone changes the workspace."""
        if isinstance(message, messages.HeadOf) and self._state is not None and not self._shared:
            return message.reply(self._state.tree.heads.get(message.file_id))
        return UNANSWERED

    async def handle_batch(self, batch: Sequence[_Request]) -> None:
        """Reply to the queries from the state before the changesets, then accept these."""
        # The store works for the workspace, not for the caller that woke the actor.
        working_for.set(self._id)
        try:
            state = await self._refresh() if self._shared else self._state or await self._refresh()
            pushes: list[planning.PendingPush] = []
            queries: list[tuple[_Request, messages.GetUpdateSince | messages.RebuildDocuments]] = []
            for envelope in batch:
                message = envelope.message
                if isinstance(message, messages.HeadOf):
                    envelope.reply(message.reply(state.tree.heads.get(message.file_id)))
                elif isinstance(message, messages.FindUnplaceable):
                    heads = {head.file_id: head for head in message.heads}
                    envelope.reply(message.reply(state.tree.unplaceable(heads)))
                elif isinstance(message, messages.GetUpdateSince | messages.RebuildDocuments):
                    queries.append((envelope, message))
                else:
                    pushes.append(planning.PendingPush.of(envelope, message))
            if len(pushes) == 1 and not queries:
                # As nearly always.
                await self._accept(state, pushes)
                return
            for some in portions(
                queries, lambda query: messages.documents_in(query[1]), planning.FOLLOWED_AT_ONCE
            ):
                state = await self._reply_documents(state, some)
            for portion in portions(pushes, attrgetter("weight"), MAX_OPERATIONS):
                state = await self._accept(state, portion)
        except changesets.WorkspaceGone:
            for envelope in batch:
                envelope.refuse(messages.NoWorkspace())
            self.context.stop()
        except StoreUnavailable as error:
            # The write may have been committed: the next batch reads the store first.
            self._state = None
            for envelope in batch:
                envelope.refuse(messages.CommitFailed(error))

    async def _refresh(self) -> planning.WorkspaceState:
        """Update the state from the store; raises `WorkspaceGone` and `StoreUnavailable`.

        A commit whose reply was lost, of this actor or its predecessor, is announced here.
        """
        heads: feed.Heads | None = None
        state = self._state
        last = self._cache.last_cursor(self._id) if state is None else state.cursor
        if state is not None:
            heads = await self._store.read_much(feed.heads_after(self._id, state.cursor))
            if heads is None:
                raise changesets.WorkspaceGone
            if not heads.known:
                state = self._state = None
        if state is None:
            heads = await self._store.read_much(feed.all_heads(self._id, last))
            if heads is None:
                raise changesets.WorkspaceGone
            if not heads.known:
                _log.warning(
                    "workspace %s: the database no longer has position %d as it was; everything"
                    " is read anew",
                    self._id,
                    last.position,
                )
                self._cache.forget_history()
            state = planning.WorkspaceState(Tree(), START)
        assert heads is not None
        for count, head in enumerate(heads.heads, start=1):
            state.tree.put(head)
            # The cached document may be outdated.
            self._cache.discard(self._id, head.file_id)
            if count % HEADS_PER_TURN == 0:
                await trio.lowlevel.checkpoint()
        self._reach(state, heads.cursor)
        self._state = state
        if heads.cursor != last:
            self._announce(self._id, heads.cursor)
        return state

    def _reach(self, state: planning.WorkspaceState, cursor: Cursor) -> None:
        state.cursor = cursor
        self._cache.reached(self._id, cursor)

    async def _accept(
        self, state: planning.WorkspaceState, waiting: list[planning.PendingPush]
    ) -> planning.WorkspaceState:
        faults = self.context.faults
        for _ in range(MAX_ATTEMPTS):
            now = int(self._now() * 1000)
            batch: Batch | None = None
            try:
                room = None if self._storage is None else await self._storage.remaining(self._id)
                planned = await self._planner.plan(state, waiting, now, room)
                batch, verdicts, to_store, documents, texts = planned
                if faults is not None:
                    await self.context.fault_point("workspace.planned")
                if batch.plans:
                    script = changesets.commit_changesets(
                        self._id, state.cursor, batch.plans, now, to_store, texts
                    )
                    try:
                        await self._store.write(script)
                    finally:
                        # Also when it is unknown whether it was committed.
                        if batch.purges:
                            self._purged()
                elif to_store:
                    await self._store.write(
                        changesets.store_documents(self._id, state.cursor, to_store)
                    )
            except (changesets.PositionMoved, changesets.HeadReplaced) as moved:
                if batch is not None:
                    batch.roll_back()
                if isinstance(moved, changesets.HeadReplaced):
                    self._state = None
                    self._cache.forget_history()
                state = await self._refresh()
                continue
            except changesets.Repeated as repeated:
                if batch is not None:
                    batch.roll_back()
                waiting = await self._reply_repeated(waiting, repeated.mutation_ids)
                continue
            except blobs.UploadGone as gone:
                if batch is not None:
                    batch.roll_back()
                waiting = await self._refuse_attaching(waiting, gone.object_ids)
                continue
            except Problem as refusal:
                await self._refuse([(pending, refusal) for pending in waiting])
                return state
            if faults is not None:
                await self.context.fault_point("workspace.committed")
            documents.settle()
            if self._storage is not None:
                needed = 0
                for plan in batch.plans:
                    needed += plan.needed
                self._storage.grew(self._id, needed)
            await self._publish(state, batch, verdicts)
            return state
        raise StoreUnavailable("The workspace changes too often to accept this change; try again.")

    async def _reply_documents(
        self,
        state: planning.WorkspaceState,
        queries: Sequence[tuple[_Request, messages.GetUpdateSince | messages.RebuildDocuments]],
    ) -> planning.WorkspaceState:
        for _ in range(MAX_ATTEMPTS):
            try:
                replies = await self._planner.documents(state, [message for _, message in queries])
                if replies.to_store is not None:
                    await self.context.fault_point("workspace.followed")
                    script = changesets.store_documents(self._id, state.cursor, replies.to_store)
                    await self._store.write(script)
            except changesets.PositionMoved:
                state = await self._refresh()
                continue
            replies.documents.settle()
            for (envelope, message), update in zip(queries, replies.updates, strict=True):
                if isinstance(message, messages.RebuildDocuments):
                    envelope.reply(message.reply(None))
                else:
                    envelope.reply(message.reply(update))
            return state
        raise StoreUnavailable("The workspace changes too often to read its documents; try again.")

    async def _publish(
        self, state: planning.WorkspaceState, batch: Batch, verdicts: planning.PushVerdicts
    ) -> None:
        moved = state.cursor != batch.cursor
        self._reach(state, batch.cursor)
        for plan, waiting in verdicts.accepted.values():
            receipt = receipt_of(plan)
            for pending in waiting:
                pending.reply_receipt(receipt)
        if moved:
            self._announce(self._id, state.cursor)
        if verdicts.refused:
            await self._refuse(verdicts.refused)

    async def _refuse(self, refused: Sequence[tuple[planning.PendingPush, Problem]]) -> None:
        # A changeset that was accepted before is usually invalid when it is sent again.
        repeatable: dict[_Request, tuple[planning.PendingPush, Problem]] = {}
        for pending, refusal in refused:
            if pending.push.changeset.repeatable:
                repeatable[pending.envelope] = (pending, refusal)
            else:
                pending.refuse(refusal)
        if repeatable:
            waiting = [pending for pending, _ in repeatable.values()]
            mutation_ids = [pending.push.changeset.mutation_id for pending in waiting]
            for pending in await self._reply_repeated(waiting, mutation_ids):
                pending.refuse(repeatable[pending.envelope][1])

    async def _refuse_attaching(
        self, waiting: Sequence[planning.PendingPush], object_ids: Set[ObjectId]
    ) -> list[planning.PendingPush]:
        """Refuse the pushes that attach uploads which are gone; return the others."""
        rest: list[planning.PendingPush] = []
        refused: list[tuple[planning.PendingPush, Problem]] = []
        for pending in waiting:
            file_id = pending.attaches(object_ids)
            if file_id is None:
                rest.append(pending)
            else:
                refused.append((pending, UploadMissing(file_id)))
        await self._refuse(refused)
        return rest

    async def _reply_repeated(
        self, waiting: Sequence[planning.PendingPush], mutation_ids: Sequence[MutationId]
    ) -> list[planning.PendingPush]:
        """Reply to the pushes that were accepted before; return the others."""
        read = self._store.read if len(mutation_ids) <= FEW_RECEIPTS else self._store.read_much
        stored = await read(changesets.receipts(self._id, mutation_ids))
        rest: list[planning.PendingPush] = []
        for pending in waiting:
            receipt = stored.get(pending.push.changeset.mutation_id)
            if receipt is None:
                rest.append(pending)
            else:
                pending.reply_receipt(receipt)
        return rest


IDLE_SECONDS = 300.0
MAX_AWAKE = 1000


def workspaces(
    workspace: Callable[[WorkspaceId], WorkspaceActor],
) -> DirectorySpec[WorkspaceId, messages.WorkspaceMessage]:
    """Return the directory of the actors that ``workspace`` makes."""
    return DirectorySpec("workspaces", workspace, idle_timeout=IDLE_SECONDS, max_awake=MAX_AWAKE)
