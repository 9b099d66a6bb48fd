"""A certificate authority, as for the wire."""

from tests.http.server.conftest import authority

__all__ = ["authority"]
