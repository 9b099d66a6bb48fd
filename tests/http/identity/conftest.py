"""What the tests of the operations of identity share."""

from collections.abc import Iterator

import pytest

from tests.accounts.house import house
from tests.http.identity.front import Front


@pytest.fixture
def front() -> Iterator[Front]:
    with house() as made:
        yield Front(made)
