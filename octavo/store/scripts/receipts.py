"""Find out what came of earlier changesets."""

from __future__ import annotations

import json
from collections.abc import Sequence

from octavo.model.files.changeset import Outcome
from octavo.model.files.receipt import FileOutcome, Receipt
from octavo.model.files.revision import Revision
from octavo.model.identity import Digest, MutationId, Position, WorkspaceId
from octavo.store.scripts.naming import fetch_named
from octavo.store.scripts.rows import COLUMNS, revision_of
from octavo.store.transaction import Script, Transaction

_RECEIPTS = """
    SELECT mutation_id, fingerprint, position, changes FROM receipts
    WHERE workspace_id = $1 AND mutation_id IN ($names)
"""
_REVISIONS = f"SELECT {COLUMNS} FROM revisions WHERE workspace_id = $1 AND revision_id IN ($names)"


def receipts(
    workspace_id: WorkspaceId, mutation_ids: Sequence[MutationId]
) -> Script[dict[MutationId, Receipt]]:
    """Answer the receipts that are kept for ``mutation_ids``, by these."""

    async def script(transaction: Transaction) -> dict[MutationId, Receipt]:
        rows = await fetch_named(transaction, _RECEIPTS, workspace_id, mutation_ids)
        told: list[list[tuple[Outcome, str]]] = [json.loads(row[3]) for row in rows]
        names = [revision_id for changes in told for _, revision_id in changes]
        found = map(revision_of, await fetch_named(transaction, _REVISIONS, workspace_id, names))
        heads: dict[str, Revision] = {head.revision_id: head for head in found}
        return {
            row[0]: Receipt(
                row[0],
                Digest(row[1]),
                Position(row[2]),
                tuple(FileOutcome(outcome, heads[name]) for outcome, name in changes),
            )
            for row, changes in zip(rows, told, strict=True)
        }

    return script
