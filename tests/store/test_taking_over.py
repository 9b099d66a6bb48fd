"""Databases of earlier versions are taken over: nothing is lost, and the schema is the newest."""

import re
import sqlite3
from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Protocol
from uuid import UUID
from zlib import crc32

import pytest

from octavo.store import StatementInvalid, StoreUnusable
from octavo.store.migrations import Engine, Migration, pending, shipped
from octavo.store.postgres.bridge import Bridge, open_bridge
from octavo.store.postgres.connection import FAILURES, PooledConnection
from octavo.store.postgres.connection import connect as connect_postgres
from octavo.store.postgres.requirements import migrate as migrate_postgres
from octavo.store.sqlite.connection import connect
from octavo.store.sqlite.migrating import migrate, statements
from tests.fakes.earlier_schemas import VERSIONS, earlier
from tests.fakes.every_table import Column, is_identifier, tables_of

RENAMED = {
    "workspaces": {"number": "pk", "documents_read": "documents_were_read"},
    "deleted_workspaces": {"number": "pk"},
    "files": {"number": "pk", "content_id": "content_revision_id"},
    "revisions": {"content_id": "content_revision_id"},
    "documents": {"content_id": "content_revision_id"},
    "contents": {"number": "pk"},
    "images": {"number": "pk"},
    "fulltext_notes": {"number": "pk"},
    "fulltext_beginnings": {"number": "pk"},
    "fulltext_removals": {"number": "pk"},
    "oauth_programs": {"number": "pk"},
    "mail_budgets": {"paid_at": "theoretical_arrival_at"},
    "imports": {"read": "bytes_read"},
    "restorations": {
        "present": "start_position",
        "last": "last_position",
        "left_count": "skipped_count",
        "left_files": "skipped_files",
    },
    "search": {"number": "note"},
    "sequences": {
        "workspaces_number_seq": "workspaces_pk_seq",
        "oauth_programs_number_seq": "oauth_programs_pk_seq",
    },
}
NIL = UUID(int=0)
Row = Mapping[str, object]
Rows = dict[str, list[Row]]
"""The rows of all tables, in order."""


class Database(Protocol):
    """An empty database of one engine."""

    @property
    def engine(self) -> Engine: ...

    async def execute(self, sql: str) -> None: ...

    async def fetch(self, sql: str) -> list[Row]: ...

    async def migrate(self, known: Sequence[Migration]) -> None: ...

    async def catalogue(self) -> list[object]:
        """Return everything that the schema consists of."""

    async def rows(self) -> Rows: ...

    async def empty(self) -> None: ...


def row_of(columns: Sequence[str], values: Sequence[object]) -> Row:
    """Return a row; an identifier is bytes on SQLite, and text on PostgreSQL."""

    def value_of(column: str, value: object) -> object:
        if not is_identifier(column):
            return value
        if isinstance(value, bytes):
            return UUID(bytes=value)
        return UUID(value) if isinstance(value, str) else value

    return {each: value_of(each, value) for each, value in zip(columns, values, strict=True)}


async def rows_of(database: Database, tables: str) -> Rows:
    found = {}
    for table in await database.fetch(tables):
        rows = await database.fetch(f"SELECT * FROM {table['name']}")
        found[str(table["name"])] = sorted(rows, key=repr)
    return found


