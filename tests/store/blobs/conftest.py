"""Servers for the tests of blob stores."""

from collections.abc import Iterator

import pytest

from tests.fakes.s3_server import s3_endpoint


@pytest.fixture(scope="session")
def s3() -> Iterator[str]:
    """The address of an S3 server."""
    with s3_endpoint() as endpoint:
        yield endpoint
