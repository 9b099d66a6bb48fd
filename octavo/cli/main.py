"""The entry point of the command line: parse, choose the command, answer the exit code.

Exit codes: 0 done; 1 the command failed, with one line that says why; 2 wrong usage or settings.
"""

import argparse
import os
from collections.abc import Mapping, Sequence

from octavo import __version__
from octavo.cli import serve


def main(argv: Sequence[str] | None = None, environment: Mapping[str, str] | None = None) -> int:
    """Run the command that ``argv`` names and answer its exit code.

    ``argv`` and ``environment`` are the process's own when left out. Without a command the help
    is printed. Raises `SystemExit` with 2 on wrong usage, as argparse does.
    """
    parser = argparse.ArgumentParser(prog="octavo", description="A self-hosted notes backend.")
    parser.add_argument("--version", action="version", version=f"octavo {__version__}")
    commands = parser.add_subparsers(dest="command", metavar="COMMAND")
    serve.add_options(
        commands.add_parser("serve", help=serve.SUMMARY, description=serve.DESCRIPTION)
    )
    arguments = parser.parse_args(argv)
    if arguments.command is None:
        parser.print_help()
        return 0
    return serve.execute(arguments, os.environ if environment is None else environment)
