"""Changesets whose senders wait, planned one after the other and sorted by what came of it."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from octavo.actors.core import Envelope
from octavo.actors.workspace_messages import NotAccepted, Push
from octavo.model.batch import Batch
from octavo.model.changeset import MOST_OPERATIONS, Changeset, size_of
from octavo.model.identity import MutationId
from octavo.model.plan import Plan
from octavo.model.receipt import Receipt
from octavo.model.refusal import MutationReused, Refusal
from octavo.model.relinking import moves

BYTES_OF_AN_OPERATION = 16_384


class Waiting(NamedTuple):
    """A changeset whose sender waits for the answer."""

    envelope: Envelope[Any]
    push: Push

    @property
    def weight(self) -> int:
        """In operations: so much text as takes as long as one more counts for one.

        One that rewrites links is planned alone, as it has to know every text as it is.
        """
        operations = self.push.changeset.operations
        if moves(operations):
            return MOST_OPERATIONS + 1
        return len(operations) + sum(map(size_of, operations)) // BYTES_OF_AN_OPERATION

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
        """Answer with why the changeset can't be accepted."""
        self.envelope.refuse(NotAccepted(refusal))


@dataclass(slots=True)
class Sorted:
    """What became of changesets in planning: accepted by their mutation, and refused."""

    accepted: dict[MutationId, tuple[Plan, list[Waiting]]] = field(default_factory=dict)
    refused: list[tuple[Waiting, Refusal]] = field(default_factory=list)


def plan_all(
    batch: Batch, waiting: Sequence[Waiting], completed: Callable[[Changeset], Changeset]
) -> Sorted:
    """Plan every changeset that waits, as it is ``completed``; nobody is answered yet."""
    found = Sorted()
    for sender in waiting:
        changeset = sender.push.changeset
        same = found.accepted.get(changeset.mutation_id)
        if same is not None:
            same[1].append(sender)
            continue
        try:
            found.accepted[changeset.mutation_id] = (batch.add(completed(changeset)), [sender])
        except Refusal as refusal:
            found.refused.append((sender, refusal))
    return found
