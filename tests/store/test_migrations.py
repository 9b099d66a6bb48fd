"""Which migrations a database needs, and when it is refused."""

import sqlite3
import subprocess
import sys
import zipfile
from collections.abc import Callable, Iterator
from pathlib import Path
from uuid import UUID

import pytest

from octavo.store import StatementInvalid, StoreUnusable
from octavo.store.migrations import Engine, Migration, pending, shipped
from octavo.store.postgres.bridge import open_bridge
from octavo.store.postgres.connection import connect as connect_postgres
from octavo.store.postgres.migrating import collated
from octavo.store.postgres.migrating import migrate as migrate_postgres
from octavo.store.sqlite.connection import connect
from octavo.store.sqlite.migrating import applied_version, migrate, statements
from tests.project.source import ROOT

KNOWN = (
    Migration(1, "first", "CREATE TABLE a (b TEXT);"),
    Migration(2, "second", "CREATE TABLE c (d TEXT); INSERT INTO c VALUES ('; e');"),
)


ENGINES: tuple[Engine, ...] = ("sqlite", "postgres")


@pytest.mark.parametrize("engine", ENGINES)
def test_shipped_migrations_are_numbered_from_one_without_gaps(engine: Engine) -> None:
    versions = [migration.version for migration in shipped(engine)]
    assert versions == list(range(1, len(versions) + 1))


def test_engines_have_the_same_steps() -> None:
    one, other = ([(each.version, each.name) for each in shipped(engine)] for engine in ENGINES)
    assert one == other


def test_step_in_two_dialects_differs_on_each_engine(tmp_path: Path) -> None:
    (tmp_path / "0001_both.sql").write_text("SELECT 1;")
    (tmp_path / "0002_apart.sqlite.sql").write_text("SELECT 2;")
    (tmp_path / "0002_apart.postgres.sql").write_text("SELECT 3;")
    one, other = ([each.digest for each in shipped(engine, tmp_path)] for engine in ENGINES)
    assert one[0] == other[0]
    assert len(one) == len(other) == 2
    assert one[1] != other[1]


@pytest.mark.parametrize("count", [0, 1, 2])
def test_pending_migrations_are_those_after_the_newest_in_order(count: int) -> None:
    applied = {migration.version: migration.digest for migration in KNOWN[:count]}
    assert pending(KNOWN, applied) == KNOWN[count:]


@pytest.mark.parametrize(
    ("applied", "complaint"),
    [
        ({1: KNOWN[0].digest, 2: KNOWN[1].digest, 3: "other"}, "newer one"),
        ({1: "other"}, r"migration 1 \(first\) differs"),
        ({2: KNOWN[1].digest}, r"migration 1 \(first\) is missing"),
    ],
    ids=["newer", "changed", "missing"],
)
def test_incompatible_database_is_refused(applied: dict[int, str], complaint: str) -> None:
    with pytest.raises(StoreUnusable, match=complaint):
        pending(KNOWN, applied)


@pytest.mark.parametrize(
    ("text", "parts"),
    [
        ("A; B;\n", ["A", " B"]),
        ("A; B", ["A", " B"]),
        ("INSERT 'a;b'; -- c; d\nE;", ["INSERT 'a;b'", " -- c; d\nE"]),
        (
            "CREATE TRIGGER t AFTER DELETE ON a BEGIN SELECT 1; SELECT 2; END; C;",
            ["CREATE TRIGGER t AFTER DELETE ON a BEGIN SELECT 1; SELECT 2; END", " C"],
        ),
    ],
)
def test_statements_end_at_their_own_semicolons(text: str, parts: list[str]) -> None:
    assert list(statements(text)) == parts


def test_columns_of_text_sort_by_bytes_on_postgresql() -> None:
    assert collated("CREATE TABLE t (text TEXT NOT NULL, a TEXT DEFAULT 'TEXT'); -- TEXT") == (
        'CREATE TABLE t (text TEXT COLLATE "C" NOT NULL,'
        " a TEXT COLLATE \"C\" DEFAULT 'TEXT'); -- TEXT"
    )


def test_sqlite_is_migrated_to_the_newest_step_by_step(tmp_path: Path) -> None:
    connection = connect(tmp_path / "database")
    assert migrate(connection, KNOWN[:1]) == 1
    assert migrate(connection, KNOWN) == 2
    assert migrate(connection, KNOWN) == 2
    assert applied_version(connection) == 2
    assert connection.execute("SELECT d FROM c").fetchall() == [("; e",)]
    connection.close()


def test_documents_of_earlier_versions_have_the_texts_of_their_notes(tmp_path: Path) -> None:
    connection = connect(tmp_path / "database")
    migrate(connection, shipped()[:4])
    connection.execute(
        "INSERT INTO workspaces (number, id, name, position, created_at)"
        " VALUES (1, x'01', '', 9, 0)"
    )
    for number, content in ((1, None), (2, b"first")):
        connection.execute(
            "INSERT INTO files (workspace, file_id, state, kind, path, revision_id, position,"
            " content_id, digest, size, author_id, mutation_id, changed_at, origin, content,"
            " number) VALUES (1, ?2, 'live', 'note', ?1 || '.md', ?2, ?1, ?3, x'', 1, x'', x'',"
            " 0, 'key', ?1, ?1)",
            (number, f"head {number}".encode(), content),
        )
        connection.execute("INSERT INTO documents VALUES (1, ?, x'', x'00', x'00')", (number,))
    connection.commit()
    migrate(connection, shipped())
    found = connection.execute("SELECT file, content_id FROM documents ORDER BY file").fetchall()
    assert found == [(1, b"head 1"), (2, b"first")]
    # A device may have read any of them.
    assert connection.execute("SELECT documents_were_read FROM workspaces").fetchall() == [(1,)]
    connection.close()


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
MARKS = "SELECT number, position, mark_id FROM workspaces ORDER BY 1"
MARKS_OF_RECEIPTS = "SELECT workspace, position, mark_id FROM receipts ORDER BY 1, 2"


