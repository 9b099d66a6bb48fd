"""The fixtures that tests of several rooms and features use."""

from collections.abc import AsyncIterator, Iterator

import pytest

from tests.fakes.identity_fixture import IdentityFixture, identity_fixture
from tests.fakes.notes_api import Client, NotesApi, opened
from tests.fakes.page_reader import Installation, PageReader, installation
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
