"""Remove what deleted workspaces held, some of it at a time."""

from __future__ import annotations

from octavo.store.transaction import Script, Transaction

# Each table with what names a row of it; texts may be long, so that few of them go at once.
_TABLES = (
    ("contents", "content_id", 20),
    ("files", "file_id", 500),
    ("revisions", "revision_id", 500),
    ("receipts", "mutation_id", 500),
)


def sweep() -> Script[bool]:
    """Remove some of what a deleted workspace held; answer whether there may be more to remove.

    Two who sweep at once do no harm.
    """

    async def script(transaction: Transaction) -> bool:
        found = await transaction.fetch_one("SELECT id FROM deleted_workspaces ORDER BY id LIMIT 1")
        if found is None:
            return False
        for table, name, most in _TABLES:
            removed = await transaction.execute(
                f"DELETE FROM {table} WHERE workspace_id = $1 AND {name} IN"
                f" (SELECT {name} FROM {table} WHERE workspace_id = $1 LIMIT $2)",
                found[0],
                most,
            )
            if removed:
                return True
        await transaction.execute("DELETE FROM deleted_workspaces WHERE id = $1", found[0])
        return True

    return script
