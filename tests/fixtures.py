"""The fixtures that tests of several rooms and features use."""

import os
from collections.abc import AsyncIterator, Iterator
from itertools import count

import asyncpg  # type: ignore[import-untyped]
import pytest

from octavo.store.postgres.bridge import open_bridge
from tests.fakes.identity_fixture import IdentityFixture, identity_fixture
from tests.fakes.notes_api import Client, NotesApi, opened
from tests.fakes.page_reader import Installation, PageReader, installation
from tests.fakes.postgres_server import database_url, server_url
from tests.fakes.users_api import UsersApi

_numbers = count()


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
async def postgres_url(postgres_server: str) -> AsyncIterator[str]:
    """The URL of an empty database, which is dropped afterwards."""
    name = f"octavo_test_{os.getpid()}_{next(_numbers)}"

    async def execute(sql: str) -> None:
        connection = await asyncpg.connect(postgres_server)
        try:
            await connection.execute(sql)
        finally:
            await connection.close()

    async with open_bridge() as bridge:
        await bridge.run(execute(f"DROP DATABASE IF EXISTS {name}"))
        await bridge.run(execute(f"CREATE DATABASE {name}"))
    yield database_url(postgres_server, name)
    async with open_bridge() as bridge:
        await bridge.run(execute(f"DROP DATABASE {name} WITH (FORCE)"))
