"""The HTML pages, which work without scripts.

`pages` is loaded on first access: importing Quart takes a third of the server's startup time.
"""

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from octavo.http.pages.application import pages

API_REFERENCE = "/api/docs"
"""The path of the API reference."""

__all__ = ["API_REFERENCE", "pages"]


def __getattr__(name: str) -> object:
    if name == "pages":
        return import_module("octavo.http.pages.application").pages
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
