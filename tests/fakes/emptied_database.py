"""A PostgreSQL database with the schema, whose rows are deleted after each test.

To create a database and to migrate it takes twenty times as long.
"""

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import asyncpg  # type: ignore[import-untyped]

# Waits until the transactions of those who were connected have ended.
_ALONE = """
    SELECT pg_terminate_backend(pid, 10000) FROM pg_stat_activity
    WHERE datname = current_database() AND pid <> pg_backend_pid()
"""
_SCHEMA = """
    SELECT oid::text FROM pg_class WHERE relnamespace = 'public'::regnamespace
    UNION ALL SELECT oid::text FROM pg_proc WHERE pronamespace = 'public'::regnamespace
    UNION ALL SELECT oid::text FROM pg_trigger
    ORDER BY 1
"""
_TABLES = "SELECT tablename FROM pg_tables WHERE schemaname = 'public' ORDER BY tablename"
_SEQUENCES = "SELECT sequencename FROM pg_sequences WHERE schemaname = 'public'"
_ROWS = "SELECT json_agg(t)::text FROM {0} t"
_RESTORED = """
    INSERT INTO {0} OVERRIDING SYSTEM VALUE
    SELECT * FROM json_populate_recordset(NULL::{0}, $json${1}$json$);
"""


class EmptiedDatabase:
    """The database; `empty` brings it back to the state in which it was given.

    Attributes:
        url: where it is.
    """

    def __init__(self, url: str, runner: asyncio.Runner, connection: Any) -> None:  # noqa: ANN401
        self.url = url
        self._runner = runner
        self._connection = connection
        self._schema = runner.run(connection.fetch(_SCHEMA))
        self._statements = runner.run(self._emptying())

    def empty(self) -> None:
        """Delete what was written since; fail if the schema was changed."""
        self._runner.run(self._empty())

    async def _empty(self) -> None:
        await self._connection.execute(_ALONE)
        await self._connection.execute(self._statements)
        assert await self._connection.fetch(_SCHEMA) == self._schema, (
            "a test changed the schema of the database: use the fixture new_postgres_url there"
        )

    async def _emptying(self) -> str:
        tables = [row[0] for row in await self._connection.fetch(_TABLES)]
        sequences = [row[0] for row in await self._connection.fetch(_SEQUENCES)]
        # Without foreign keys the order of the tables doesn't matter.
        statements = ["BEGIN; SET LOCAL session_replication_role = replica;"]
        statements += [f"DELETE FROM {table};" for table in tables]
        statements += [f"ALTER SEQUENCE {sequence} RESTART;" for sequence in sequences]
        for table in tables:
            rows = await self._connection.fetchval(_ROWS.format(table))
            if rows is not None:
                statements.append(_RESTORED.format(table, rows))
        return "\n".join([*statements, "COMMIT;"])


@contextmanager
def emptied_database(url: str) -> Iterator[EmptiedDatabase]:
    """Yield the database at ``url``, which has the schema and the rows of a new one."""
    with asyncio.Runner() as runner:
        connection = runner.run(asyncpg.connect(url))
        try:
            yield EmptiedDatabase(url, runner, connection)
        finally:
            runner.run(connection.close())
