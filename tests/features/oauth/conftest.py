"""Fixtures of the tests of the authorization server: on SQLite, and on PostgreSQL."""

import random
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager

import pytest

from octavo.store.postgres.store import PostgresStore
from tests.fakes.identity_fixture import IdentityFixture, identity_fixture
from tests.fakes.oauth_rig import OAuthRig
from tests.fakes.postgres_server import running_server
from tests.fakes.stores import open_postgres


@pytest.fixture(scope="session")
def postgres_url() -> Iterator[str]:
    with running_server() as server:
        yield server.url()


@pytest.fixture(params=["sqlite", "postgres"])
async def rig(request: pytest.FixtureRequest) -> AsyncIterator[OAuthRig]:
    if request.param == "sqlite":
        with identity_fixture() as made:
            yield OAuthRig(made)
        return
    async with emptied(request.getfixturevalue("postgres_url")) as store:
        yield OAuthRig(IdentityFixture(store))


@asynccontextmanager
async def emptied(url: str) -> AsyncIterator[PostgresStore]:
    """The store of a PostgreSQL database, without accounts and programs."""
    async with open_postgres(url, random=random.Random(1).random) as store:
        made = IdentityFixture(store)
        for table in ("accounts", "invitations", "audit", "oauth_clients", "oauth_programs"):
            await made.execute(f"DELETE FROM {table}")
        yield store
