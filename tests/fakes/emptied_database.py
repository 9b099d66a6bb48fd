"""A PostgreSQL database with the schema, whose rows are deleted after each test.

To create a database and to migrate it takes twenty times as long.
"""

import asyncio
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from random import Random
from typing import Any

import asyncpg  # type: ignore[import-untyped]
import trio

from tests.e2e.databases import new_database
from tests.fakes.stores import open_postgres

LEAVING_SECONDS = 10.0
_FIRST_OID = 16384  # below are the server's own objects

_OTHERS = """
    SELECT pg_terminate_backend(pid) FROM pg_stat_activity
    WHERE datname = current_database() AND pid <> pg_backend_pid()
"""
# A row of a catalogue that was changed has another xmin. TRUNCATE and RESTART write such rows anew.
_SCHEMA = f"""
    SELECT md5(string_agg(line, ',' ORDER BY line)) FROM (
        SELECT concat_ws(' ', 'class', oid, relname, reloptions, relrowsecurity) FROM pg_class
        WHERE oid >= {_FIRST_OID}
        UNION ALL SELECT 'attribute ' || attrelid || ' ' || attnum || ' ' || xmin
        FROM pg_attribute WHERE attrelid >= {_FIRST_OID}
        UNION ALL SELECT 'default ' || oid || ' ' || xmin FROM pg_attrdef
        UNION ALL SELECT 'constraint ' || oid || ' ' || xmin FROM pg_constraint
        UNION ALL SELECT 'index ' || indexrelid || ' ' || xmin FROM pg_index
        UNION ALL SELECT 'trigger ' || oid || ' ' || xmin FROM pg_trigger
        UNION ALL SELECT 'rule ' || oid || ' ' || xmin FROM pg_rewrite
        UNION ALL SELECT 'function ' || oid || ' ' || xmin FROM pg_proc
        UNION ALL SELECT pg_sequence::text FROM pg_sequence
        UNION ALL SELECT 'type ' || oid || ' ' || xmin FROM pg_type
        UNION ALL SELECT 'schema ' || oid || ' ' || xmin FROM pg_namespace
        UNION ALL SELECT 'statistics ' || oid || ' ' || xmin FROM pg_statistic_ext
        UNION ALL SELECT 'large object ' || oid || ' ' || xmin FROM pg_largeobject_metadata
        UNION ALL SELECT 'setting ' || setdatabase || ' ' || setrole || ' ' || xmin
        FROM pg_db_role_setting
    ) AS objects (line)
"""
_TABLES = "SELECT tablename FROM pg_tables WHERE schemaname = 'public' ORDER BY tablename"
_SEQUENCES = "SELECT sequencename, start_value FROM pg_sequences WHERE schemaname = 'public'"
_ROWS = "SELECT json_agg(t)::text FROM {0} t"
_RESTORED = """
    INSERT INTO {0} OVERRIDING SYSTEM VALUE
    SELECT * FROM json_populate_recordset(NULL::{0}, $json${1}$json$);
"""


async def _migrate(url: str) -> None:
    async with open_postgres(url, random=Random(1).random):
        pass


class EmptiedDatabase:
    """The database of a server, which `empty` brings back to the state of a new one.

    Attributes:
        url: where it is now.
    """

    def __init__(self, server: str, runner: asyncio.Runner) -> None:
        self.url = ""
        self._server = server
        self._runner = runner
        self._database = ExitStack()
        self._connection: Any = None
        self._schema = self._statements = ""
        self.renew()

    def renew(self) -> None:
        """Replace the database by a new one."""
        self.drop()
        self.url = self._database.enter_context(new_database(self._server))
        trio.run(_migrate, self.url)
        self._runner.run(self._prepare())

    def drop(self) -> None:
        """Drop the database."""
        if self._connection is not None:
            self._connection.terminate()
        self._database.close()

    def empty(self) -> None:
        """Delete what was written; raise, with a new database, if more than rows was changed."""
        try:
            self._runner.run(self._empty())
        except BaseException:
            self.renew()
            raise

    async def _prepare(self) -> None:
        self._connection = await asyncpg.connect(self.url)
        tables = [row[0] for row in await self._connection.fetch(_TABLES)]
        # Without foreign keys the order of the tables doesn't matter.
        statements = ["BEGIN; SET LOCAL session_replication_role = replica;"]
        statements += [f"DELETE FROM {table};" for table in tables]
        statements += [
            f"SELECT setval('{name}', {start}, false);"
            for name, start in await self._connection.fetch(_SEQUENCES)
        ]
        for table in tables:
            rows = await self._connection.fetchval(_ROWS.format(table))
            if rows is not None:
                statements.append(_RESTORED.format(table, rows))
        self._statements = "\n".join([*statements, "COMMIT;"])
        self._schema = await self._connection.fetchval(_SCHEMA)

    async def _empty(self) -> None:
        async with asyncio.timeout(LEAVING_SECONDS):
            await self._others_left()
            await self._connection.execute(self._statements)
            # The server vacuums on its own, and a client that was cancelled may be let in late.
            while await self._others_left():
                await self._connection.execute(self._statements)
        assert await self._connection.fetchval(_SCHEMA) == self._schema, (
            "a test changed more than rows: it needs the fixture new_postgres_url"
        )

    async def _others_left(self) -> bool:
        """End the other processes of the database; return whether there were any."""
        found = False
        while await self._connection.fetch(_OTHERS):
            found = True
            await asyncio.sleep(0.001)
        return found


@contextmanager
def emptied_database(server: str) -> Iterator[EmptiedDatabase]:
    """Yield a database of the server at the URL ``server``; its user is a superuser."""
    with asyncio.Runner() as runner:
        database = EmptiedDatabase(server, runner)
        try:
            yield database
        finally:
            database.drop()
