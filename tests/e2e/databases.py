"""Direct access to the servers' databases: to create them and to inspect them."""

import asyncio
import os
import re
import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager
from itertools import count
from pathlib import Path

import asyncpg  # type: ignore[import-untyped]

from tests.fakes.postgres_server import database_url

_numbers = count()

_IDENTIFIER = re.compile(r"'([0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12})'")


@contextmanager
def new_database(server: str, options: str = "") -> Iterator[str]:
    """The URL of a new, empty database of the PostgreSQL server at the URL ``server``.

    ``options`` are those of CREATE DATABASE.
    """
    name = f"octavo_e2e_{os.getpid()}_{next(_numbers)}"
    execute(server, f"DROP DATABASE IF EXISTS {name}")
    execute(server, f"CREATE DATABASE {name} {options}")
    try:
        yield database_url(server, name)
    finally:
        execute(server, f"DROP DATABASE {name} WITH (FORCE)")


def change(folder: Path, database: str | None, sql: str) -> None:
    """Change what no operation of the contract can change yet.

    ``folder`` is the data folder, ``database`` the URL of a PostgreSQL database, if there is one.
    """
    if database is not None:
        execute(database, sql)
        return
    # Identifiers are stored as 16 bytes there.
    stored = _IDENTIFIER.sub(lambda found: f"x'{found[1].replace('-', '')}'", sql)
    with closing(sqlite3.connect(folder / "octavo.sqlite3", timeout=10)) as connection:
        connection.execute(stored)
        connection.commit()


def integrity(folder: Path) -> list[str]:
    """What SQLite reports as wrong with the database of a data folder, and broken references."""
    with closing(sqlite3.connect(folder / "octavo.sqlite3", timeout=10)) as connection:
        found = [row[0] for row in connection.execute("PRAGMA integrity_check")]
        broken = [str(row) for row in connection.execute("PRAGMA foreign_key_check")]
    return [each for each in found if each != "ok"] + broken


def interrupt_transaction(database: Path, sql: str) -> None:
    """Leave a database and its rollback journal as a crash in the transaction of ``sql`` does."""
    with closing(sqlite3.connect(database, isolation_level=None)) as connection:
        connection.execute("PRAGMA journal_mode = DELETE")
        # A small cache writes pages to the file before the commit.
        connection.execute("PRAGMA cache_size = 2")
        connection.execute("BEGIN")
        connection.execute(sql)
        paths = [database, Path(f"{database}-journal")]
        crashed = {path: path.read_bytes() for path in paths}
    for path, contents in crashed.items():
        path.write_bytes(contents)


def execute(url: str, sql: str) -> None:
    """Execute a statement on a PostgreSQL database."""

    async def execute() -> None:
        connection = await asyncpg.connect(url)
        try:
            await connection.execute(sql)
        finally:
            await connection.close()

    asyncio.run(execute())


def rows_of_tables(folder: Path, database: str | None) -> dict[str, int]:
    """The numbers of rows of all tables."""
    if database is not None:
        return asyncio.run(_rows_of_postgres(database))
    with closing(sqlite3.connect(folder / "octavo.sqlite3", timeout=10)) as connection:
        listed = (
            "SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE 'sqlite_%'"
            " AND sql NOT LIKE 'CREATE VIRTUAL%'"
        )
        names = [row[0] for row in connection.execute(listed)]
        return {
            name: connection.execute(f'SELECT COUNT(*) FROM "{name}"').fetchone()[0]
            for name in names
        }


def levels_of_index(folder: Path) -> int:
    """The bytes of the list of the levels of the search index."""
    with closing(sqlite3.connect(folder / "octavo.sqlite3", timeout=10)) as connection:
        (length,) = connection.execute(
            "SELECT length(block) FROM search_data WHERE id = 10"
        ).fetchone()
        return int(length)


async def _rows_of_postgres(url: str) -> dict[str, int]:
    connection = await asyncpg.connect(url)
    try:
        listed = "SELECT tablename FROM pg_tables WHERE schemaname = 'public'"
        names = [row[0] for row in await connection.fetch(listed)]
        return {name: await connection.fetchval(f'SELECT COUNT(*) FROM "{name}"') for name in names}
    finally:
        await connection.close()
