"""Sending of a device's changes: each with an identity of its own, until its outcome is known."""

from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress
from dataclasses import replace
from functools import partial
from itertools import count
from random import Random

import trio
from greenroom.testing import note
from octavo_rules.identity import MutationId, WorkspaceId
from octavo_rules.problems import Problem

from octavo.actors.workspace.messages import ChangesetRefused
from octavo.model.files.changeset import ChangeOperation, Changeset
from octavo.model.files.plan import Receipt
from tests.simulation.asking import Asking, NothingDone, Unsettled
from tests.simulation.bare_process import Violation
from tests.simulation.ledger import SHARED, Ledger, Written
from tests.simulation.process import Process

NOTHING = Written((), ())
EXPECTED = {
    "make": {"file_exists"},
    "save": {"not_found", "epoch_mismatch"},
    "spoilt": {"unrenderable_note", "document_malformed", "not_found", "epoch_mismatch"},
    "text": {"not_found", "head_moved"},
    "image": {"not_found", "head_moved", "if_match_required", "file_live", "file_purged"},
    "state": {"not_found", "head_moved", "file_live", "path_conflict"},
}
"""The codes with which each kind of change may be refused."""


class Sender:
    """Sends changesets to a workspace, some of them repeatedly.

    Args:
        name: of the device.
        asking: its connection to the service.
        ledger: records what it sends.
        violated: called with each violation.
        learn: called with the receipts.
        workspace_id: the workspace.
    """

    def __init__(
        self,
        name: str,
        asking: Asking[Process],
        ledger: Ledger,
        violated: Violation,
        learn: Callable[[Receipt], None],
        workspace_id: WorkspaceId = SHARED,
    ) -> None:
        self._name = name
        self._asking = asking
        self._ledger = ledger
        self._violated = violated
        self._learn = learn
        self._workspace_id = workspace_id
        self._mutations = count()
        self._sent: list[tuple[str, Changeset]] = []

    async def repeat(self, random: Random) -> None:
        """Resend an earlier changeset, whatever its outcome."""
        if self._sent:
            await self._push(*random.choice(self._sent), random)

    async def send(
        self, kind: str, operations: Sequence[ChangeOperation], written: Written, random: Random
    ) -> Receipt | Problem:
        """Send a changeset until its outcome is known, or patience ends."""
        mutation = MutationId(f"{self._name}{self._workspace_id}{next(self._mutations)}")
        changeset = self._ledger.send(mutation, operations, random)
        self._ledger.written[mutation] = written
        self._sent.append((kind, changeset))
        if random.random() < 0.1:
            await self._push_twice(kind, changeset, random)
        for _ in range(random.choice([1, 3, 5])):
            try:
                response = await self._push(kind, changeset, random)
            except (NothingDone, Unsettled):
                continue
            if isinstance(response, Receipt) and random.random() < 0.2:
                again = await self._push(kind, changeset, random)
                if not _repeats(again, response):
                    self._violated(f"{mutation} was answered {response}, and then {again}")
            return response
        raise Unsettled

    async def _push_twice(self, kind: str, changeset: Changeset, random: Random) -> None:
        async with trio.open_nursery() as nursery:
            for _ in range(2):
                own = Random(random.getrandbits(32))
                nursery.start_soon(attempt, partial(self._push, kind, changeset, own))

    async def _push(self, kind: str, changeset: Changeset, random: Random) -> Receipt | Problem:
        sent = f"{self._workspace_id} {changeset.mutation_id}"
        subjects = [f"{self._workspace_id}/{each.file_id}" for each in changeset.operations]
        kinds = ", ".join(f"{type(o).__name__} {o.file_id}" for o in changeset.operations)
        try:
            receipt = await self._asking.ask(
                random,
                lambda process, limit: process.push(self._workspace_id, changeset, limit),
                f"{self._name} pushes {sent}: {kinds}",
                self._workspace_id,
                *subjects,
            )
        except ChangesetRefused as error:
            refusal = error.refusal
            note(f"{sent} is refused: {refusal.code}", self._workspace_id, *subjects)
            if refusal.code not in EXPECTED[kind]:
                self._violated(f"{changeset.mutation_id} was refused: {refusal.code}, {refusal}")
            self._ledger.saw([refusal.code])
            return refusal
        note(f"{sent} is accepted at {receipt.position}", self._workspace_id, *subjects)
        if kind == "spoilt":
            self._violated(f"{changeset.mutation_id} must be refused, and was accepted: {receipt}")
        self._learn(receipt)
        self._ledger.saw(each.outcome for each in receipt.outcomes)
        return receipt


def _repeats(again: Receipt | Problem, before: Receipt) -> bool:
    """Return whether a receipt is that of before, but for what is forgotten of purged files."""
    if not isinstance(again, Receipt) or len(again.outcomes) != len(before.outcomes):
        return False
    pairs = zip(again.outcomes, before.outcomes, strict=True)
    expected = [
        replace(old, head=new.head)
        if not new.head.path and new.head.revision_id == old.head.revision_id
        else old
        for new, old in pairs
    ]
    return again == replace(before, outcomes=tuple(expected))


async def attempt(act: Callable[[], Awaitable[object]]) -> None:
    """Perform an action, if it is possible."""
    with suppress(NothingDone, Unsettled):
        await act()
