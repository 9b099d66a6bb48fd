"""The application that serves all pages.

`pages` is loaded on first access: importing Quart takes a third of the server's startup time.
"""

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from octavo.service.pages.application import pages

__all__ = ["pages"]


def __getattr__(name: str) -> object:
    if name == "pages":
        return import_module("octavo.service.pages.application").pages
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
