"""An unusable PostgreSQL database: `octavo serve` ends with one line that gives the reason."""

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.e2e.databases import execute, new_database
from tests.e2e.prepared import start
from tests.e2e.server import PATIENCE
from tests.fakes.postgres_server import PostgresServer, running_server


@pytest.fixture(scope="module")
def server() -> Iterator[PostgresServer]:
    with running_server() as running:
        url = running.url()
        execute(url, "CREATE ROLE reader LOGIN")
        execute(url, "CREATE ROLE guarded LOGIN PASSWORD 'right'")
        # The default of new databases since PostgreSQL 15.
        execute(url, "REVOKE CREATE ON SCHEMA public FROM PUBLIC")
        running.require_password("guarded")
        yield running


def refused(url: str, folder: Path) -> str:
    """The one line that the server ends with."""
    (folder / "octavo.toml").write_text(f'database = "{url}"')
    given = ("--bind", "127.0.0.1:0", "--data-dir", str(folder / "data"))
    with start(*given, folder=folder) as process:
        _, output = process.communicate(timeout=PATIENCE)
    assert process.returncode == 1, output
    [line] = output.splitlines()
    assert "Traceback" not in line
    return line


def test_database_with_another_encoding_is_refused(server: PostgresServer, tmp_path: Path) -> None:
    latin1 = "ENCODING 'LATIN1' LC_COLLATE 'C' LC_CTYPE 'C' TEMPLATE template0"
    with new_database(server.url(), latin1) as url:
        line = refused(url, tmp_path)
    assert re.fullmatch(
        r'octavo: the database "octavo_e2e_\d+_\d+" has the encoding LATIN1, and Octavo needs'
        r" UTF8: create another, .*",
        line,
    )


def test_user_without_the_right_to_create_tables_is_refused(
    server: PostgresServer, tmp_path: Path
) -> None:
    line = refused(server.url().replace("postgres@", "reader@"), tmp_path)
    assert line.startswith(
        'octavo: the user "reader" may not create tables in the database "postgres"'
        " (permission denied for schema public): let its owner run GRANT CREATE"
    )


def test_wrong_password_is_refused(server: PostgresServer, tmp_path: Path) -> None:
    line = refused(server.url().replace("postgres@", "guarded:wrong@"), tmp_path)
    assert line.startswith('octavo: the database server refuses the user "guarded" (password auth')
    assert "wrong" not in line


def test_missing_database_is_refused(server: PostgresServer, tmp_path: Path) -> None:
    line = refused(server.url("nowhere"), tmp_path)
    assert line.startswith('octavo: the database server has no database "nowhere": create it')


@pytest.mark.parametrize(
    ("url", "reason"),
    [
        # Port 9 is the discard service; nothing listens there.
        ("postgresql://ann:secret@127.0.0.1:9/notes", "at 127.0.0.1:9 can't be reached (conn"),
        ("postgresql://ann@octavo.invalid/notes", "at octavo.invalid can't be reached ("),
        (
            "postgresql:///notes?host=/nowhere",
            "at its socket can't be reached (there is no",
        ),
        ("postgresql://ann@127.0.0.1/notes?sslmode=odd", "the database can't be used: "),
    ],
)
def test_unreachable_server_is_refused(url: str, reason: str, tmp_path: Path) -> None:
    line = refused(url, tmp_path)
    assert reason in line
    assert "secret" not in line
