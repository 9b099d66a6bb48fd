"""The fixtures that tests of several rooms and features use."""

from collections.abc import AsyncIterator, Iterator

import pytest

from tests.e2e.databases import new_database
from tests.fakes.emptied_database import EmptiedDatabase, emptied_database
from tests.fakes.identity_fixture import IdentityFixture, identity_fixture
from tests.fakes.notes_api import Client, NotesApi, opened
from tests.fakes.page_reader import Installation, PageReader, installation
from tests.fakes.postgres_server import server_url
from tests.fakes.users_api import UsersApi


@pytest.fixture
def identity() -> Iterator[IdentityFixture]:
    with identity_fixture() as made:
        yield made


@pytest.fixture
def users() -> Iterator[UsersApi]:
    """The operations on accounts."""
    with identity_fixture() as made:
        yield UsersApi(made)


@pytest.fixture
async def api() -> AsyncIterator[NotesApi]:
    """The operations on notes."""
    async with opened() as made:
        yield made


@pytest.fixture
def reader(api: NotesApi) -> Client:
    return api.client("reader")


@pytest.fixture
def house() -> Iterator[Installation]:
    """An installation whose pages are read."""
    with installation() as made:
        yield made


@pytest.fixture
async def ann(house: Installation) -> PageReader:
    """The first administrator of the installation."""
    return await house.person(role="administrator")


@pytest.fixture
async def bob(house: Installation) -> PageReader:
    """A member."""
    return await house.person("bob@example.org")


@pytest.fixture(scope="session")
def postgres_server() -> Iterator[str]:
    with server_url() as url:
        yield url


@pytest.fixture
def new_postgres_url(postgres_server: str) -> Iterator[str]:
    """The URL of a database without a schema, which is dropped afterwards."""
    with new_database(postgres_server) as url:
        yield url


@pytest.fixture(scope="session")
def emptied_postgres(postgres_server: str) -> Iterator[EmptiedDatabase]:
    """The database of `postgres_url`."""
    with emptied_database(postgres_server) as database:
        yield database


@pytest.fixture
def postgres_url(emptied_postgres: EmptiedDatabase) -> Iterator[str]:
    """The URL of a database with the schema, whose rows are deleted afterwards."""
    yield emptied_postgres.url
    emptied_postgres.empty()


@pytest.fixture(params=["sqlite", "postgres"])
def either_url(request: pytest.FixtureRequest) -> str | None:
    """The URL of a PostgreSQL database as in `postgres_url`; None for one of SQLite."""
    if request.param == "sqlite":
        return None
    url: str = request.getfixturevalue("postgres_url")
    return url
