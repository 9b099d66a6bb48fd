"""Delete what has expired: receipts that nobody will ask for any more, and ended sessions."""

from octavo.store.transaction import Script, Transaction

MAX_ROWS = 500
"""Rows that one step deletes."""


def expire_receipts(before: int) -> Script[bool]:
    """Delete some receipts from before a time (ms); return whether there may be more."""

    async def delete_receipts(transaction: Transaction) -> bool:
        rows = await transaction.fetch_all(
            "SELECT workspace, mutation_id FROM receipts WHERE created_at < $1 LIMIT $2",
            before,
            MAX_ROWS,
        )
        await transaction.execute_many(
            "DELETE FROM receipts WHERE workspace = $1 AND mutation_id = $2::uuid", rows
        )
        return len(rows) == MAX_ROWS

    return delete_receipts


def expire_sessions(active_before: int, created_before: int) -> Script[bool]:
    """Delete some sessions that ended by either time; return whether there may be more."""

    async def delete_sessions(transaction: Transaction) -> bool:
        deleted = await transaction.execute(
            "DELETE FROM sessions WHERE id IN (SELECT id FROM sessions"
            " WHERE created_at < $1 OR active_at < $2 LIMIT $3)",
            created_before,
            active_before,
            MAX_ROWS,
        )
        return deleted == MAX_ROWS

    return delete_sessions
