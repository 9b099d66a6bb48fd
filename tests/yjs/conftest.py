from collections.abc import Iterator

import pytest

from tests.yjs.peer import Peer, missing, running_peer


@pytest.fixture(scope="session")
def peer() -> Iterator[Peer]:
    """One process of the reference implementation for all tests that ask for it."""
    reason = missing()
    if reason is not None:
        pytest.skip(reason)
    with running_peer() as started:
        yield started
