"""What the tests of identity share."""

from collections.abc import Iterator

import pytest

from tests.accounts.house import House, house


@pytest.fixture
def home() -> Iterator[House]:
    with house() as made:
        yield made
