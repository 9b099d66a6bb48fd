"""Fixtures of the tests of the authorization server: on SQLite, and on PostgreSQL."""

from collections.abc import AsyncIterator
from random import Random

import pytest

from tests.fakes.identity_fixture import IdentityFixture, identity_fixture
from tests.fakes.oauth_rig import OAuthRig
from tests.fakes.stores import open_postgres


@pytest.fixture
async def rig(either_url: str | None) -> AsyncIterator[OAuthRig]:
    if either_url is None:
        with identity_fixture() as made:
            yield OAuthRig(made)
        return
    async with open_postgres(either_url, random=Random(1).random) as store:
        yield OAuthRig(IdentityFixture(store))
