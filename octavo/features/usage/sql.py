"""Count what is read and written in a month, and read what is used and allowed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from octavo_rules.identity import AccountId, WorkspaceId

from octavo.model.usage import AccountUsage, Amount, DownloadLimits, Month, strictest
from octavo.store.queries.expiry import delete_ended
from octavo.store.queries.revision_rows import execute_each, select_in
from octavo.store.transaction import Row, Script, Transaction, single_statement

_STORAGE = """(
    SELECT COALESCE(SUM(workspaces.size + (
        SELECT COALESCE(SUM(blobs.size), 0) FROM uploads
        JOIN blobs ON blobs.key = uploads.blob
        WHERE uploads.workspace_id = workspaces.id
    )), 0) FROM members
    JOIN workspaces ON workspaces.id = members.workspace_id
    WHERE members.account_id = accounts.id AND members.role = 'owner'
)"""
_READ_IN_MONTH = """COALESCE((
    SELECT {column} FROM account_usage WHERE account_id = accounts.id AND month = {month}
), 0)"""
USAGE_COUNT = 3
"""Columns of `usage_columns`."""

# A process applies its batches in order, and one batch again only until it knows the outcome.
_BEGIN_BATCH = """
    INSERT INTO usage_writers (id, batch, written_at) VALUES ($1::uuid, $2, $3)
    ON CONFLICT (id) DO UPDATE SET batch = excluded.batch, written_at = excluded.written_at
    WHERE usage_writers.batch < excluded.batch
"""
# The account may have been removed meanwhile.
_ADD_TO_ACCOUNT = """
    INSERT INTO account_usage (account_id, month, download_bytes, download_objects)
    SELECT $1::uuid, $2, $3, $4 WHERE EXISTS (SELECT 1 FROM accounts WHERE id = $1::uuid)
    ON CONFLICT (account_id, month) DO UPDATE SET
        download_bytes = account_usage.download_bytes + excluded.download_bytes,
        download_objects = account_usage.download_objects + excluded.download_objects
"""
_ADD_TO_INSTALLATION = """
    INSERT INTO installation_usage (month, download_bytes, download_objects, write_objects)
    VALUES ($1, $2, $3, $4)
    ON CONFLICT (month) DO UPDATE SET
        download_bytes = installation_usage.download_bytes + excluded.download_bytes,
        download_objects = installation_usage.download_objects + excluded.download_objects,
        write_objects = installation_usage.write_objects + excluded.write_objects
"""
_TOTALS = f"""
    SELECT accounts.id, controls_download_bytes, controls_download_objects,
        {_READ_IN_MONTH.format(column="download_bytes", month="$1")},
        {_READ_IN_MONTH.format(column="download_objects", month="$1")}
    FROM accounts WHERE accounts.id IN ($ids)
"""
_OWNERS = f"""
    SELECT accounts.id, storage_limit, controls_storage_limit,
        CASE WHEN COALESCE(storage_limit, controls_storage_limit) IS NULL THEN 0
        ELSE {_STORAGE} END
    FROM members AS owners JOIN accounts ON accounts.id = owners.account_id
    WHERE owners.workspace_id = $1::uuid AND owners.role = 'owner'
"""

_PARTS_OF_OWNER = """
    SELECT COALESCE(SUM(blobs.size), 0) FROM members
    JOIN imports ON imports.workspace_id = members.workspace_id
    JOIN import_parts ON import_parts.import_id = imports.id
    JOIN blobs ON blobs.key = import_parts.blob
    WHERE members.account_id = $1::uuid AND members.role = 'owner'
        AND NOT (import_parts.import_id = $2::uuid AND import_parts.number = $3)
