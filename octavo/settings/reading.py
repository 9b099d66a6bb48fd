"""Read the settings from every source, with their origins, and describe them.

Each source overrides those before it: defaults, file, environment, options of the command.
"""

import tomllib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Generic, TypeVar

from pydantic import ValidationError
from pydantic_core import ErrorDetails

from octavo.settings.addresses import DatabaseUrl
from octavo.settings.names import (
    CONFIG_OPTION,
    CONFIG_VARIABLE,
    KEY_VARIABLE,
    PREFIX,
    RENAMED,
    is_of_a_platform,
    meant,
    option,
    variable,
)
from octavo.settings.settings import KernelSettings

S = TypeVar("S", bound=KernelSettings)

_SEE = "`octavo serve --help` lists the settings"
_WITHOUT_HTTP2 = "leave it out; Octavo speaks HTTP/1.1, and HTTP/2 is the work of a proxy"


@dataclass(frozen=True, slots=True)
class _Source:
    """A source of settings.

    Attributes:
        texts: the texts of the settings that it has, by their names.
        problems: a line for each name in it that is not a setting.
        called: returns what the source calls a setting.
        file: the file that was read.
    """

    texts: Mapping[str, str]
    problems: Sequence[str]
    called: Callable[[str], str]
    file: Path | None = None


def _options(passwords: frozenset[str], options: Mapping[str, str | None]) -> _Source:
    """Return the options of a command; those that were left out are None.

    A password among them is a problem: every user of the machine can list them.
    """
    texts = {name: text for name, text in options.items() if text is not None}
    problems = [
        f"{option(name)} shows a password to every user of this machine: give it in the"
        f" environment variable {variable(name)}, or as {name} in a file that --config names"
        for name, text in texts.items()
        if name in passwords or (name == "database" and _has_password(text))
    ]
    return _Source(texts, problems, option)


def _variables(names: Sequence[str], environment: Mapping[str, str]) -> _Source:
    texts = {name: environment[variable(name)] for name in names if variable(name) in environment}
    return _Source(texts, [*_misspelled(environment, names)], variable)


def _toml(names: Sequence[str], path: Path) -> _Source:
    """Return what a file gives: a key for each setting.

    Raises `ValueError` for what is not TOML and `OSError` for what can't be read.
    """
    texts: dict[str, str] = {}
    problems: list[str] = []
    for key, value in tomllib.loads(path.read_bytes().decode()).items():
        text = _text(value)
        if key not in names:
            problems.append(f"{path}: {key} is not a setting: {_hint(key, names, str)}")
        elif text is None:
            problems.append(f"{path}: {key} is not a value: give text in quotes, or a number")
        else:
            texts[key] = text
    return _Source(texts, problems, lambda name: f"{path}: {name}", path)


def _has_password(database: str) -> bool:
    try:
        return DatabaseUrl.parse(database).has_password
    except ValueError:
        # It is also refused as an address.
        return False


def _text(value: object) -> str | None:
    match value:
        case bool():
            return str(value).lower()
        case str() | int() | float():
            return str(value)
        case list() if value and all(isinstance(item, str) for item in value):
            return ", ".join(value)
        case _:
            return None


def _misspelled(environment: Mapping[str, str], names: Sequence[str]) -> Iterator[str]:
    known = {CONFIG_VARIABLE, KEY_VARIABLE, *map(variable, names)}
    for name, value in sorted(environment.items()):
        if name in known or not name.startswith(PREFIX) or is_of_a_platform(name, value):
            continue
        hint = _hint(name.removeprefix(PREFIX), (*names, "config"), variable)
        yield f"{name} is not a setting: {hint}"


def _hint(name: str, known: Iterable[str], called: Callable[[str], str]) -> str:
    """Return what to do about ``name``, which is no setting; ``called`` names one that is."""
    if name.lower().startswith("http2"):
        return _WITHOUT_HTTP2
    if renamed := RENAMED.get(name.lower()):
        return f"its name is {called(renamed)} now"
    near = meant(name, known)
    return f"did you mean {called(near)}?" if near else _SEE


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
class LoadedSettings(Generic[S]):
    """The settings that were read.

    Attributes:
        settings: the settings.
        origins: what the source calls each setting that one gave; the others have their default.
        file: the file that was read, None without one.
    """

    settings: S
    origins: Mapping[str, str]
    file: Path | None


