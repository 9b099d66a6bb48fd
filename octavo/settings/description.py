"""Descriptions of the settings for people and programs; secrets are hidden."""

from collections.abc import Iterator
from dataclasses import dataclass

from octavo.settings.names import option, variable
from octavo.settings.settings import PASSWORDS, Settings

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


def describe() -> Iterator[Description]:
    """Yield every setting, in order of declaration."""
    for name, field in Settings.model_fields.items():
        meaning = field.description or ""
        default = field.get_default(call_default_factory=True, validated_data={})
        of_options = None if name in PASSWORDS else option(name)
        yield Description(name, variable(name), of_options, plain(default), meaning)


def plain(value: object) -> Plain:
    """Return the ``value`` of a setting as JSON represents it."""
    match value:
        case None | "" | ():
            return None
        case int() | float() | str():
            return value
        case tuple():
            return [str(each) for each in value]
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
