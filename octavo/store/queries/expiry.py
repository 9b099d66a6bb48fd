"""Delete what has expired."""

from octavo.store.transaction import Script, Transaction, Value

RECEIPT_DAYS = 31
"""Days that a receipt, or the result of a restoration, is kept; the API promises 30."""
MARK_DAYS = 400
"""Days that the marks of revisions that history pruning removed are kept."""
MAX_ROWS = 500
"""Rows that one step deletes."""


_OLD_RECEIPTS = "SELECT workspace, mutation_id FROM receipts WHERE created_at < $1 LIMIT $2"
_DELETE_RECEIPT = "DELETE FROM receipts WHERE workspace = $1 AND mutation_id = $2::uuid"
_OLD_MARKS = """
    SELECT workspace, position, mark_id FROM removed_marks WHERE removed_at < $1 LIMIT $2
"""
_DELETE_MARK = """
    DELETE FROM removed_marks WHERE workspace = $1 AND position = $2 AND mark_id = $3::uuid
"""


def delete_ended(table: str, key: str, ended: str, *times: Value) -> Script[bool]:
    """Delete some rows of a table that have ended; return whether there may be more.

    Args:
        table: its name.
        key: the columns of its key. SQLite finds a row by all of them but the last of several:
            few rows may have these in common.
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
    return _delete_each(_OLD_RECEIPTS, _DELETE_RECEIPT, before)


def expire_marks(before: int) -> Script[bool]:
    """Delete some marks of revisions that were removed before a time (ms).

    Returns whether there may be more.
    """
    return _delete_each(_OLD_MARKS, _DELETE_MARK, before)


def _delete_each(select: str, delete: str, before: int) -> Script[bool]:
    """Delete by whole keys: a workspace has many rows."""

    async def delete_some(transaction: Transaction) -> bool:
        rows = await transaction.fetch_all(select, before, MAX_ROWS)
        await transaction.execute_many(delete, rows)
        return len(rows) == MAX_ROWS

    return delete_some