class SqliteDatabase:
    engine: Engine = "sqlite"

    def __init__(self, connection: sqlite3.Connection) -> None:
        self.connection = connection

    async def execute(self, sql: str) -> None:
        self.connection.execute(sql)
        self.connection.commit()

    async def fetch(self, sql: str) -> list[Row]:
        cursor = self.connection.execute(sql)
        return [row_of([each[0] for each in cursor.description], row) for row in cursor]

    async def migrate(self, known: Sequence[Migration]) -> None:
        migrate(self.connection, known)

    async def catalogue(self) -> list[object]:
        """Return the DDL of everything, without comments, and the statistics of the planner."""
        found = await self.fetch("SELECT name, sql FROM sqlite_schema ORDER BY name")
        statistics = await self.fetch("SELECT * FROM sqlite_stat1 ORDER BY tbl, idx")
        return [*((row["name"], plain(str(row["sql"]))) for row in found), *statistics]

    async def rows(self) -> Rows:
        """Include the tables of the full text index, and the keys that were given."""
        return await rows_of(
            self,
            "SELECT name FROM pragma_table_list WHERE schema = 'main' AND type <> 'virtual'"
            " AND name NOT IN ('sqlite_schema', 'sqlite_stat1', 'migrations')",
        )

    async def empty(self) -> None:
        self.connection.close()
        self.connection = connect(None)


def plain(sql: str) -> str:
    """Return DDL without comments and needless quotes and spaces, which ALTER TABLE differs in."""
    words = re.sub(r"--[^\n]*|\"", " ", sql).split()
    return re.sub(r" ?([(),]) ?", r"\1", " ".join(words))


class PostgresDatabase:
    engine: Engine = "postgres"

    def __init__(self, bridge: Bridge, connection: PooledConnection) -> None:
        self.bridge, self.connection = bridge, connection

    async def execute(self, sql: str) -> None:
        async def execute() -> None:
            await self.connection.execute(sql)

        await self.bridge.run(execute())

    async def fetch(self, sql: str) -> list[Row]:
        async def fetch() -> list[Row]:
            rows = await self.connection.fetch(sql)
            return [row_of([*row.keys()], [*row.values()]) for row in rows]

        return await self.bridge.run(fetch())

    async def migrate(self, known: Sequence[Migration]) -> None:
        await self.bridge.run(migrate_postgres(self.connection, known))

    async def catalogue(self) -> list[object]:
        return [await self.fetch(sql) for sql in CATALOGUE]

    async def rows(self) -> Rows:
        """Include the keys that the sequences have given."""
        found = await rows_of(
            self,
            "SELECT tablename AS name FROM pg_tables WHERE schemaname = current_schema()"
            " AND tablename <> 'migrations'",
        )
        given = await self.fetch(
            "SELECT sequencename AS name, last_value FROM pg_sequences"
            " WHERE schemaname = current_schema()"
        )
        return found | {"sequences": [{str(each["name"]): each["last_value"] for each in given}]}

    async def empty(self) -> None:
        await self.execute("DROP SCHEMA public CASCADE; CREATE SCHEMA public")


_OURS = "relnamespace = current_schema()::regnamespace"
CATALOGUE = (
    f"SELECT relname, relkind::text, reloptions::text FROM pg_class WHERE {_OURS} ORDER BY 1",
    # The order of columns has no meaning: no statement relies on it.
    f"""
    SELECT relname, attname, format_type(atttypid, atttypmod) AS type, attnotnull,
        attidentity::text, attstorage::text, attcollation::regcollation::text AS sorts,
        pg_get_expr(adbin, adrelid) AS given
    FROM pg_attribute JOIN pg_class ON pg_class.oid = attrelid
    LEFT JOIN pg_attrdef ON adrelid = attrelid AND adnum = attnum
    WHERE {_OURS} AND relkind = 'r' AND attnum > 0 AND NOT attisdropped ORDER BY 1, 2
    """,
    # From version 18 on, the server also names what is not null, by the first name of a column.
    f"""
    SELECT relname, conname, pg_get_constraintdef(pg_constraint.oid) AS text
    FROM pg_constraint JOIN pg_class ON pg_class.oid = conrelid
    WHERE {_OURS} AND contype <> 'n' ORDER BY 1, 2
    """,
    "SELECT indexname, indexdef FROM pg_indexes WHERE schemaname = current_schema() ORDER BY 1",
    """
    SELECT sequencename, data_type::text, start_value, increment_by, cycle FROM pg_sequences
    WHERE schemaname = current_schema() ORDER BY 1
    """,
    "SELECT tgname FROM pg_trigger WHERE NOT tgisinternal ORDER BY 1",
    "SELECT proname FROM pg_proc WHERE pronamespace = current_schema()::regnamespace ORDER BY 1",
)


