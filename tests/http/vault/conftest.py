"""What the tests of the operations on workspaces share."""

from collections.abc import AsyncIterator

import pytest

from tests.http.vault.front import Front, opened


@pytest.fixture
async def front() -> AsyncIterator[Front]:
    async with opened() as made:
        yield made
