"""One installation and one browser for all clients of this folder."""

from collections.abc import Iterator

import pytest

from tests.oauth_clients.installation import Installation, installation
from tests.oauth_clients.programs import missing


@pytest.fixture(scope="session")
def site() -> Iterator[Installation]:
    reason = missing()
    if reason is not None:
        pytest.skip(reason)
    with installation() as running:
        yield running
