"""A certificate authority, as for the HTTP server."""

from packages.antechamber.tests.conftest import authority

__all__ = ["authority"]
