"""Databases in memory that are used again."""

import sqlite3
from pathlib import Path

import pytest

from octavo.store.migrations import shipped
from octavo.store.sqlite.connection import connect
from octavo.store.sqlite.inline import MemoryDatabases
from octavo.store.sqlite.migrating import applied_version

CHANGES = (
    "INSERT INTO workspaces (id, name, position, created_at) VALUES (X'61', 'notes', 1, 0)",
    """INSERT INTO accounts (id, address, display_name, password, role, state, created_at,
    updated_at) VALUES (X'62', 'ann@example.org', 'Ann', '', 'member', 'enabled', 0, 0)""",
    "INSERT INTO workspaces (id, name, position, created_at) VALUES (X'63', 'more', 1, 0)",
    "INSERT INTO search (rowid, body, name) VALUES (1, 'some words', 'name')",
    "UPDATE search_numbers SET last = 7",
    "DELETE FROM fulltext_erasure",
)


def content(connection: sqlite3.Connection) -> dict[str, list[tuple[object, ...]]]:
    """Return the rows of all tables, with those in which SQLite keeps the index of words."""
    names = connection.execute("SELECT name FROM sqlite_schema WHERE type = 'table' ORDER BY name")
    return {
        name: connection.execute(f"SELECT * FROM {name}").fetchall()
        for (name,) in names.fetchall()
        if name != "search"  # It can't be scanned.
    }


def test_database_that_was_used_is_empty_again() -> None:
    databases = MemoryDatabases()
    first = databases.open()
    before = content(first)
    for sql in CHANGES:
        first.execute(sql)
    assert {name for name, rows in content(first).items() if rows != before[name]} >= {
        *("workspaces", "accounts", "sqlite_sequence"),
        *("search_data", "search_numbers", "fulltext_erasure"),
    }
    databases.put_back(first)
    again = databases.open()
    assert again is first
    assert content(again) == before
    assert again.execute("PRAGMA foreign_key_check").fetchall() == []
    assert again.execute("SELECT rowid FROM search WHERE search MATCH 'words'").fetchall() == []


def test_database_with_an_open_transaction_is_empty_again() -> None:
    databases = MemoryDatabases()
    first = databases.open()
    before = content(first)
    first.execute("BEGIN IMMEDIATE")
    first.execute(CHANGES[0])
    databases.put_back(first)
    assert content(databases.open()) == before


def test_databases_in_use_at_once_are_separate() -> None:
    databases = MemoryDatabases()
    first, second = databases.open(), databases.open()
    first.execute(CHANGES[0])
    assert second.execute("SELECT COUNT(*) FROM workspaces").fetchone() == (0,)


def test_closed_connection_raises() -> None:
    with pytest.raises(sqlite3.ProgrammingError, match="closed"):
        MemoryDatabases().closed.execute("SELECT 1")


def test_database_in_a_file_is_migrated_by_a_copy(tmp_path: Path) -> None:
    databases = MemoryDatabases()
    connection = connect(tmp_path / "database")
    databases.copy_to(connection)
    assert content(connection) == content(databases.open())
    assert applied_version(connection) == shipped()[-1].version
    assert connection.execute("PRAGMA journal_mode").fetchone() == ("wal",)
    connection.close()
