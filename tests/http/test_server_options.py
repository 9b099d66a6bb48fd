"""The settings of the server."""

import dataclasses

from octavo.http.server import Limits
from octavo.http.server_options import server_options
from octavo.settings import Settings


def test_settings_and_server_have_the_same_defaults() -> None:
    options = server_options(Settings(), lambda _: None, now=lambda: 0.0, new_id=lambda: "made")
    # Fewer, where this process may not open as many files.
    assert options.limits.connections <= Limits().connections
    assert dataclasses.replace(options.limits, connections=Limits().connections) == Limits()


def test_problems_of_the_server_link_to_the_public_address() -> None:
    settings = Settings(public_url="https://notes.example.org")
    options = server_options(settings, lambda _: None, now=lambda: 0.0, new_id=lambda: "made")
    assert options.problem_base == "https://notes.example.org"
