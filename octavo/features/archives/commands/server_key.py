"""The options of commands that are clients of a server, and the key that they use.

The key is never an argument: every user of a machine can list these.
"""

import re
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

import click

from octavo.cli.output import Failed
from octavo.settings.names import KEY_VARIABLE

F = TypeVar("F", bound=Callable[..., object])

_KEY = re.compile(r"[!-~]{1,512}")
_LONGEST = 4096


def takes_server(function: F) -> F:
    """Give a command the options ``server``, ``workspace`` and ``key_file``."""
    for option in (
        click.option(
            "--key-file",
            metavar="FILE",
            help=f"file with an API key of your account, - for standard input (default: the key is "
            f"in the environment, in {KEY_VARIABLE})",
        ),
        click.option(
            "--workspace",
            metavar="NAME|ID",
            default="",
            help="the workspace: its name, or its id if several have the name",
        ),
        click.option(
            "--server",
            metavar="URL",
            required=True,
            help="the server, such as https://notes.example.org",
        ),
    ):
        function = option(function)
    return function


def require_workspace(workspace: str) -> None:
    """Raise `Failed` if the option ``workspace`` was not given."""
    if not workspace:
        raise Failed("--workspace is missing: give the name of the workspace", exit_code=2)


def read_key(context: click.Context, key_file: str | None) -> str:
    """Return the API key. Raises `Failed` with the exit code of wrong usage."""
    environment: Mapping[str, str] = context.find_root().obj
    if key_file is None:
        if KEY_VARIABLE not in environment:
            raise Failed(
                "no API key: create one on the page of your account, and give it in the environment"
                f" variable {KEY_VARIABLE}, or in a file with --key-file",
                exit_code=2,
            )
        key, place = environment[KEY_VARIABLE], KEY_VARIABLE
    else:
        key, place = _read(key_file), "standard input" if key_file == "-" else key_file
    key = key.strip()
    if not _KEY.fullmatch(key):
        raise Failed(f"{place} does not contain an API key, which is one line", exit_code=2)
    return key


@dataclass(frozen=True, slots=True)
class ServerAccess:
    """A server, and how to be authenticated there.

    Attributes:
        url: its URL.
        key: an API key.
    """

    url: str
    key: str


def _read(key_file: str) -> str:
    try:
        if key_file != "-":
            with Path(key_file).open(encoding="ascii", errors="replace") as file:
                return file.read(_LONGEST)
        if sys.stdin is None:
            raise Failed("standard input is closed", exit_code=2)
        return sys.stdin.read(_LONGEST)
    except OSError as error:
        raise Failed(f"{key_file} can't be read: {error.strerror}", exit_code=2) from None
