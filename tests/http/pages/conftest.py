"""An installation whose pages are read."""

from collections.abc import Iterator

import pytest

from tests.fakes.page_reader import Installation, PageReader, installation


@pytest.fixture
def house() -> Iterator[Installation]:
    with installation() as made:
        yield made


@pytest.fixture
async def ann(house: Installation) -> PageReader:
    """The first administrator of the installation."""
    return await house.person(role="administrator")


@pytest.fixture
async def bob(house: Installation) -> PageReader:
    """A member."""
    return await house.person("bob@example.org")
