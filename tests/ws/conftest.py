"""A certificate authority, as for the wire."""

from tests.wire.conftest import authority

__all__ = ["authority"]
