"""Where settings come from: options, the environment, a file. Each names its values.

All of them give text, which passes through the same check: a wrong value is refused with the same
text wherever it came from.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from pydantic.fields import FieldInfo
from pydantic_settings import PydanticBaseSettingsSource, TomlConfigSettingsSource

from octavo.settings.addresses import DatabaseUrl
from octavo.settings.names import (
    CONFIG_VARIABLE,
    KEY_VARIABLE,
    PREFIX,
    RENAMED,
    is_of_a_platform,
    meant,
    option,
    variable,
)
from octavo.settings.settings import PASSWORDS, Settings

_NAMES = tuple(Settings.model_fields)
_SEE = "`octavo serve --help` lists the settings"
_WITHOUT_HTTP2 = "leave it out; Octavo speaks HTTP/1.1, and HTTP/2 is the work of a proxy"


class SettingsSource(PydanticBaseSettingsSource):
    """One place that settings are read from.

    Args:
        given: the text of each setting that it gives, by the setting's name.

    Attributes:
        problems: a line for each name in it that is not a setting.
    """

    def __init__(self, given: Mapping[str, str], problems: tuple[str, ...] = ()) -> None:
        super().__init__(Settings)
        self._given = given
        self.problems = problems

    def get_field_value(self, field: FieldInfo, field_name: str) -> tuple[Any, str, bool]:
        """Return the text given for a field, or None."""
        return self._given.get(field_name), field_name, False

    def __call__(self) -> dict[str, Any]:
        """Return the text of each setting that is given here."""
        found = ((name, self._given.get(name)) for name in _NAMES)
        return {name: text for name, text in found if text is not None}

    def called(self, name: str) -> str:
        """Return what this source calls the setting ``name``."""
        raise NotImplementedError


class OptionsSource(SettingsSource):
    """The options of a command; ``given`` has None for those that were left out.

    A password among them is a problem: every user of the machine can list them.
    """

    def __init__(self, given: Mapping[str, str | None]) -> None:
        texts = {name: text for name, text in given.items() if text is not None}
        super().__init__(
            texts,
            tuple(
                f"{option(name)} shows a password to every user of this machine: give it in the"
                f" environment variable {variable(name)}, or as {name} in a file that --config"
                " names"
                for name, text in texts.items()
                if name in PASSWORDS or (name == "database" and _has_password(text))
            ),
        )

    def called(self, name: str) -> str:
        """Return the option."""
        return option(name)


class EnvironmentSource(SettingsSource):
    """The variables of the environment."""

    def __init__(self, environment: Mapping[str, str]) -> None:
        given = {name: environment.get(variable(name)) for name in _NAMES}
        super().__init__(
            {name: text for name, text in given.items() if text is not None},
            tuple(_misspelled(environment)),
        )

    def called(self, name: str) -> str:
        """Return the variable."""
        return variable(name)


class FileSource(SettingsSource):
    """A TOML file: a key for each setting that it gives.

    Raises `ValueError` for what is not TOML and `OSError` for what can't be read.
    """

    def __init__(self, path: Path) -> None:
        # A file that is missing would pass for an empty one.
        path.open("rb").close()
        data = TomlConfigSettingsSource(Settings, toml_file=path).toml_data
        given: dict[str, str] = {}
        problems: list[str] = []
        for key, value in data.items():
            text = _text(value)
            if key not in _NAMES:
                problems.append(f"{path}: {key} is not a setting: {_hint(key, _NAMES, str)}")
            elif text is None:
                problems.append(f"{path}: {key} is not a value: give text in quotes, or a number")
            else:
                given[key] = text
        super().__init__(given, tuple(problems))
        self.path = path

    def called(self, name: str) -> str:
        """Return the file and the key."""
        return f"{self.path}: {name}"


def _has_password(database: str) -> bool:
    try:
        return DatabaseUrl.parse(database).has_password
    except ValueError:
        # It is refused as an address, too.
        return False


def _text(value: object) -> str | None:
    match value:
        case bool():
            return str(value).lower()
        case str() | int() | float():
            return str(value)
        case list() if value and all(isinstance(each, str) for each in value):
            return ", ".join(value)
        case _:
            return None


def _misspelled(environment: Mapping[str, str]) -> Iterator[str]:
    known = {CONFIG_VARIABLE, KEY_VARIABLE, *map(variable, _NAMES)}
    for name, value in sorted(environment.items()):
        if name in known or not name.startswith(PREFIX) or is_of_a_platform(name, value):
            continue
        hint = _hint(name.removeprefix(PREFIX), (*_NAMES, "config"), variable)
        yield f"{name} is not a setting: {hint}"


def _hint(name: str, known: Iterable[str], called: Callable[[str], str]) -> str:
    """Return what to do about ``name``, which is no setting; ``called`` names one that is."""
    if name.lower().startswith("http2"):
        return _WITHOUT_HTTP2
    if renamed := RENAMED.get(name.lower()):
        return f"its name is {called(renamed)} now"
    near = meant(name, known)
    return f"did you mean {called(near)}?" if near else _SEE
