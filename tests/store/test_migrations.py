"""Which migrations a database needs, and when it is refused."""

import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

from octavo.store import StatementInvalid, StoreUnusable, migrations
from octavo.store.migrations import Engine, Migration, pending, rendered, shipped
from octavo.store.sqlite.connection import connect
from octavo.store.sqlite.migrating import applied_version, migrate, statements
from tests.project.source import ROOT

KNOWN = (
    Migration(1, "first", "CREATE TABLE a (b TEXT);"),
    Migration(2, "second", "CREATE TABLE c (d TEXT); INSERT INTO c VALUES ('; e');"),
)


ENGINES: tuple[Engine, ...] = ("sqlite", "postgres")


@pytest.mark.parametrize("engine", ENGINES)
def test_shipped_migrations_are_numbered_from_the_baseline_without_gaps(engine: Engine) -> None:
    versions = [migration.version for migration in shipped(engine)]
    assert versions == list(range(11, 11 + len(versions)))


def test_engines_have_the_same_steps() -> None:
    one, other = ([(each.version, each.name) for each in shipped(engine)] for engine in ENGINES)
    assert one == other


def test_types_and_phrases_are_those_of_the_engine() -> None:
    sql = "CREATE TABLE t (a {text} DEFAULT 'text', b {int}, c {bytes}, d {uuid}){strict};"
    assert rendered(sql, "sqlite") == (
        "CREATE TABLE t (a TEXT DEFAULT 'text', b INTEGER, c BLOB, d BLOB) STRICT;"
    )
    assert rendered(sql, "postgres") == (
        "CREATE TABLE t (a TEXT COLLATE \"C\" DEFAULT 'text', b BIGINT, c BYTEA, d UUID);"
    )


def test_unknown_phrase_is_refused() -> None:
    with pytest.raises(KeyError, match="blob"):
        rendered("CREATE TABLE t (a {blob});", "sqlite")


@pytest.mark.parametrize(("engine", "other"), [("sqlite", "fts5"), ("postgres", "TSVECTOR")])
def test_engine_gets_its_own_part_after_the_common_one(engine: Engine, other: str) -> None:
    text = shipped(engine)[0].sql
    assert text.index("CREATE TABLE oauth_tokens") < text.index(other)
    assert ("fts5" in text) + ("TSVECTOR" in text) == 1


@pytest.mark.parametrize("count", [0, 1, 2])
def test_pending_migrations_are_those_after_the_newest_in_order(count: int) -> None:
    applied = {migration.version: migration.digest for migration in KNOWN[:count]}
    assert tuple(pending(KNOWN, applied)) == KNOWN[count:]


@pytest.mark.parametrize(
    ("applied", "complaint"),
    [
        ({1: KNOWN[0].digest, 2: KNOWN[1].digest, 3: "other"}, "newer one"),
        ({1: "other"}, "migration 1 differs"),
        ({2: KNOWN[1].digest}, "migration 1 is missing"),
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


def test_sqlite_is_migrated_to_the_newest_step_by_step(tmp_path: Path) -> None:
    connection = connect(tmp_path / "database")
    assert migrate(connection, KNOWN[:1]) == 1
    assert migrate(connection, KNOWN) == 2
    assert migrate(connection, KNOWN) == 2
    assert applied_version(connection) == 2
    assert connection.execute("SELECT d FROM c").fetchall() == [("; e",)]
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


@pytest.mark.parametrize("before", [0, 1])
def test_of_two_processes_that_migrate_the_second_finds_nothing_left_to_do(
    tmp_path: Path, before: int
) -> None:
    connection, other = (connect(tmp_path / "database") for _ in range(2))
    if before:
        migrate(connection, KNOWN[:before])

    def come_first(statement: str) -> None:
        if statement.startswith("BEGIN"):
            connection.set_trace_callback(None)
            migrate(other, KNOWN)

    connection.set_trace_callback(come_first)
    assert migrate(connection, KNOWN) == 2
    assert connection.execute("SELECT d FROM c").fetchall() == [("; e",)]
    connection.close()
    other.close()


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
    folder = Path(migrations.__file__).parent
    sources = {f"octavo/store/migrations/{path.name}" for path in folder.glob("*.sql")}
    assert sources
    assert sources <= names
