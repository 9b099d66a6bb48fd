"""Stores for the tests of this folder."""

import os
from collections.abc import AsyncIterator, Iterator
from itertools import count

import asyncpg  # type: ignore[import-untyped]
import pytest

from octavo.store.postgres.bridge import open_bridge
from tests.fakes.postgres_server import database_url, server_url

_numbers = count()


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
