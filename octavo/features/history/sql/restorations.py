"""Restorations of workspaces: what was asked for, how far each is, and which have not ended."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Literal, NamedTuple, cast

from octavo_rules.identity import AccountId, FileId, MutationId, Position, WorkspaceId

from octavo.features.history.rules.restoration import LeftFile, LeftReason
from octavo.store.queries.revision_rows import WORKSPACE
from octavo.store.transaction import Row, Script, Transaction

MAX_ROWS = 500
"""Restorations that one step of an expiry deletes."""
MAX_LEFT = 500
"""Files that were left and are named; the others are counted."""

RestorationState = Literal["running", "done", "failed"]

_INSERT = f"""
    INSERT INTO restorations (workspace, id, account_id, moment, target, folder, start_position,
        state, steps, last_position, total, done, skipped_count, skipped_files, started_at,
        updated_at)
    SELECT {WORKSPACE}, $2::uuid, $3::uuid, $4, $5, $6, $7, 'running', 0, $7, $8, 0, 0, '', $9, $9
    WHERE EXISTS (SELECT 1 FROM workspaces WHERE id = $1::uuid) ON CONFLICT DO NOTHING
"""
_OF_ONE = f"workspace = {WORKSPACE} AND restorations.id = $2::uuid"
_COLUMNS = """
    restorations.id, account_id, moment, target, folder, start_position, state, steps,
    last_position, total, done, skipped_count, failure, started_at, updated_at, continuer_id
"""
_FIND = f"SELECT {_COLUMNS}, skipped_files FROM restorations WHERE {_OF_ONE}"
_LIST = f"""
    SELECT {_COLUMNS}, '' FROM restorations WHERE workspace = {WORKSPACE}
        AND (started_at, restorations.id) < ($2, $3::uuid)
    ORDER BY started_at DESC, restorations.id DESC LIMIT $4
"""
_UNFINISHED = """
    SELECT workspaces.id, restorations.id FROM restorations
    JOIN workspaces ON workspaces.pk = restorations.workspace
    WHERE state = 'running' AND updated_at <= $1 ORDER BY updated_at LIMIT $2
