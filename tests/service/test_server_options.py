"""The settings of the server."""

import dataclasses

from antechamber import Limits
from antechamber.limits import ServerUsage

from octavo.service.server_options import server_options
from octavo.service.settings import Settings


def unlogged(_: object) -> None:
    """Log nothing."""


def test_settings_and_server_have_the_same_defaults() -> None:
    options = server_options(Settings(), unlogged, ServerUsage())
    # Fewer, where this process may not open as many files.
    assert options.limits.connections <= Limits().connections
    assert dataclasses.replace(options.limits, connections=Limits().connections) == Limits()


def test_problems_of_the_server_link_to_the_public_address() -> None:
    settings = Settings(public_url="https://notes.example.org")
    options = server_options(settings, unlogged, ServerUsage())
    assert options.problem_base == "https://notes.example.org"