@pytest.fixture(params=["sqlite", "postgres"])
def postgres(request: pytest.FixtureRequest) -> str | None:
    """The URL of a new PostgreSQL database; None for one of SQLite."""
    if request.param == "sqlite":
        return None
    url: str = request.getfixturevalue("new_postgres_url")
    return url


@pytest.fixture(name="database")
async def _database(postgres: str | None, tmp_path: Path) -> AsyncIterator[Database]:
    if postgres is None:
        sqlite = SqliteDatabase(connect(tmp_path / "database"))
        yield sqlite
        sqlite.connection.close()
        return
    async with open_bridge() as bridge:
        connected = await bridge.run(connect_postgres(postgres))
        yield PostgresDatabase(bridge, connected)
        connected.terminate()


GENERATED = (("workspaces", "number"), ("oauth_programs", "number"))
"""The keys that the engine gives."""
FULL_TEXT: Mapping[Engine, str] = {
    "sqlite": "INSERT INTO search (rowid, body, name) VALUES (1, 'body text', 'name')",
    "postgres": f"INSERT INTO search VALUES ('{NIL}', 7, 0, 'body:1 text:2'::tsvector)",
}


def filling(engine: Engine, version: int) -> Iterator[str]:
    """Fill every table with a row that has everything, and one that has only what it must."""
    for table, columns in tables_of(earlier("sqlite", version)).items():
        for row in (1, 2):
            values = {
                each.name: literal(engine, each.name, each.kind, row + own_value_of(each))
                for each in columns
                if (table, each.name) not in GENERATED
                and (row == 1 or each.required or each.is_key)
            }
            names, literals = ", ".join(values), ", ".join(values.values())
            yield f"INSERT INTO {table} ({names}) VALUES ({literals})"
    yield FULL_TEXT[engine]


def own_value_of(column: Column) -> int:
    """Return a value by which a column differs from others; keys are equal."""
    is_key = column.name in ("id", "number") or column.foreign_key
    return 0 if is_key else value_of(column.name)


def value_of(column: str) -> int:
    """Return a value by which a column differs from others."""
    return crc32(column.encode()) % 9999


def literal(engine: Engine, column: str, kind: str, value: int) -> str:
    if kind == "INTEGER":
        return str(value)
    if kind == "TEXT":
        return f"'{column} {value}'"
    if is_identifier(column):
        identifier = UUID(int=value)
        return f"x'{identifier.hex}'" if engine == "sqlite" else f"'{identifier}'"
    return f"x'{value:08x}'" if engine == "sqlite" else f"'\\x{value:08x}'::bytea"


def added(table: str, row: Row) -> Row:
    """Return the columns that version 8 or 9 lacks, as they are in a row of `filling`."""
    if table == "receipts":
        number = int(str(row["position"])) - value_of("position")
        return {"mark_id": UUID(int=number + value_of("revision_id"))}
    if table == "workspaces":
        return {"mark_id": NIL}
    return {"ended_at": None} if table == "oauth_programs" else {}


def renamed(rows: Rows) -> Rows:
    """Return rows of an earlier version as they have to be now."""
    expected: Rows = {"removed_marks": []}
    for table, found in rows.items():
        names = RENAMED.get(table, {})
        expected[table] = [
            {**added(table, row), **{names.get(name, name): row[name] for name in row}}
            for row in found
        ]
    return expected


def unordered(rows: Rows) -> Mapping[str, list[list[tuple[str, object]]]]:
    return {
        table: sorted((sorted(row.items()) for row in found), key=repr)
        for table, found in rows.items()
    }


