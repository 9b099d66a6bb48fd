"""Receipts: the result of an accepted changeset, also returned when it is repeated."""

from dataclasses import dataclass, replace

from octavo_rules.identity import Cursor, Digest, MutationId, Position

from octavo.model.files.changeset import Outcome
from octavo.model.files.confinement import Confinement
from octavo.model.files.plan import Plan
from octavo.model.files.revision import Revision


@dataclass(frozen=True, slots=True)
class FileOutcome:
    """The outcome of one operation, and the head of its file after it."""

    outcome: Outcome
    head: Revision


@dataclass(frozen=True, slots=True)
class Receipt:
    """The result of one changeset.

    Attributes:
        fingerprint: the digest of the request (`octavo.model.files.changeset.fingerprint`).
        cursor: that of the changeset, or of the one before it if nothing changed.
        outcomes: the outcomes in the order of the operations.
    """

    mutation_id: MutationId
    fingerprint: Digest
    cursor: Cursor
    outcomes: tuple[FileOutcome, ...]

    @property
    def position(self) -> Position:
        """The position of the cursor."""
        return self.cursor.position

    def within(self, folder: Confinement) -> "Receipt | None":
        """Return the receipt with the outcomes that are visible in a folder; None without any."""
        outcomes = tuple(each for each in self.outcomes if folder.covers(each.head.path))
        return replace(self, outcomes=outcomes) if outcomes else None


def receipt_of(plan: Plan) -> Receipt:
    """Return the receipt of an accepted plan."""
    return Receipt(
        plan.changeset.mutation_id,
        plan.changeset.fingerprint,
        plan.cursor,
        (*[FileOutcome(change.outcome, change.head) for change in plan.changes],),
    )
