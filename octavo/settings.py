"""Every setting: its name, its default, its meaning, and what it accepts.

A setting is read from the environment variable ``OCTAVO_<NAME>``; an option of the command line
goes before it. Both are text and pass through the same check, so a wrong value is refused with
the same words wherever it came from.
"""

import difflib
import ipaddress
import math
import os
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import Field, dataclass, field, fields
from typing import Self, TypeVar

PREFIX = "OCTAVO_"
LONGEST_STOP = 3600.0
LONGEST_WAIT = 86400.0
LARGEST_COUNT = 1_000_000_000

Network = ipaddress.IPv4Network | ipaddress.IPv6Network

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
    value = _number(text)
    if not 0 <= value <= LONGEST_STOP:
        raise ValueError(f"is no time: give seconds from 0 to {LONGEST_STOP:g}, such as 10 or 0.5")
    return value


def _wait(text: str) -> float:
    value = _number(text)
    if not 0.1 <= value <= LONGEST_WAIT:
        raise ValueError(f"is no time: give seconds from 0.1 to {LONGEST_WAIT:g}, such as 20")
    return value


def _number(text: str) -> float:
    try:
        return float(text)
    except ValueError:
        return math.nan


def _count(smallest: int) -> Callable[[str], int]:
    def parse(text: str) -> int:
        if not re.fullmatch(r"[0-9]{1,10}", text) or not smallest <= int(text) <= LARGEST_COUNT:
            raise ValueError(f"is no such number: give a whole one, {smallest} or more")
        return int(text)

    return parse


def _networks(text: str) -> tuple[Network, ...]:
    try:
        return tuple(ipaddress.ip_network(part.strip()) for part in text.split(","))
    except ValueError:
        raise ValueError(
            "is no list of networks: give addresses or networks with commas between, "
            "such as 10.0.0.0/8, ::1"
        ) from None


def _choice(*choices: str) -> Callable[[str], str]:
    def parse(text: str) -> str:
        if text not in choices:
            raise ValueError(f"is not known: give {' or '.join(choices)}")
        return text

    return parse


def _file(text: str) -> str:
    if not os.path.isfile(text):
        raise ValueError("is no file: give the path of one")
    return text


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
    tls_certificate: str = _setting(
        "", _file, "file (PEM) of the certificate with its chain; with its key it turns TLS on"
    )
    tls_key: str = _setting("", _file, "file (PEM) of the certificate's private key")
    trusted_proxies: tuple[Network, ...] = _setting(
        (), _networks, "addresses or networks of the proxies whose word on their clients counts"
    )
    proxy_header: str = _setting(
        "x-forwarded",
        _choice("x-forwarded", "forwarded"),
        "the headers by which those proxies tell: x-forwarded (x-forwarded-for and -proto) or "
        "forwarded (RFC 7239)",
    )
    log_format: str = _setting(
        "console", _choice("console", "json"), "form of the log on standard error: console or json"
    )
    head_time: float = _setting(
        10.0, _wait, "seconds for the head of a request, and for a TLS handshake"
    )
    head_size: int = _setting(16384, _count(1024), "bytes of a request's head")
    header_count: int = _setting(100, _count(10), "header fields of a request")
    target_length: int = _setting(8192, _count(256), "bytes of path and query of a request")
    body_idle_time: float = _setting(20.0, _wait, "seconds that a request's body may pause")
    request_time: float = _setting(
        60.0, _wait, "seconds for a whole request, to the end of its answer"
    )
    idle_time: float = _setting(75.0, _wait, "seconds between two requests of a connection")
    write_time: float = _setting(
        20.0, _wait, "seconds that a client may take to read 64 KiB of its answer"
    )
    connections: int = _setting(10000, _count(1), "connections open at once")
    connections_per_client: int = _setting(
        256, _count(1), "connections open at once from one address (one /64 of IPv6)"
    )
    requests_per_connection: int = _setting(
        10000, _count(1), "requests on one connection before it closes"
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
            problems += settings._contradictions()
            if not problems:
                return settings
        raise SettingsError(tuple(problems))

    def _contradictions(self) -> Iterator[str]:
        if self.drain > self.grace:
            yield (
                f"the drain time ({self.drain:g} s) is part of the grace time "
                f"({self.grace:g} s) and can't be longer: "
                f"lower {variable('drain')} or raise {variable('grace')}"
            )
        if bool(self.tls_certificate) is not bool(self.tls_key):
            yield (
                "TLS takes a certificate and its key: "
                f"give both {variable('tls_certificate')} and {variable('tls_key')}, or neither"
            )


def variable(name: str) -> str:
    """Answer the environment variable of the setting ``name``."""
    return PREFIX + name.upper()


def describe() -> Iterator[tuple[str, str, str]]:
    """Yield name, default (as text) and meaning of every setting, in order of declaration."""
    for setting in fields(Settings):
        yield setting.name, _text(setting), setting.metadata["meaning"]


def option(name: str) -> str:
    """Answer the option of the command line of the setting ``name``."""
    return f"--{name.replace('_', '-')}"


def _text(setting: Field[object]) -> str:
    default = setting.default
    return f"{default:g}" if isinstance(default, float) else str(default or "")


def _given(
    environment: Mapping[str, str], options: Mapping[str, str | None]
) -> Iterator[tuple[str, str, str]]:
    for name in (f.name for f in fields(Settings)):
        given = options.get(name)
        if given is not None:
            yield name, option(name), given
        elif variable(name) in environment:
            yield name, variable(name), environment[variable(name)]


def _misspelled(environment: Mapping[str, str]) -> Iterator[str]:
    known = [variable(f.name) for f in fields(Settings)]
    for name in sorted(environment):
        if name.startswith(PREFIX) and name not in known:
            near = difflib.get_close_matches(name, known, n=1, cutoff=_NEAR)
            if near:
                yield f"{name} is no setting: did you mean {near[0]}?"
