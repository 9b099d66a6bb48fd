"""Remove what has had its time: receipts that nobody asks for any more, and ended sessions."""

from octavo.store.transaction import Script, Transaction

MOST_ROWS = 500
"""Rows that one step removes."""


def expire_receipts(before: int) -> Script[bool]:
    """Remove some receipts from before a time, in milliseconds; answer whether more may be."""

    async def script(transaction: Transaction) -> bool:
        rows = await transaction.fetch_all(
            "SELECT workspace_id, mutation_id FROM receipts WHERE created_at < $1 LIMIT $2",
            before,
            MOST_ROWS,
        )
        await transaction.execute_many(
            "DELETE FROM receipts WHERE workspace_id = $1 AND mutation_id = $2", rows
        )
        return len(rows) == MOST_ROWS

    return script


def expire_sessions(active_before: int, made_before: int) -> Script[bool]:
    """Remove some sessions that ended by either time; answer whether there may be more."""

    async def script(transaction: Transaction) -> bool:
        removed = await transaction.execute(
            "DELETE FROM sessions WHERE id IN (SELECT id FROM sessions"
            " WHERE created_at < $1 OR active_at < $2 LIMIT $3)",
            made_before,
            active_before,
            MOST_ROWS,
        )
        return removed == MOST_ROWS

    return script
