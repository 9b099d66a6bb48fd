"""Which PostgreSQL servers and databases are refused when opened, and the messages."""

import asyncio

import asyncpg  # type: ignore[import-untyped]
import pytest

from octavo.store import StoreError, StoreUnavailable, StoreUnusable
from octavo.store.postgres.connection import POOLER
from octavo.store.postgres.requirements import OLDEST, opening_failure, require_usable

URL = "postgresql://ann:secret@db.example:5433/notes"


@pytest.mark.parametrize(("number", "version"), [(90_624, "9.6.24"), (110_022, "11.22")])
def test_outdated_server_is_refused(number: int, version: str) -> None:
    with pytest.raises(StoreUnusable) as caught:
        require_usable(number, version, "UTF8", "notes")
    assert str(caught.value) == (
        f"PostgreSQL {version} is too old: Octavo needs 12 or newer; upgrade the server"
    )


@pytest.mark.parametrize("number", [OLDEST * 10_000, 150_004, 180_000])
def test_recent_server_is_accepted(number: int) -> None:
    require_usable(number, "any", "UTF8", "notes")


@pytest.mark.parametrize("encoding", ["LATIN1", "SQL_ASCII"])
def test_database_without_unicode_is_refused(encoding: str) -> None:
    with pytest.raises(StoreUnusable) as caught:
        require_usable(180_000, "18.0", encoding, "notes")
    assert str(caught.value) == (
        f'the database "notes" has the encoding {encoding}, and Octavo needs UTF8: create another,'
        " with createdb --encoding=UTF8 --template=template0, and name that"
    )


@pytest.mark.parametrize(
    ("error", "kind", "text"),
    [
        (
            asyncpg.InvalidPasswordError("password authentication failed"),
            StoreUnusable,
            (
                'the database server refuses the user "ann" (password authentication failed):'
                " correct user and password in the setting database"
            ),
        ),
        (asyncpg.InvalidSQLStatementNameError("no"), StoreUnusable, POOLER),
        (asyncpg.DuplicatePreparedStatementError("no"), StoreUnusable, POOLER),
        (
            asyncpg.InvalidCatalogNameError("no"),
            StoreUnusable,
            (
                'the database server has no database "notes": create it with'
                " createdb --encoding=UTF8, or correct its name in the setting database"
            ),
        ),
        (
            asyncpg.InsufficientPrivilegeError("permission denied for schema public"),
            StoreUnusable,
            (
                'the user "ann" may not create tables in the database "notes" (permission denied'
                " for schema public): let its owner run GRANT CREATE, USAGE ON SCHEMA public TO the"
                " user, or name another user"
            ),
        ),
        (
            ConnectionRefusedError(111, "Connect call failed"),
            StoreUnavailable,
            (
                "the database server at db.example:5433 can't be reached (connection refused):"
                " start it, or correct host and port in the setting database"
            ),
        ),
        (
            TimeoutError(),
            StoreUnavailable,
            (
                "the database server at db.example:5433 can't be reached (it did not respond in"
                " time): start it, or correct host and port in the setting database"
            ),
        ),
        (
            asyncio.IncompleteReadError(b"", 1),
            StoreUnavailable,
            (
                "the database server at db.example:5433 can't be reached (0 bytes read on a total"
                " of 1 expected bytes): start it, or correct host and port in the setting database"
            ),
        ),
        (
            asyncpg.exceptions.ClientConfigurationError("no such option"),
            StoreUnusable,
            "the address of the database can't be used: no such option",
        ),
        (
            asyncpg.CannotConnectNowError("the database system is starting up"),
            StoreUnavailable,
            "the database failed: the database system is starting up",
        ),
    ],
)
def test_failure_to_open_has_a_reason_and_a_remedy(
    error: Exception, kind: type[StoreError], text: str
) -> None:
    found = opening_failure(error, URL)
    assert (type(found), str(found), found.__cause__) == (kind, text, error)
    assert "secret" not in text


def test_address_without_names_is_shown_without_them() -> None:
    found = opening_failure(FileNotFoundError(2, "No such file"), "postgresql:///?host=/nowhere")
    assert str(found).startswith("the database server at its socket can't be reached (there is no")
