"""The settings as options of a command."""

from collections.abc import Callable, Mapping
from contextlib import suppress
from typing import TypeVar

import click

from octavo.cli.output import Failed
from octavo.control.client import ControlFailed, ask
from octavo.model.access.account import Address, parse_address
from octavo.service.settings import Settings
from octavo.settings import LoadedSettings, SettingsError, read_settings
from octavo.settings.names import CONFIG_OPTION, CONFIG_VARIABLE, option
from octavo.settings.reading import CONFIG_FILE, Description, describe, shown

F = TypeVar("F", bound=Callable[..., object])


def takes_settings(*names: str) -> Callable[[F], F]:
    """Add options for the settings ``names`` to a command, or for all settings.

    The command gets their texts by the names of the settings, and ``config``, the file.
    """
    known = {setting.name: setting for setting in describe(Settings)}
    wanted = [known[name] for name in names or known]

    def decorate(function: F) -> F:
        for setting in reversed(wanted):
            function = _option(setting)(function)
        return click.option(
            CONFIG_OPTION,
            "config",
            metavar="FILE",
            help="TOML file with settings "
            f"(default {CONFIG_FILE}, if there is one; environment {CONFIG_VARIABLE})",
        )(function)

    return decorate


def read(context: click.Context, texts: Mapping[str, str | None]) -> LoadedSettings[Settings]:
    """Read the settings, with the ``texts`` of the options that `takes_settings` added.

    Raises `Failed` with a line for each problem, and the exit code of wrong settings.
    """
    options = {name: text for name, text in texts.items() if name != "config"}
    environment: Mapping[str, str] = context.find_root().obj
    try:
        return read_settings(Settings, environment, options, texts["config"])
    except SettingsError as error:
        raise Failed(*error.problems, exit_code=2) from None


def public_url_of(loaded: LoadedSettings[Settings]) -> str:
    """Return the origin of the installation, for a link.

    A running server knows it from options that the command did not get.
    """
    settings = loaded.settings
    if "public_url" not in loaded.origins:
        with suppress(ControlFailed):
            return ask(settings.data_dir, "public_url")
    return settings.public_url


def address_of(argument: str) -> Address:
    """Return the address that a command was given. Raises `Failed`."""
    try:
        return parse_address(argument)
    except ValueError as error:
        sentence = str(error)
        problem = f"{sentence[0].lower()}{sentence[1:].removesuffix('.')}"
        raise Failed(problem, exit_code=2) from None


def _option(setting: Description) -> Callable[[F], F]:
    default = shown(setting.default) or "none"
    return click.option(
        option(setting.name),
        setting.name,
        metavar="VALUE",
        # Given in spite of that, it is refused with what to do instead.
        hidden=setting.option is None,
        help=f"{setting.meaning} (default {default}; environment {setting.variable})",
    )