@pytest.mark.parametrize("version", VERSIONS)
async def test_rows_of_an_earlier_version_stay_as_they_are(
    version: int, database: Database
) -> None:
    await database.migrate(earlier(database.engine, version))
    for sql in filling(database.engine, version):
        await database.execute(sql)
    before = await database.rows()
    assert all(before.values())
    await database.migrate(shipped(database.engine))
    assert unordered(await database.rows()) == unordered(renamed(before))


@pytest.mark.parametrize("version", VERSIONS)
async def test_schema_of_an_earlier_version_becomes_that_of_a_new_database(
    version: int, database: Database
) -> None:
    await database.migrate(shipped(database.engine))
    new = await database.catalogue()
    await database.empty()
    await database.migrate(earlier(database.engine, version))
    assert await database.catalogue() != new
    await database.migrate(shipped(database.engine))
    assert await database.catalogue() == new


async def test_failure_at_any_statement_leaves_the_earlier_version(database: Database) -> None:
    # The later versions are taken over by the last of the statements.
    await database.migrate(earlier(database.engine, 8))
    for sql in filling(database.engine, 8):
        await database.execute(sql)
    before = await database.catalogue(), await database.rows()
    baseline, *_ = shipped(database.engine)
    steps = [*statements(baseline.takes_over[8])]
    for count in range(1, len(steps)):
        broken = ";".join([*steps[:count], "SELECT nowhere;"])
        with pytest.raises((StatementInvalid, *FAILURES), match="nowhere"):
            await database.migrate([replace(baseline, takes_over={8: broken})])
    assert (await database.catalogue(), await database.rows()) == before
    await database.migrate([baseline])
    assert unordered(await database.rows()) == unordered(renamed(before[1]))


async def test_database_that_was_taken_over_lacks_nothing(database: Database) -> None:
    for known in earlier(database.engine, 10), shipped(database.engine):
        await database.migrate(known)
    applied = await applied_to(database)
    assert pending(shipped(database.engine), applied) == []
    with pytest.raises(StoreUnusable, match=r"has version 11 .* knows 10: .* or a newer one"):
        pending(earlier(database.engine, 10), applied)


async def test_database_that_is_too_old_is_refused_with_what_upgrades_it(
    database: Database,
) -> None:
    await database.migrate(earlier(database.engine, 7))
    before = await database.catalogue()
    with pytest.raises(StoreUnusable, match=r"version 7 .* from commit fdf0972ab258 .* version 10"):
        await database.migrate(shipped(database.engine))
    assert await database.catalogue() == before


async def applied_to(database: Database) -> dict[int, str]:
    rows = await database.fetch("SELECT version, digest FROM migrations")
    return {int(str(row["version"])): str(row["digest"]) for row in rows}


@pytest.mark.parametrize("engine", ["sqlite", "postgres"])
@pytest.mark.parametrize("version", VERSIONS)
def test_only_the_texts_that_were_released_are_taken_over(version: int, engine: Engine) -> None:
    applied = {each.version: each.digest for each in earlier(engine, version)}
    assert pending(shipped(engine), applied)
    for changed in range(8, version + 1):
        with pytest.raises(StoreUnusable, match=f"migration {changed} differs"):
            pending(shipped(engine), applied | {changed: "other"})
    del applied[8]
    if applied.get(9):
        with pytest.raises(StoreUnusable, match="migration 8 is missing"):
            pending(shipped(engine), applied)


def test_first_text_of_version_8_is_taken_over() -> None:
    *_, fence = earlier("sqlite", 8)
    first = replace(fence, sql=fence.sql.replace("read or store", "read or write"))
    assert first.digest != fence.digest
    assert pending(shipped(), {8: first.digest})


