"""The command line: ``octavo`` and its commands."""

from octavo.cli.main import main

__all__ = ["main"]
