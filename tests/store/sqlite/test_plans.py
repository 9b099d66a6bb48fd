"""The plans of the statements: none reads all rows of a workspace to find a few."""

import importlib
import pkgutil
import re
import sqlite3
from collections.abc import Iterable, Iterator
from contextlib import closing

import pytest

import octavo
from octavo.service.features import retention_steps
from octavo.service.settings import Settings
from octavo.store.migrations import shipped
from octavo.store.sqlite.connection import connect
from octavo.store.sqlite.migrating import migrate
from octavo.store.sqlite.transaction import SqliteTransaction, Statement
from tests.fakes.stores import open_inline

_STATEMENT = re.compile(r"\s*(SELECT|INSERT|UPDATE|DELETE|WITH)\b")
_SCRIPTS = re.compile(r"octavo\.(store\.queries|features\.\w+\.sql)(\.|$)")
_NAMES = 3
"""Names in a list, with which the planner would rather read a workspace that it believes small."""

READ_ALL = {
    # Every head is asked for.
    ("feed", "_ALL_HEADS"),
    # Some rows, whichever they are, to remove them in steps.
    ("fulltext_index", "_SOME_BEGUN"),
    ("fulltext_index", "_SOME_INDEXED"),
    ("link_index", "_SOME_INDEXED"),
    # The contents whose words are still to be removed, which are few.
    ("history_pruning", "_NEEDED"),
    # The newest revision before a moment: read backwards, until it is found.
    ("past_states", "_LAST_UNTIL"),
}
"""The statements that read a workspace from its first row on, or from its last one."""


def statements() -> Iterator[tuple[str, str, str]]:
    """Return module, name and text of the statements that are written out in the scripts."""
    for module in pkgutil.walk_packages(octavo.__path__, "octavo."):
        if not _SCRIPTS.match(module.name):
            continue
        found = importlib.import_module(module.name)
        for name, value in vars(found).items():
            values = value.values() if isinstance(value, dict) else value
            for each in [value] if isinstance(value, str) else _strings(values):
                # Templates are completed where they are used, mostly in other constants.
                if _STATEMENT.match(each) and "{" not in each:
                    yield module.name.rpartition(".")[2], name, each


def _strings(values: object) -> list[str]:
    """Return the texts among several values; nothing of one value."""
    several = values if isinstance(values, Iterable) else ()
    return [each for each in several if isinstance(each, str)]


def plan_of(connection: sqlite3.Connection, sql: str) -> list[str]:
    """Return the steps of the plan of a statement of a script."""
    numbers = [f"${100 + each}" for each in range(_NAMES)]
    filled = sql.replace("$names", ", ".join(numbers))
    filled = filled.replace("$ids", ", ".join(f"{each}::uuid" for each in numbers))
    pairs = [f"({each}::uuid, {each}::uuid)" for each in numbers]
    filled = filled.replace("$pairs", ", ".join(pairs))
    text = Statement(filled).sql
    highest = max(map(int, re.findall(r"\?(\d+)", text)), default=0)
    rows = connection.execute(f"EXPLAIN QUERY PLAN {text}", [None] * highest)
    return [row[3] for row in rows]


@pytest.fixture(name="connection")
def _connection() -> Iterator[sqlite3.Connection]:
    connection = connect(None)
    migrate(connection, shipped())
    yield connection
    connection.close()


def test_statements_read_a_whole_workspace_only_where_they_must(
    connection: sqlite3.Connection,
) -> None:
    found = set()
    count = 0
    for module, name, sql in statements():
        count += 1
        if any("(workspace=?)" in step for step in plan_of(connection, sql)):
            found.add((module, name))
    assert found == READ_ALL
    assert count > 150


async def test_steps_of_retention_find_rows_by_more_than_their_workspace(
    connection: sqlite3.Connection, monkeypatch: pytest.MonkeyPatch
) -> None:
    # Their statements are also built where they are used.
    ran: set[str] = set()

    def recorded(name: str) -> None:
        original = getattr(SqliteTransaction, name)

        async def record(self: SqliteTransaction, sql: str, *arguments: object) -> object:
            ran.add(sql)
            return await original(self, sql, *arguments)

        monkeypatch.setattr(SqliteTransaction, name, record)

    for name in ("fetch_one", "fetch_all", "execute", "execute_many"):
        recorded(name)
    with closing(open_inline()) as store:
        for step in retention_steps(Settings()):
            await step(store, 10**12)
    plans = {sql: plan_of(connection, sql) for sql in ran}
    assert [
        sql for sql, plan in plans.items() if any("(workspace=?)" in step for step in plan)
    ] == []
    assert len(plans) > 20


def test_plans_without_the_statistics_read_a_whole_workspace(
    connection: sqlite3.Connection,
) -> None:
    sql = "SELECT size FROM files WHERE workspace = $1 AND file_id IN ($ids)"
    assert "files_by_id" in plan_of(connection, sql)[0]
    connection.execute("DELETE FROM sqlite_stat1")
    connection.execute("ANALYZE sqlite_schema")
    # Else the check above would prove nothing about them.
    assert plan_of(connection, sql) == ["SEARCH files USING PRIMARY KEY (workspace=?)"]


def test_statistics_name_tables_and_indexes_that_exist(connection: sqlite3.Connection) -> None:
    rows = connection.execute("SELECT tbl, idx, stat FROM sqlite_stat1").fetchall()
    assert rows
    for table, index, stat in rows:
        known = connection.execute(f"SELECT name, origin FROM pragma_index_list('{table}')")
        # The key of a table without rowids has the name of the table.
        names = {
            table if index == table and origin == "pk" else name: name for name, origin in known
        }
        columns = connection.execute(f"SELECT COUNT(*) FROM pragma_index_info('{names[index]}')")
        assert len(stat.split()) == columns.fetchone()[0] + 1