"""


class RestorationKey(NamedTuple):
    """What identifies a restoration: its id is the mutation id of its request."""

    workspace_id: WorkspaceId
    restoration_id: MutationId


class RestorationAsked(NamedTuple):
    """What is restored.

    Attributes:
        moment: the moment in ms; None when the position was given.
        target: the position whose state returns.
        folder: the folder; empty for all files.
    """

    moment: int | None
    target: Position
    folder: str


class NamedFile(NamedTuple):
    """A file that was left."""

    file_id: FileId
    path: str
    reason: LeftReason


class StoredRestoration(NamedTuple):
    """A restoration.

    Attributes:
        account_id: who began it.
        start_position: that of the workspace when it began.
        steps: the number of its changesets.
        last_position: that of the last one; ``start_position`` before the first.
        total: the number of files to return, when it began.
        done: how many of them have returned.
        skipped_count: how many files were left; 0 until it is done.
        skipped_files: the first of them.
        failure: why it was stopped, as a code and an explanation; None otherwise.
        started_at: in ms; so is ``updated_at``, the time of the last step.
        continued_by: who last continued it after a failure; None before.
    """

    key: RestorationKey
    account_id: AccountId
    asked: RestorationAsked
    start_position: Position
    state: RestorationState
    steps: int
    last_position: Position
    total: int
    done: int
    skipped_count: int
    skipped_files: tuple[NamedFile, ...]
    failure: tuple[str, str] | None
    started_at: int
    updated_at: int
    continued_by: AccountId | None

    @property
    def author(self) -> AccountId:
        """The author of the next changeset, which needs their permission."""
        return self.account_id if self.continued_by is None else self.continued_by


def begin(
    key: RestorationKey,
    account_id: AccountId,
    asked: RestorationAsked,
    start_position: Position,
    total: int,
    now: int,
) -> Script[bool]:
    """Record a restoration that begins at a time (ms); return False if there is one of its id."""

    async def insert(transaction: Transaction) -> bool:
        values = (*key, account_id, *asked, start_position, total, now)
        return await transaction.execute(_INSERT, *values) > 0

    return insert


def find(key: RestorationKey) -> Script[StoredRestoration | None]:
    """Return a restoration; None without it."""

    async def read(transaction: Transaction) -> StoredRestoration | None:
        row = await transaction.fetch_one(_FIND, *key)
        return None if row is None else _stored(key, row)

    return read


def newest(
    workspace_id: WorkspaceId, before: tuple[int, str], limit: int
) -> Script[list[StoredRestoration]]:
    """Return restorations of a workspace, the latest first, without the files that were left.

    They began before a time (ms), or at that time and have lower ids.
    """

    async def read(transaction: Transaction) -> list[StoredRestoration]:
        rows = await transaction.fetch_all(_LIST, workspace_id, *before, limit)
        return [_stored(RestorationKey(workspace_id, MutationId(row[0])), row) for row in rows]

    return read


def unfinished(until: int, limit: int) -> Script[list[RestorationKey]]:
    """Return restorations that are to go on and had their last step until a time (ms)."""

    async def read(transaction: Transaction) -> list[RestorationKey]:
        rows = await transaction.fetch_all(_UNFINISHED, until, limit)
        return [RestorationKey(WorkspaceId(row[0]), MutationId(row[1])) for row in rows]

    return read


def record_step(
    key: RestorationKey, steps: int, last: Position, done: int, now: int
) -> Script[None]:
    """Record how far a restoration is at a time (ms), unless another process is further."""

    async def update(transaction: Transaction) -> None:
        await transaction.execute(
            "UPDATE restorations SET steps = $3, last_position = $4, done = $5,"
            f" updated_at = $6 WHERE {_OF_ONE} AND steps <= $3",
            *key,
            steps,
            last,
            done,
            now,
        )

    return update


def finish(key: RestorationKey, done: int, left: Sequence[LeftFile], now: int) -> Script[None]:
    """Record the end of a restoration at a time (ms)."""
    named = json.dumps(
        [[file.head.file_id, file.head.path, file.reason] for file in left[:MAX_LEFT]]
    )

    async def update(transaction: Transaction) -> None:
        await transaction.execute(
            "UPDATE restorations SET state = 'done', done = $3, skipped_count = $4,"
            f" skipped_files = $5, failure = NULL, updated_at = $6 WHERE {_OF_ONE}",
            *key,
            done,
            len(left),
            named,
            now,
        )

    return update


def fail(key: RestorationKey, code: str, detail: str, now: int) -> Script[None]:
    """Record why a restoration has stopped."""

    async def update(transaction: Transaction) -> None:
        await transaction.execute(
            "UPDATE restorations SET state = 'failed', failure = $3, updated_at = $4"
            f" WHERE {_OF_ONE} AND state = 'running'",
            *key,
            json.dumps([code, detail]),
            now,
        )

    return update


def resume(key: RestorationKey, account_id: AccountId, now: int) -> Script[None]:
    """Continue a failed restoration for an account."""

    async def update(transaction: Transaction) -> None:
        await transaction.execute(
            "UPDATE restorations SET state = 'running', failure = NULL, continuer_id = $3::uuid,"
            f" updated_at = $4 WHERE {_OF_ONE} AND state = 'failed'",
            *key,
            account_id,
            now,
        )

    return update


def expire(before: int) -> Script[bool]:
    """Delete some restorations that ended before a time (ms); return whether more may be left."""

    async def delete(transaction: Transaction) -> bool:
        rows = await transaction.fetch_all(
            "SELECT workspace, id FROM restorations"
            " WHERE updated_at < $1 AND state <> 'running' LIMIT $2",
            before,
            MAX_ROWS,
        )
        await transaction.execute_many(
            "DELETE FROM restorations WHERE workspace = $1 AND id = $2::uuid", rows
        )
        return len(rows) == MAX_ROWS

    return delete


def _stored(key: RestorationKey, row: Row) -> StoredRestoration:
    skipped = json.loads(row[16]) if row[16] else []
    failure = None if row[12] is None else json.loads(row[12])
    return StoredRestoration(
        key=key,
        account_id=AccountId(row[1]),
        asked=RestorationAsked(row[2], Position(row[3]), row[4]),
        start_position=Position(row[5]),
        state=cast(RestorationState, row[6]),
        steps=row[7],
        last_position=Position(row[8]),
        total=row[9],
        done=row[10],
        skipped_count=row[11],
        skipped_files=tuple(NamedFile(FileId(file[0]), file[1], file[2]) for file in skipped),
        failure=None if failure is None else (failure[0], failure[1]),
        started_at=row[13],
        updated_at=row[14],
        continued_by=None if row[15] is None else AccountId(row[15]),
    )
