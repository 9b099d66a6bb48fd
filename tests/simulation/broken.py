"""Services that are broken on purpose: each omits something that the design depends on."""

from collections.abc import Callable, Mapping, Sequence
from contextvars import ContextVar
from functools import partial
from typing import Any

import pytest
import trio
from greenroom import Envelope
from octavo_rules.identity import START, Cursor, MutationId, WorkspaceId
from outcome import Value

from octavo.actors.group_commit import Storage, Write
from octavo.actors.notice_hub import NoticeHub
from octavo.actors.workspace.actor import Announce, WorkspaceActor
from octavo.actors.workspace.planning import PendingPush, PlannedBatch, Planner
from octavo.model.files.plan import Batch, Plan, Receipt, receipt_of
from octavo.store import Script, Transaction
from octavo.store.queries import changesets
from octavo.store.queries.changesets import commit_changesets
from octavo.store.queries.revision_rows import WORKSPACE
from tests.simulation.simulation import Break


def reply_before_commit(patch: pytest.MonkeyPatch) -> None:
    """Senders get replies while the write is still to be done."""
    plan = Planner.plan

    async def plan_and_reply(self: Planner, *given: Any) -> PlannedBatch:  # noqa: ANN401
        planned = await plan(self, *given)
        for accepted, waiting in planned.verdicts.accepted.values():
            for pending in waiting:
                pending.reply_receipt(receipt_of(accepted))
        return planned

    patch.setattr(Planner, "plan", plan_and_reply)


class _Done(list[Any]):
    """What a step returns that has done everything."""

    overtaken: tuple[()] = ()
    unfinished: tuple[()] = ()


def storage_replies_before_commit(patch: pytest.MonkeyPatch) -> None:
    """The storage actor acknowledges everything, and commits afterwards."""

    async def handle_batch(self: Storage, batch: Sequence[Envelope[Write[Any]]]) -> None:
        for envelope in batch:
            envelope.reply(envelope.message.reply(Value(_Done())))
        await self._engine.write_batch([envelope.message.script for envelope in batch])

    patch.setattr(Storage, "handle_batch", handle_batch)


def announce_before_commit(patch: pytest.MonkeyPatch) -> None:
    """Listeners are notified of a position before its commit."""
    init: Callable[..., None] = WorkspaceActor.__init__
    plan = Planner.plan
    announcing: ContextVar[Callable[[Cursor], None]] = ContextVar("announcing")

    def made(
        self: WorkspaceActor,
        workspace_id: WorkspaceId,
        *given: Any,  # noqa: ANN401
        announce: Announce,
        **named: Any,  # noqa: ANN401
    ) -> None:
        # The task that makes an actor plans its batches.
        announcing.set(partial(announce, workspace_id))
        init(self, workspace_id, *given, announce=announce, **named)

    async def plan_and_announce(self: Planner, *given: Any) -> PlannedBatch:  # noqa: ANN401
        planned = await plan(self, *given)
        if planned.batch.plans:
            announcing.get()(planned.batch.cursor)
        return planned

    patch.setattr(WorkspaceActor, "__init__", made)
    patch.setattr(Planner, "plan", plan_and_announce)


def never_announce_what_was_read(patch: pytest.MonkeyPatch) -> None:
    """A position whose commit was not confirmed is never announced."""
    reply, announce = PendingPush.reply_receipt, NoticeHub.announce
    confirmed = ContextVar("confirmed", default=START)

    def reply_and_confirm(self: PendingPush, receipt: Receipt) -> None:
        confirmed.set(receipt.cursor)
        reply(self, receipt)

    def announce_confirmed(self: NoticeHub[Any], workspace_id: WorkspaceId, cursor: Cursor) -> None:
        if cursor == confirmed.get():
            announce(self, workspace_id, cursor)

    patch.setattr(PendingPush, "reply_receipt", reply_and_confirm)
    patch.setattr(NoticeHub, "announce", announce_confirmed)


def forget_announcements(patch: pytest.MonkeyPatch) -> None:
    """Announcements during a delivery are dropped."""

    async def run(self: NoticeHub[Any]) -> None:
        async with trio.open_nursery() as nursery:
            nursery.start_soon(self._ask_store)
            while True:
                await self._wake.wait()
                for workspace_id, cursor in list(self._due.items()):
                    await self._notify(workspace_id, cursor, certain=False)
                self._due.clear()
                self._wake = trio.Event()

    patch.setattr(NoticeHub, "run", run)


