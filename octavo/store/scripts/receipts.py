"""Find out what came of earlier changesets."""

import json
from collections.abc import Sequence

from octavo.model.changeset import Outcome
from octavo.model.identity import Digest, MutationId, Position, WorkspaceId
from octavo.model.receipt import FileOutcome, Receipt
from octavo.store.scripts.rows import COLUMNS, revision_of
from octavo.store.transaction import Script, Transaction

_REVISION = f"SELECT {COLUMNS} FROM revisions WHERE workspace_id = $1 AND revision_id = $2"


def receipts(
    workspace_id: WorkspaceId, mutation_ids: Sequence[MutationId]
) -> Script[dict[MutationId, Receipt]]:
    """Answer the receipts that are kept for ``mutation_ids``, by these."""

    async def script(transaction: Transaction) -> dict[MutationId, Receipt]:
        found: dict[MutationId, Receipt] = {}
        for mutation_id in mutation_ids:
            row = await transaction.fetch_one(
                "SELECT fingerprint, position, changes FROM receipts"
                " WHERE workspace_id = $1 AND mutation_id = $2",
                workspace_id,
                mutation_id,
            )
            if row is not None:
                position = Position(row[1])
                outcomes = await _outcomes(transaction, workspace_id, json.loads(row[2]))
                found[mutation_id] = Receipt(mutation_id, Digest(row[0]), position, outcomes)
        return found

    return script


async def _outcomes(
    transaction: Transaction, workspace_id: WorkspaceId, told: list[tuple[Outcome, str]]
) -> tuple[FileOutcome, ...]:
    outcomes: list[FileOutcome] = []
    for outcome, revision_id in told:
        row = await transaction.fetch_one(_REVISION, workspace_id, revision_id)
        if row is not None:
            outcomes.append(FileOutcome(outcome, revision_of(row)))
    return tuple(outcomes)
