"""Fixtures of the tests over real sockets."""

from collections.abc import Iterator

import pytest

from tests.e2e.databases import new_database
from tests.fakes.postgres_server import server_url


@pytest.fixture(scope="session")
def postgres_server() -> Iterator[str]:
    """The URL of a PostgreSQL server on which to create databases."""
    with server_url() as url:
        yield url


@pytest.fixture
def postgres_database(postgres_server: str) -> Iterator[str]:
    """The URL of an empty database on it, which is dropped afterwards."""
    with new_database(postgres_server) as url:
        yield url