def ignore_receipts(patch: pytest.MonkeyPatch) -> None:
    """A mutation that was accepted before is accepted again."""

    async def forget(
        transaction: Transaction, workspace_id: WorkspaceId, planned_at: Cursor, plan: Plan
    ) -> None:
        await transaction.execute(
            f"DELETE FROM receipts WHERE workspace = {WORKSPACE} AND mutation_id = $2::uuid",
            workspace_id,
            plan.changeset.mutation_id,
        )

    _keep_after(patch, forget)


def refuse_without_receipts(patch: pytest.MonkeyPatch) -> None:
    """A change that looks invalid is refused, though it was accepted when it was sent first."""

    async def find_none(transaction: Transaction) -> Mapping[MutationId, Receipt]:
        return {}

    patch.setattr(changesets, "receipts", lambda *_: find_none)


def ignore_the_fence(patch: pytest.MonkeyPatch) -> None:
    """Plans are committed although another process changed the workspace since."""

    async def pretend(
        transaction: Transaction, workspace_id: WorkspaceId, planned_at: Cursor, plan: Plan
    ) -> None:
        await transaction.execute(
            "UPDATE workspaces SET position = $2, mark_id = $3::uuid WHERE id = $1::uuid",
            workspace_id,
            *planned_at,
        )

    _keep_after(patch, pretend)


def lose_the_take_back(patch: pytest.MonkeyPatch) -> None:
    """Heads of plans that were not committed stay in the tree."""
    patch.setattr(Batch, "roll_back", lambda self: self.plans.clear())


def trust_what_was_known_before_a_failure(patch: pytest.MonkeyPatch) -> None:
    """The store is not read again after a failed write."""
    handle_batch = WorkspaceActor.handle_batch

    async def trusting(self: WorkspaceActor, batch: Sequence[Envelope[Any]]) -> None:
        await handle_batch(self, batch)
        self._state = self._state or remembered.get(self)
        if self._state is not None:
            remembered[self] = self._state

    remembered: dict[WorkspaceActor, Any] = {}
    patch.setattr(WorkspaceActor, "handle_batch", trusting)


def trust_to_be_alone(patch: pytest.MonkeyPatch) -> None:
    """Heads are returned without a check for the changes of other processes."""
    init: Callable[..., None] = WorkspaceActor.__init__

    def made(self: WorkspaceActor, *given: Any, shared: bool, **named: Any) -> None:  # noqa: ANN401
        init(self, *given, shared=False, **named)

    patch.setattr(WorkspaceActor, "__init__", made)


def _keep_after(patch: pytest.MonkeyPatch, before: Callable[..., Any]) -> None:
    """Do something else in the transaction before changesets are committed in it."""

    def keep_after(
        workspace_id: WorkspaceId,
        planned_at: Cursor,
        plans: Sequence[Plan],
        now: int,
        *prepared: Any,  # noqa: ANN401
    ) -> Script[None]:
        async def script(transaction: Transaction) -> None:
            for plan in plans:
                await before(transaction, workspace_id, planned_at, plan)
            await commit_changesets(workspace_id, planned_at, plans, now, *prepared)(transaction)

        return script

    patch.setattr(changesets, "commit_changesets", keep_after)


def forget_what_shrinks(patch: pytest.MonkeyPatch) -> None:
    """The size of a workspace grows with its files, and never shrinks with them."""
    grows = changesets._MOVE_CURSOR.replace("size + $7", "size + (ABS($7) + $7) / 2")
    patch.setattr(changesets, "_MOVE_CURSOR", grows)


BROKEN: Mapping[Break, str] = {
    reply_before_commit: "and announced|acknowledged (but lost|at another position)",
    storage_replies_before_commit: "before it was committed",
    announce_before_commit: "before it was committed",
    never_announce_what_was_read: r"was told .* late|is due since",
    forget_announcements: r"was told .* late|is due since",
    ignore_receipts: "duplicate mutation|has the receipt",
    refuse_without_receipts: "not linearizable",
    ignore_the_fence: "duplicate position|and its receipt tells|before it was committed",
    lose_the_take_back: (
        "not linearizable|, live at .*, reads|is (not )?legal|without a fault"
        "|bytes, and .* are counted|is not kept as it was told"
    ),
    trust_what_was_known_before_a_failure: (
        "not linearizable|announced|is (not )?legal|is due since"
    ),
    forget_what_shrinks: "bytes, and .* are counted",
    trust_to_be_alone: r"not linearizable|is due since|told [vw] \d of",
}
"""What is left out, and the message of the first failing schedule."""
