"""A real server for the tests of the client, and clients connected to it."""

from collections.abc import AsyncIterator, Iterator
from random import SystemRandom

import pytest
from octavo_client import Client, WorkspaceClient

from tests.e2e.octavo_process import PUBLIC, data_folder, running
from tests.e2e.people import NO_TLS, Person, settle
from tests.e2e.server import PATIENCE


@pytest.fixture(scope="session")
def served() -> Iterator[tuple[str, Person]]:
    """The address of a server, and an account on it."""
    with data_folder() as folder, running(folder) as octavo:
        yield octavo.url, settle(octavo)


@pytest.fixture
async def client(served: tuple[str, Person]) -> AsyncIterator[Client]:
    """A client with a key."""
    url, person = served
    made = Client(
        url,
        entropy=SystemRandom(),
        key=person.key,
        origin=PUBLIC,
        timeout=PATIENCE,
        tls=NO_TLS,
    )
    async with made as client:
        yield client


@pytest.fixture
async def workspace(client: Client) -> WorkspaceClient:
    """A workspace without files."""
    return await client.create_workspace("Notes")
