"""``octavo serve``: run the service until it is told to stop."""

import argparse
import sys
from collections.abc import Mapping
from contextlib import suppress

import trio

from octavo import service
from octavo.actors.core import RestartIntensityExceeded
from octavo.http.listener import ListenError
from octavo.http.wire import CertificateError
from octavo.settings import Settings, SettingsError, describe, option, variable

SUMMARY = "run the service"
DESCRIPTION = "Run the service until SIGTERM or SIGINT; a second one ends it at once."


def add_options(parser: argparse.ArgumentParser) -> None:
    """Add an option for each setting to the command's ``parser``."""
    for name, default, meaning in describe():
        parser.add_argument(
            option(name),
            metavar=name.upper(),
            help=f"{meaning} (default {default or 'none'}; environment {variable(name)})",
        )


def execute(arguments: argparse.Namespace, environment: Mapping[str, str]) -> int:
    """Serve, and answer the exit code: 0 after a stop, 1 can't listen, 2 settings."""
    try:
        settings = Settings.load(environment, vars(arguments))
    except SettingsError as error:
        _tell(*error.problems)
        return 2
    try:
        trio.run(service.run, settings, service.start_log(settings))
    except* (ListenError, CertificateError) as group:
        return_code = _failed(group)
    except* RestartIntensityExceeded as group:
        return_code = _failed(group)
    else:
        return_code = 0
    return return_code


def _failed(group: BaseExceptionGroup[Exception]) -> int:
    _tell(*map(str, group.exceptions))
    return 1


def _tell(*problems: str) -> None:
    # Nobody may be there to read it; the exit code tells all the same.
    if sys.stderr is not None:
        with suppress(OSError):
            sys.stderr.writelines(f"octavo: {problem}\n" for problem in problems)
            sys.stderr.flush()
