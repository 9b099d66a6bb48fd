"""Delete what has expired: receipts, marks and ended sessions that nobody asks for any more."""

from octavo.store.transaction import Script, Transaction

RECEIPT_DAYS = 31
"""Days that a receipt, or the result of a restoration, is kept; the API promises 30."""
MARK_DAYS = 400
"""Days that the marks of revisions are remembered which history pruning has removed."""
MAX_ROWS = 500
"""Rows that one step deletes."""


def expire_receipts(before: int) -> Script[bool]:
    """Delete some receipts from before a time (ms); return whether there may be more."""
    return _expire(
        "SELECT workspace, mutation_id FROM receipts WHERE created_at < $1 LIMIT $2",
        "DELETE FROM receipts WHERE workspace = $1 AND mutation_id = $2::uuid",
        before,
    )


def expire_marks(before: int) -> Script[bool]:
    """Forget some marks of revisions that were removed before a time (ms).

    Returns whether there may be more.
    """
    return _expire(
        "SELECT workspace, position, mark_id FROM removed_marks WHERE removed_at < $1 LIMIT $2",
        "DELETE FROM removed_marks WHERE workspace = $1 AND position = $2 AND mark_id = $3::uuid",
        before,
    )


def _expire(select: str, delete: str, before: int) -> Script[bool]:
    async def delete_some(transaction: Transaction) -> bool:
        rows = await transaction.fetch_all(select, before, MAX_ROWS)
        await transaction.execute_many(delete, rows)
        return len(rows) == MAX_ROWS

    return delete_some
