"""A certificate authority, as for the HTTP server."""

from tests.http.server.conftest import authority

__all__ = ["authority"]
