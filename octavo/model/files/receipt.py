"""What came of an accepted changeset, as its sender is told, now and whenever it asks again."""

from dataclasses import dataclass

from octavo.model.files.changeset import Outcome
from octavo.model.files.plan import Plan
from octavo.model.files.revision import Revision
from octavo.model.identity import Digest, MutationId, Position


@dataclass(frozen=True, slots=True)
class FileOutcome:
    """What came of one operation, and the head of its file behind it."""

    outcome: Outcome
    head: Revision


@dataclass(frozen=True, slots=True)
class Receipt:
    """What came of one changeset.

    Attributes:
        fingerprint: of what the client sent (`octavo.model.files.changeset.fingerprint`).
        position: of the changeset; when it changed nothing, of the one before it.
        outcomes: in the order of its operations.
    """

    mutation_id: MutationId
    fingerprint: Digest
    position: Position
    outcomes: tuple[FileOutcome, ...]


def receipt_of(plan: Plan) -> Receipt:
    """Return the receipt for an accepted plan."""
    return Receipt(
        plan.changeset.mutation_id,
        plan.changeset.fingerprint,
        plan.position,
        tuple(FileOutcome(change.outcome, change.head) for change in plan.changes),
    )
