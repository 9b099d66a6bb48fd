"""Every setting: its name, its default, its meaning, and what it accepts.

A setting is read from the environment variable ``OCTAVO_<NAME>``; an option of the command line
goes before it. Both are text and pass through the same check, so a wrong value is refused with
the same words wherever it came from.
"""

import difflib
import ipaddress
import math
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import Field, dataclass, field, fields
from typing import Self, TypeVar

PREFIX = "OCTAVO_"
LONGEST_STOP = 3600.0

_T = TypeVar("_T")
_HOST_LABEL = re.compile(r"(?!-)[A-Za-z0-9_-]{1,63}(?<!-)")
# A slip of a letter or two is near; a name that only shares the prefix is not. Container
# platforms add variables such as OCTAVO_SERVICE_HOST of their own, which must pass unnoticed.
_NEAR = 0.85


class SettingsError(ValueError):
    """Settings that can't be used.

    ``problems`` holds one line for each wrong setting: where the value came from, what is wrong
    with it, and what to give instead.
    """

    def __init__(self, problems: tuple[str, ...]) -> None:
        super().__init__("\n".join(problems))
        self.problems = problems


def _host(text: str) -> str:
    try:
        return str(ipaddress.ip_address(text.removeprefix("[").removesuffix("]")))
    except ValueError:
        labels = text.split(".")
        if len(text) > 253 or not all(_HOST_LABEL.fullmatch(label) for label in labels):
            raise ValueError(
                "is no IP address and no host name: give one such as 127.0.0.1, ::1 or localhost"
            ) from None
        return text


def _port(text: str) -> int:
    if text.startswith("tcp://"):
        raise ValueError(
            "was set by the container platform for a service named octavo: "
            "rename the service, or turn its service variables off for this container"
        )
    if not re.fullmatch(r"[0-9]{1,5}", text) or int(text) > 65535:
        raise ValueError("is no port: give a whole number from 0 (any free port) to 65535")
    return int(text)


def _seconds(text: str) -> float:
    try:
        value = float(text)
    except ValueError:
        value = math.nan
    if not 0 <= value <= LONGEST_STOP:
        raise ValueError(f"is no time: give seconds from 0 to {LONGEST_STOP:g}, such as 10 or 0.5")
    return value


def _setting(default: _T, parse: Callable[[str], _T], meaning: str) -> _T:
    return field(default=default, metadata={"parse": parse, "meaning": meaning})


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """The settings of one process, checked and complete."""

    host: str = _setting(
        "127.0.0.1", _host, "address to listen on: an IP address, or a name that has one"
    )
    port: int = _setting(8080, _port, "TCP port to listen on; 0 takes any free one")
    grace: float = _setting(
        10.0, _seconds, "seconds that a stop may take before what is left is cut off"
    )
    drain: float = _setting(
        0.0,
        _seconds,
        "seconds of the grace in which new requests are still taken while readiness already "
        "answers 503, so that a load balancer can turn away first",
    )

    @classmethod
    def load(
        cls, environment: Mapping[str, str], options: Mapping[str, str | None] | None = None
    ) -> Self:
        """Read the settings from ``environment``, where ``options`` go first.

        ``options`` maps names of settings to the text given on the command line, or to None for
        one that was not given. Raises `SettingsError` with every problem found, not the first
        alone.
        """
        problems = list(_misspelled(environment))
        values: dict[str, object] = {}
        for name, origin, text in _given(environment, options or {}):
            setting = next(f for f in fields(cls) if f.name == name)
            try:
                if not text:
                    raise ValueError("is empty: give a value, or leave it out for the default")
                values[name] = setting.metadata["parse"](text)
            except ValueError as error:
                problems.append(f"{origin}={text!r} {error}")
        if not problems:
            settings = cls(**values)  # type: ignore[arg-type]  # each parser answers its field's type
            if settings.drain <= settings.grace:
                return settings
            problems.append(
                f"the drain time ({settings.drain:g} s) is part of the grace time "
                f"({settings.grace:g} s) and can't be longer: "
                f"lower {variable('drain')} or raise {variable('grace')}"
            )
        raise SettingsError(tuple(problems))


def variable(name: str) -> str:
    """Answer the environment variable of the setting ``name``."""
    return PREFIX + name.upper()


def describe() -> Iterator[tuple[str, str, str]]:
    """Yield name, default (as text) and meaning of every setting, in order of declaration."""
    for setting in fields(Settings):
        yield setting.name, _text(setting), setting.metadata["meaning"]


def _text(setting: Field[object]) -> str:
    return f"{setting.default:g}" if isinstance(setting.default, float) else str(setting.default)


def _given(
    environment: Mapping[str, str], options: Mapping[str, str | None]
) -> Iterator[tuple[str, str, str]]:
    for name in (f.name for f in fields(Settings)):
        option = options.get(name)
        if option is not None:
            yield name, f"--{name}", option
        elif variable(name) in environment:
            yield name, variable(name), environment[variable(name)]


def _misspelled(environment: Mapping[str, str]) -> Iterator[str]:
    known = [variable(f.name) for f in fields(Settings)]
    for name in sorted(environment):
        if name.startswith(PREFIX) and name not in known:
            near = difflib.get_close_matches(name, known, n=1, cutoff=_NEAR)
            if near:
                yield f"{name} is no setting: did you mean {near[0]}?"