"""


class InstallationAmount(NamedTuple):
    """What the installation has read, and the objects that it has written."""

    downloads: Amount = Amount()
    writes: int = 0


@dataclass(frozen=True, slots=True)
class UsageBatch:
    """Counts of one process that are to be added to the stored ones.

    Attributes:
        writer_id: a UUID of the process.
        number: of the batch; increases with each batch of the process.
        accounts: what accounts have read, by account and month.
        installation: what all have read and written, by month.
    """

    writer_id: str
    number: int
    accounts: Mapping[tuple[AccountId, Month], Amount]
    installation: Mapping[Month, InstallationAmount]


class AccountTotal(NamedTuple):
    """What an account may read in a month, and has read."""

    limits: DownloadLimits
    downloads: Amount


class UsageTotals(NamedTuple):
    """What was read and written in a month; ``accounts`` has those that exist."""

    accounts: Mapping[AccountId, AccountTotal]
    installation: InstallationAmount


class OwnerStorage(NamedTuple):
    """An owner of a workspace.

    Attributes:
        account_id: the account.
        limit: the maximum size of its files in bytes; None for no limit.
        used: their size, as in `AccountUsage`; 0 without a limit.
    """

    account_id: AccountId
    limit: int | None
    used: int


def usage_columns(month: str) -> str:
    """Return the columns of the usage of ``accounts``; ``month`` is the placeholder of a month."""
    columns = ("download_bytes", "download_objects")
    return ", ".join(
        [_STORAGE, *(_READ_IN_MONTH.format(column=column, month=month) for column in columns)]
    )


def usage_of(columns: Row, month: Month) -> AccountUsage:
    """Return the usage in the columns of `usage_columns`."""
    storage, size, objects = columns
    return AccountUsage(int(storage), Amount(size, objects), month)


def add(batch: UsageBatch, month: Month, now: int) -> Script[UsageTotals]:
    """Add a batch, and return the totals of its accounts in ``month``; ``now`` is in ms.

    A batch that was added before is not added again.
    """

    async def add_batch(transaction: Transaction) -> UsageTotals:
        if await transaction.execute(_BEGIN_BATCH, batch.writer_id, batch.number, now):
            # All processes use one order, so that they can't deadlock.
            accounts = sorted((*key, *amount) for key, amount in batch.accounts.items())
            await execute_each(transaction, _ADD_TO_ACCOUNT, accounts)
            installation = sorted(
                (month, *amount.downloads, amount.writes)
                for month, amount in batch.installation.items()
            )
            await execute_each(transaction, _ADD_TO_INSTALLATION, installation)
        return await totals([key[0] for key in batch.accounts], month)(transaction)

    return add_batch


def totals(account_ids: Sequence[AccountId], month: Month) -> Script[UsageTotals]:
    """Return what the accounts and the installation have read and written in a month."""

    async def read_totals(transaction: Transaction) -> UsageTotals:
        rows = await select_in(transaction, _TOTALS, month, account_ids)
        accounts = {
            AccountId(row[0]): AccountTotal(DownloadLimits(*row[1:3]), Amount(*row[3:5]))
            for row in rows
        }
        row = await transaction.fetch_one(
            "SELECT download_bytes, download_objects, write_objects FROM installation_usage"
            " WHERE month = $1",
            month,
        )
        size, objects, writes = row or (0, 0, 0)
        return UsageTotals(accounts, InstallationAmount(Amount(size, objects), writes))

    return read_totals


def storage_of_owners(workspace_id: WorkspaceId) -> Script[list[OwnerStorage]]:
    """Return the owners of a workspace, with the storage that they use and may use."""

    @single_statement
    async def read_owners(transaction: Transaction) -> list[OwnerStorage]:
        rows = await transaction.fetch_all(_OWNERS, workspace_id)
        return [
            OwnerStorage(AccountId(row[0]), strictest(row[1], row[2]), int(row[3])) for row in rows
        ]

    return read_owners


def room_for_part(workspace_id: WorkspaceId, import_id: str, number: int) -> Script[int | None]:
    """Return the bytes that a part of an import into a workspace may have; None without a limit.

    The parts of all imports into the workspaces of an owner count against its limit together, but
    not the part that this one replaces. It may be negative.
    """

    async def read_room(transaction: Transaction) -> int | None:
        room: int | None = None
        for owner in await storage_of_owners(workspace_id)(transaction):
            if owner.limit is not None:
                arguments = (owner.account_id, import_id, number)
                row = await transaction.fetch_one(_PARTS_OF_OWNER, *arguments)
                parts = 0 if row is None else int(row[0])
                room = strictest(room, owner.limit - owner.used - parts)
        return room

    return read_room


def expire(before: Month, written_before: int) -> Script[bool]:
    """Delete some counts of months before ``before``; return whether there may be more.

    Also forget some processes that have added nothing since ``written_before`` (ms).
    """
    delete_counts = delete_ended("account_usage", "account_id, month", "month < $1", before)
    forget_writers = delete_ended("usage_writers", "id", "written_at < $1", written_before)

    async def delete_some(transaction: Transaction) -> bool:
        await transaction.execute("DELETE FROM installation_usage WHERE month < $1", before)
        more = await delete_counts(transaction)
        return await forget_writers(transaction) or more

    return delete_some