def read_settings(
    kind: type[S],
    environment: Mapping[str, str],
    options: Mapping[str, str | None] | None = None,
    config: str | None = None,
) -> LoadedSettings[S]:
    """Read the settings of a ``kind``.

    ``options`` maps names of settings to the text given on the command line, or to None for one
    that was not given. ``config`` names the file; without it ``OCTAVO_CONFIG`` does, and without
    both `CONFIG_FILE` in the working directory counts, if there is one. Raises `SettingsError`
    with every problem found, not the first alone.
    """
    problems: list[str] = []
    names = kind.names()
    sources = [_variables(names, environment), _options(kind.passwords(), options or {})]
    try:
        sources = [*_file(names, environment, config), *sources]
    except SettingsError as error:
        problems += error.problems
    values: dict[str, str] = {}
    origins: dict[str, str] = {}
    for source in sources:
        problems += source.problems
        texts = {name: source.texts[name] for name in names if name in source.texts}
        values |= texts
        origins |= {name: source.called(name) for name in texts}
    try:
        problems += [
            f"{origins[name]} is empty: give a value, or leave it out for the default"
            for name, text in values.items()
            if not text
        ]
        settings = kind.model_validate({name: text for name, text in values.items() if text})
    except ValidationError as error:
        errors = error.errors(include_url=False)
        for fault in sorted(
            errors, key=lambda fault: [names.index(str(n)) for n in fault["loc"][:1]]
        ):
            # A default or a contradiction that depends on a refused value is no further problem.
            follows = not fault["loc"] and bool(problems)
            if fault["type"] != "default_factory_not_called" and not follows:
                problems += _reported(kind, fault, origins)
        raise SettingsError(tuple(problems)) from None
    if problems:
        raise SettingsError(tuple(problems))
    return LoadedSettings(settings, origins, sources[0].file)


def _file(
    names: Sequence[str], environment: Mapping[str, str], config: str | None
) -> list[_Source]:
    named = environment.get(CONFIG_VARIABLE) if config is None else config
    path = Path(CONFIG_FILE if named is None else named)
    origin = CONFIG_VARIABLE if config is None else CONFIG_OPTION
    if named is None and not path.exists():
        return []
    try:
        return [_toml(names, path)]
    except OSError as error:
        where = f"{path}: the file of settings" if named is None else f"{origin}={named!r}"
        reason = f"{where} can't be read: {error.strerror}: give the path of a TOML file"
    except ValueError as error:
        reason = f"{path} is not TOML: {error}"
    raise SettingsError((reason,))


def _reported(
    kind: type[KernelSettings], error: ErrorDetails, origins: Mapping[str, str]
) -> list[str]:
    reason = error.get("ctx", {}).get("error", error["msg"])
    if not error["loc"]:
        return str(reason).splitlines()
    name = str(error["loc"][0])
    extra = kind.model_fields[name].json_schema_extra
    secret = isinstance(extra, dict) and extra.get("secret") is True
    shown = origins[name] if secret else f"{origins[name]}={error['input']!r}"
    return [f"{shown} {reason}"]


Plain = str | int | float | list[str] | None
"""A value in JSON; None for a setting that has none."""


@dataclass(frozen=True, slots=True)
class Description:
    """One setting: its names, its default and its meaning; a password has no option."""

    name: str
    variable: str
    option: str | None
    default: Plain
    meaning: str


def describe(kind: type[KernelSettings]) -> Iterator[Description]:
    """Yield every setting of a ``kind``, in the order of their names."""
    passwords = kind.passwords()
    for name in kind.names():
        field = kind.model_fields[name]
        meaning = field.description or ""
        default = field.get_default(call_default_factory=True, validated_data={})
        of_options = None if name in passwords else option(name)
        yield Description(name, variable(name), of_options, plain(default), meaning)


def plain(value: object) -> Plain:
    """Return the ``value`` of a setting as JSON represents it."""
    match value:
        case None | "" | ():
            return None
        case int() | float() | str():
            return value
        case tuple():
            return [str(item) for item in value]
        case _:
            return str(value)


def shown(value: Plain) -> str:
    """Return ``value`` as people read it; an empty text for none."""
    match value:
        case None:
            return ""
        case bool():
            return str(value).lower()
        case float():
            return f"{value:g}"
        case list():
            return ", ".join(value)
        case _:
            return str(value)
