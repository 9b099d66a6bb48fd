"""Delete what has expired."""

from octavo.store.transaction import Script, Transaction, Value

RECEIPT_DAYS = 31
"""Days that a receipt, or the result of a restoration, is kept; the API promises 30."""
MARK_DAYS = 400
"""Days that the marks of revisions that history pruning removed are kept."""
MAX_ROWS = 500
"""Rows that one step deletes."""


def delete_ended(table: str, key: str, ended: str, *times: Value) -> Script[bool]:
    """Delete some rows of a table that have ended; return whether there may be more.

    Args:
        table: its name.
        key: the columns of its key.
        ended: the condition that a row has ended.
        times: the arguments of the condition.
    """
    sql = (
        f"DELETE FROM {table} WHERE ({key}) IN"
        f" (SELECT {key} FROM {table} WHERE {ended} LIMIT ${len(times) + 1})"
    )

    async def delete_some(transaction: Transaction) -> bool:
        return await transaction.execute(sql, *times, MAX_ROWS) == MAX_ROWS

    return delete_some


def expire_receipts(before: int) -> Script[bool]:
    """Delete some receipts from before a time (ms); return whether there may be more."""
    return delete_ended("receipts", "workspace, mutation_id", "created_at < $1", before)


def expire_marks(before: int) -> Script[bool]:
    """Delete some marks of revisions that were removed before a time (ms).

    Returns whether there may be more.
    """
    key = "workspace, position, mark_id"
    return delete_ended("removed_marks", key, "removed_at < $1", before)
