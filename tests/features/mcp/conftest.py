"""Fixtures for the tests of the Model Context Protocol."""

from collections.abc import AsyncIterator

import pytest

from tests.fakes.mcp_client import LEGACY, MODERN, McpClient
from tests.fakes.notes_api import NotesApi, opened


@pytest.fixture
async def api() -> AsyncIterator[NotesApi]:
    async with opened() as made:
        yield made


@pytest.fixture(params=[MODERN, LEGACY])
def reader(api: NotesApi, request: pytest.FixtureRequest) -> McpClient:
    """A member whose token may only read, in both eras."""
    return McpClient(api.application, version=request.param)
