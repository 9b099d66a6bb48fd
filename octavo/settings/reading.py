"""Read the settings from every source, and say of each where it came from.

Weak to strong: the default, the file, the environment, the options of the command.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from pydantic import ValidationError
from pydantic_core import ErrorDetails

from octavo.settings.names import CONFIG_OPTION, CONFIG_VARIABLE
from octavo.settings.settings import Settings
from octavo.settings.sources import EnvironmentSource, FileSource, OptionsSource, SettingsSource

CONFIG_FILE = "octavo.toml"
"""The file that is read where none is named, if it is there."""


class SettingsError(ValueError):
    """Settings that can't be used.

    ``problems`` holds one line for each wrong setting: where the value came from, what is wrong
    with it, and what to give instead.
    """

    def __init__(self, problems: tuple[str, ...]) -> None:
        super().__init__("\n".join(problems))
        self.problems = problems


@dataclass(frozen=True, slots=True)
class LoadedSettings:
    """What was read.

    Attributes:
        settings: the settings.
        origins: what the source calls each setting that one gave; the others have their default.
        file: the file that was read, None without one.
    """

    settings: Settings
    origins: Mapping[str, str]
    file: Path | None


def read_settings(
    environment: Mapping[str, str],
    options: Mapping[str, str | None] | None = None,
    config: str | None = None,
) -> LoadedSettings:
    """Read the settings.

    ``options`` maps names of settings to the text given on the command line, or to None for one
    that was not given. ``config`` names the file; without it ``OCTAVO_CONFIG`` does, and without
    both `CONFIG_FILE` in the working directory counts, if there is one. Raises `SettingsError`
    with every problem found, not the first alone.
    """
    problems: list[str] = []
    sources: list[SettingsSource] = [EnvironmentSource(environment), OptionsSource(options or {})]
    file = None
    try:
        file = _file(environment, config)
    except SettingsError as error:
        problems += error.problems
    if file is not None:
        sources.insert(0, file)
    values: dict[str, str] = {}
    origins: dict[str, str] = {}
    for source in sources:
        problems += source.problems
        found: dict[str, str] = source()
        values |= found
        origins |= {name: source.called(name) for name in found}
    try:
        problems += [
            f"{origins[name]} is empty: give a value, or leave it out for the default"
            for name, text in values.items()
            if not text
        ]
        settings = Settings.model_validate({name: text for name, text in values.items() if text})
    except ValidationError as error:
        for each in error.errors(include_url=False):
            # What depends on a value that was refused says nothing new: a default, a contradiction.
            follows = not each["loc"] and bool(problems)
            if each["type"] != "default_factory_not_called" and not follows:
                problems += _reported(each, origins)
        raise SettingsError(tuple(problems)) from None
    if problems:
        raise SettingsError(tuple(problems))
    return LoadedSettings(settings, origins, None if file is None else file.path)


def _file(environment: Mapping[str, str], config: str | None) -> FileSource | None:
    named = environment.get(CONFIG_VARIABLE) if config is None else config
    path = Path(CONFIG_FILE if named is None else named)
    origin = CONFIG_VARIABLE if config is None else CONFIG_OPTION
    if named is None and not path.exists():
        return None
    try:
        return FileSource(path)
    except OSError as error:
        where = f"{path}: the file of settings" if named is None else f"{origin}={named!r}"
        reason = f"{where} can't be read: {error.strerror}: give the path of a TOML file"
    except ValueError as error:
        reason = f"{path} is not TOML: {error}"
    raise SettingsError((reason,))


def _reported(error: ErrorDetails, origins: Mapping[str, str]) -> list[str]:
    reason = error.get("ctx", {}).get("error", error["msg"])
    if not error["loc"]:
        return str(reason).splitlines()
    name = str(error["loc"][0])
    extra = Settings.model_fields[name].json_schema_extra
    secret = isinstance(extra, dict) and extra.get("secret") is True
    shown = origins[name] if secret else f"{origins[name]}={error['input']!r}"
    return [f"{shown} {reason}"]