# Workspace, file, position and revision; the last one of a file is its head. Of the third
# workspace, a revision was pruned.
REVISIONS = (
    (1, 1, 1, 0x11),
    (1, 2, 1, 0x12),
    (1, 1, 2, 0x13),
    (1, 1, 3, 0x15),
    (1, 3, 3, 0x14),
    (3, 1, 1, 0x31),
    (3, 1, 3, 0x33),
)
REACHED = ((1, 3), (2, 0), (3, 3))
"""Workspaces and their positions."""
RECEIPTS = ((1, 1), (1, 2), (1, 3), (2, 0), (3, 1), (3, 2), (3, 3))


def histories_of_version_8(engine: Engine) -> Iterator[str]:
    """Return the statements that store them."""

    def identifier(number: int) -> str:
        return literal(engine, "id", "BLOB", number)

    for workspace, position in REACHED:
        yield (
            "INSERT INTO workspaces (id, name, position, created_at)"
            f" VALUES ({identifier(workspace)}, '', {position}, 0)"
        )
    empty = "x''" if engine == "sqlite" else "''"
    for workspace, position in RECEIPTS:
        yield (
            "INSERT INTO receipts"
            " (workspace, mutation_id, fingerprint, position, changes, created_at) VALUES"
            f" ({workspace}, {identifier(position)}, {empty}, {position}, {empty}, 0)"
        )
    heads = {(workspace, file): revision for workspace, file, _, revision in REVISIONS}
    for workspace, file, position, revision in REVISIONS:
        into, first = "revisions (file", ""
        if heads[workspace, file] == revision:
            into, first = "files (file_id, kind, number", f"{identifier(file)}, 'note', "
        yield (
            f"INSERT INTO {into}, workspace, state, path, revision_id, position, digest, size,"
            " author_id, mutation_id, changed_at, origin) VALUES"
            f" ({first}{file}, {workspace}, 'live', '{file}.md', {identifier(revision)},"
            f" {position}, {empty}, 1, {identifier(1)}, {identifier(1)}, 0, 'key')"
        )


async def test_histories_of_version_8_get_marks(database: Database) -> None:
    await database.migrate(earlier(database.engine, 8))
    for sql in histories_of_version_8(database.engine):
        await database.execute(sql)
    await database.migrate(shipped(database.engine))
    of_workspaces, of_receipts = [
        [(*row.values(),) for row in await database.fetch(sql)]
        for sql in (
            "SELECT pk, position, mark_id FROM workspaces ORDER BY 1",
            "SELECT workspace, position, mark_id FROM receipts ORDER BY 1, 2",
        )
    ]
    assert [each[:2] for each in of_workspaces] == [*REACHED]
    assert [each[:2] for each in of_receipts] == [*RECEIPTS]
    for workspace, position, mark in of_workspaces + of_receipts:
        # Of a revision of its position, or nil without one.
        made = {
            UUID(int=each[3]) for each in REVISIONS if (each[0], each[2]) == (workspace, position)
        }
        assert mark in (made or {NIL})


STATEMENTS_OF_EARLIER_VERSIONS = {
    "8": """
        UPDATE workspaces SET position = 1, last_file = 1, size = 1
        WHERE position = 0 RETURNING number, last_file, documents_read
    """,
    "10": """
        UPDATE workspaces SET position = 1, mark_id = id, last_file = 1, size = 1
        WHERE position = 0 RETURNING number, last_file, documents_were_read
    """,
    "documents": """
        INSERT INTO documents (workspace, file, epoch_id, content_id, base_state, vector)
        SELECT 1, 1, id, id, digest, digest FROM sessions
    """,
}


@pytest.mark.parametrize(
    "statement", STATEMENTS_OF_EARLIER_VERSIONS.values(), ids=STATEMENTS_OF_EARLIER_VERSIONS
)
async def test_process_of_an_earlier_version_can_not_save(
    statement: str, database: Database
) -> None:
    await database.migrate(shipped(database.engine))
    with pytest.raises((sqlite3.OperationalError, *FAILURES), match=r"number|content_id"):
        await database.execute(statement)
