"""Fixtures for the tests of the operations."""

from collections.abc import AsyncIterator, Iterator

import pytest

from tests.fakes.identity_fixture import identity_fixture
from tests.fakes.notes_api import Client, NotesApi, opened
from tests.fakes.users_api import UsersApi


@pytest.fixture
def users() -> Iterator[UsersApi]:
    with identity_fixture() as made:
        yield UsersApi(made)


@pytest.fixture
async def api() -> AsyncIterator[NotesApi]:
    async with opened() as made:
        yield made


@pytest.fixture
def reader(api: NotesApi) -> Client:
    return api.client("reader")
