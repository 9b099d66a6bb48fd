"""Fixtures of the identity tests."""

from collections.abc import Iterator

import pytest

from tests.fakes.identity_fixture import IdentityFixture, identity_fixture


@pytest.fixture
def identity() -> Iterator[IdentityFixture]:
    with identity_fixture() as made:
        yield made
