"""Keep accepted changesets, in the one place of the order that they were planned for."""

from __future__ import annotations

import json
from collections.abc import Sequence

from octavo.model.documents.document import KeptDocument
from octavo.model.files.plan import Plan
from octavo.model.identity import FileId, MutationId, Position, WorkspaceId
from octavo.store.scripts.announcing import announce
from octavo.store.scripts.indexing import index_changes
from octavo.store.scripts.naming import fetch_named
from octavo.store.scripts.rows import COLUMNS, COUNT, values_of
from octavo.store.transaction import Script, Transaction, Value

_FILE = ", ".join(f"${number}" for number in range(2, COUNT + 2))
_KEEP_HEAD = f"""
    INSERT INTO files (workspace_id, {COLUMNS}) VALUES ($1, {_FILE})
    ON CONFLICT (workspace_id, file_id) DO UPDATE SET
        state = excluded.state, kind = excluded.kind, path = excluded.path,
        revision_id = excluded.revision_id, position = excluded.position,
        content_id = excluded.content_id, digest = excluded.digest, size = excluded.size,
        media_type = excluded.media_type, author = excluded.author,
        mutation_id = excluded.mutation_id, changed_at = excluded.changed_at,
        origin = excluded.origin
"""
_KEEP_REVISION = f"INSERT INTO revisions (workspace_id, {COLUMNS}) VALUES ($1, {_FILE})"
_KEEP_CONTENT = """
    INSERT INTO contents (workspace_id, content_id, text) VALUES ($1, $2, $3)
"""
_KEEP_DOCUMENT = """
    INSERT INTO documents (workspace_id, file_id, epoch, state, vector)
    VALUES ($1, $2, $3, $4, $5)
    ON CONFLICT (workspace_id, file_id) DO UPDATE SET
        epoch = excluded.epoch, state = excluded.state, vector = excluded.vector
"""
_FORGET_DOCUMENT = "DELETE FROM documents WHERE workspace_id = $1 AND file_id = $2"
_KEEP_RECEIPT = """
    INSERT INTO receipts (workspace_id, mutation_id, fingerprint, position, changes, created_at)
    VALUES ($1, $2, $3, $4, $5, $6) ON CONFLICT DO NOTHING
"""
_REPEATED = """
    SELECT mutation_id FROM receipts WHERE workspace_id = $1 AND mutation_id IN ($names)
"""
# Where a revision kept its content, the one that brought it stands there, too.
_LEAVE_CONTENTS = """
    INSERT INTO purged_contents (workspace_id, content_id, size)
    SELECT workspace_id, content_id, size FROM revisions
    WHERE workspace_id = $1 AND file_id = $2 AND content_id = revision_id
"""
_FORGET_REVISIONS = """
    UPDATE revisions SET path = '', content_id = '', digest = '', size = 0, media_type = ''
    WHERE workspace_id = $1 AND file_id = $2
"""


class PositionMoved(Exception):
    """Somebody else changed the workspace since it was read: read it again, and plan anew."""


class WorkspaceGone(Exception):
    """The workspace is not there any more."""


class Repeated(Exception):
    """Some of the changesets were kept before; ``mutation_ids`` are theirs. None was kept now."""

    def __init__(self, mutation_ids: Sequence[MutationId]) -> None:
        super().__init__(mutation_ids)
        self.mutation_ids = tuple(mutation_ids)


def keep(
    workspace_id: WorkspaceId,
    planned_at: Position,
    plans: Sequence[Plan],
    now: int,
    documents: Sequence[tuple[FileId, KeptDocument]] = (),
) -> Script[None]:
    """Keep ``plans``, which were planned one after the other from position ``planned_at`` on.

    ``now`` is in milliseconds, ``documents`` are those that the plans changed. The texts of purged
    files are beyond every reader then, and removed by `octavo.store.scripts.sweeping`. All are
    kept or none: raises `PositionMoved`, `WorkspaceGone` or `Repeated`.
    """

    async def script(transaction: Transaction) -> None:
        await _fence(transaction, workspace_id, planned_at, plans[-1].position)
        await _keep_receipts(transaction, workspace_id, plans, now)
        changed = [change for plan in plans for change in plan.changed]
        heads: dict[str, tuple[Value, ...]] = {}
        revisions: list[tuple[Value, ...]] = []
        contents: list[tuple[Value, ...]] = []
        purged: list[tuple[Value, ...]] = []
        for change in changed:
            row = (workspace_id, *values_of(change.head))
            heads[change.head.file_id] = row
            revisions.append(row)
            if change.content is not None:
                contents.append((workspace_id, change.head.content_id, change.content.text))
            if change.outcome == "purged":
                purged.append((workspace_id, change.head.file_id))
        if revisions:
            await announce(transaction, workspace_id, plans[-1].position)
        await _each(transaction, _KEEP_HEAD, [*heads.values()])
        await _each(transaction, _KEEP_REVISION, revisions)
        await _each(transaction, _KEEP_CONTENT, contents)
        await index_changes(transaction, workspace_id, changed)
        kept = [(workspace_id, file_id, *document) for file_id, document in documents]
        await _each(transaction, _KEEP_DOCUMENT, kept)
        await _each(transaction, _FORGET_DOCUMENT, purged)
        await _each(transaction, _LEAVE_CONTENTS, purged)
        await _each(transaction, _FORGET_REVISIONS, purged)

    return script


async def _fence(
    transaction: Transaction, workspace_id: WorkspaceId, planned_at: Position, position: Position
) -> None:
    moved = await transaction.execute(
        "UPDATE workspaces SET position = $3 WHERE id = $1 AND position = $2",
        workspace_id,
        planned_at,
        position,
    )
    if not moved:
        found = await transaction.fetch_one(
            "SELECT position FROM workspaces WHERE id = $1", workspace_id
        )
        raise WorkspaceGone if found is None else PositionMoved


async def _keep_receipts(
    transaction: Transaction, workspace_id: WorkspaceId, plans: Sequence[Plan], now: int
) -> None:
    # Nobody can ask for the others.
    plans = [plan for plan in plans if plan.changeset.repeatable]
    rows = [_receipt_row(workspace_id, plan, now) for plan in plans]
    if not rows:
        return
    if len(rows) == 1:
        if not await transaction.execute(_KEEP_RECEIPT, *rows[0]):
            raise Repeated([plans[0].changeset.mutation_id])
        return
    mutation_ids = [plan.changeset.mutation_id for plan in plans]
    found = await fetch_named(transaction, _REPEATED, workspace_id, mutation_ids)
    if found:
        raise Repeated([row[0] for row in found])
    # Nobody has added one meanwhile: whoever wants to waits behind the fence.
    await transaction.execute_many(_KEEP_RECEIPT, rows)


def _receipt_row(workspace_id: WorkspaceId, plan: Plan, now: int) -> tuple[Value, ...]:
    told = [[change.outcome, change.head.revision_id] for change in plan.changes]
    return (
        workspace_id,
        plan.changeset.mutation_id,
        plan.changeset.fingerprint,
        plan.position,
        json.dumps(told, separators=(",", ":")),
        now,
    )


async def _each(transaction: Transaction, sql: str, rows: Sequence[tuple[Value, ...]]) -> None:
    if len(rows) == 1:
        await transaction.execute(sql, *rows[0])
    elif rows:
        await transaction.execute_many(sql, rows)