def histories_of_version_8(identifier: Callable[[int], str], empty: str) -> Iterator[str]:
    """The statements that store them; ``empty`` is the literal of no bytes."""
    for workspace, position in REACHED:
        yield (
            "INSERT INTO workspaces (id, name, position, created_at)"
            f" VALUES ({identifier(workspace)}, '', {position}, 0)"
        )
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


Marks = list[tuple[int, int, UUID]]


def check_marks(of_workspaces: Marks, of_receipts: Marks) -> None:
    """Each is of a revision of its position, or nil without one."""
    assert [each[:2] for each in of_workspaces] == [*REACHED]
    assert [each[:2] for each in of_receipts] == [*RECEIPTS]
    for workspace, position, mark in of_workspaces + of_receipts:
        made = {each[3] for each in REVISIONS if (each[0], each[2]) == (workspace, position)}
        assert mark.int in (made or {0})


def test_histories_of_earlier_versions_have_marks_on_sqlite(tmp_path: Path) -> None:
    def read(sql: str) -> Marks:
        return [(*row[:2], UUID(bytes=row[2])) for row in connection.execute(sql)]

    connection = connect(tmp_path / "database")
    migrate(connection, shipped()[:8])
    for sql in histories_of_version_8(lambda number: f"x'{UUID(int=number).hex}'", "x''"):
        connection.execute(sql)
    connection.commit()
    migrate(connection, shipped())
    check_marks(read(MARKS), read(MARKS_OF_RECEIPTS))
    connection.close()


async def test_histories_of_earlier_versions_have_marks_on_postgresql(postgres_url: str) -> None:
    async def migrated() -> list[Marks]:
        connection = await connect_postgres(postgres_url)
        try:
            await migrate_postgres(connection, shipped("postgres")[:8])
            for sql in histories_of_version_8(lambda number: f"'{UUID(int=number)}'", "''"):
                await connection.execute(sql)
            await migrate_postgres(connection, shipped("postgres"))
            found = [await connection.fetch(sql) for sql in (MARKS, MARKS_OF_RECEIPTS)]
            return [[(row[0], row[1], UUID(row[2])) for row in rows] for rows in found]
        finally:
            await connection.close()

    async with open_bridge() as bridge:
        check_marks(*await bridge.run(migrated()))


def test_process_that_knows_no_marks_can_not_move_a_position(tmp_path: Path) -> None:
    connection = connect(tmp_path / "database")
    migrate(connection, shipped())
    with pytest.raises(sqlite3.OperationalError, match="no such column: documents_read"):
        connection.execute(
            "UPDATE workspaces SET position = 1, last_file = 1, size = 1"
            " WHERE id = x'' AND position = 0 RETURNING number, last_file, documents_read"
        )
    connection.close()


def test_upgrade_of_a_database_is_logged_and_its_creation_is_not(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level("INFO")
    connection = connect(tmp_path / "database")
    migrate(connection, KNOWN[:1])
    assert caplog.messages == []
    migrate(connection, KNOWN)
    migrate(connection, KNOWN)
    assert caplog.messages == ["the schema of the database has been migrated from version 1 to 2"]
    connection.close()


def test_process_that_knows_no_updates_beside_documents_can_not_store_documents(
    tmp_path: Path,
) -> None:
    connection = connect(tmp_path / "database")
    migrate(connection, shipped())
    with pytest.raises(sqlite3.OperationalError, match="no column named state"):
        connection.execute(
            "INSERT INTO documents (workspace, file, epoch_id, content_id, state, vector)"
            " VALUES (1, 1, x'', x'', x'00', x'00')"
        )
    connection.close()


def test_sqlite_keeps_nothing_of_a_failed_migration(tmp_path: Path) -> None:
    broken = (KNOWN[0], Migration(2, "broken", "CREATE TABLE c (d TEXT); SELECT nowhere;"))
    connection = connect(tmp_path / "database")
    with pytest.raises(StatementInvalid, match="no such column"):
        migrate(connection, broken)
    assert applied_version(connection) == 1
    tables = connection.execute("SELECT name FROM sqlite_master WHERE name = 'c'")
    assert tables.fetchall() == []
    connection.close()


def test_wheel_holds_the_migrations(tmp_path: Path) -> None:
    build = "from flit_core.buildapi import build_wheel; import sys; build_wheel(sys.argv[1])"
    found = subprocess.run(
        [sys.executable, "-c", build, str(tmp_path)], cwd=ROOT, capture_output=True, check=False
    )
    assert found.returncode == 0, found.stderr.decode()
    with zipfile.ZipFile(next(tmp_path.glob("*.whl"))) as wheel:
        names = set(wheel.namelist())
    for engine in ENGINES:
        for migration in shipped(engine):
            name = f"octavo/store/migrations/{migration.version:04}_{migration.name}"
            assert {f"{name}.sql", f"{name}.{engine}.sql"} & names
