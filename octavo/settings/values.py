"""Parse and check the values of settings.

Each function raises `ValueError` with a text that follows the value in a message: what is wrong
with it, and what to give instead.
"""

import ipaddress
import math
import os
import re
from collections.abc import Callable
from pathlib import Path
from typing import Annotated, TypeVar

from pydantic import BeforeValidator

LARGEST_COUNT = 1_000_000_000
LARGEST_AMOUNT = 2**53 - 1

Network = ipaddress.IPv4Network | ipaddress.IPv6Network

T = TypeVar("T")

_DIGEST = re.compile("[0-9a-f]{64}")


def reads(parse: Callable[[str], T]) -> BeforeValidator:
    """Return a validator that parses strings and numbers, and leaves other values unchanged."""

    def check(value: object) -> object:
        parsed = isinstance(value, str | int | float) and not isinstance(value, bool)
        return parse(str(value)) if parsed else value

    return BeforeValidator(check)


def time(unit: str, shortest: float, longest: float, example: str) -> Callable[[str], float]:
    """Make the reader of times in a unit, within bounds."""

    def parse(text: str) -> float:
        try:
            value = float(text)
        except ValueError:
            value = math.nan
        if not shortest <= value <= longest:
            raise ValueError(
                f"is not a time: give {unit} from {shortest:g} to {longest:g}, such as {example}"
            )
        return value

    return parse


def count(smallest: int) -> Callable[[str], int]:
    """Make the reader of whole numbers from ``smallest`` on."""

    def parse(text: str) -> int:
        if not re.fullmatch(r"[0-9]{1,10}", text) or not smallest <= int(text) <= LARGEST_COUNT:
            raise ValueError(
                f"is not valid: give a whole number, {smallest} or more, up to {LARGEST_COUNT}"
            )
        return int(text)

    return parse


def amount(text: str) -> int:
    """Read a number of bytes or objects, of any size that JSON programs can read."""
    if not re.fullmatch(r"[0-9]{1,16}", text) or int(text) > LARGEST_AMOUNT:
        raise ValueError(f"is not valid: give a whole number, 0 to {LARGEST_AMOUNT}")
    return int(text)


def switch(text: str) -> bool:
    """Read true or false."""
    if text not in ("true", "false"):
        raise ValueError("is neither true nor false")
    return text == "true"


def networks(text: str) -> tuple[Network, ...]:
    """Read addresses and networks separated by commas."""
    try:
        return tuple(ipaddress.ip_network(part.strip()) for part in text.split(","))
    except ValueError:
        raise ValueError(
            "is not a list of networks: give addresses or networks separated by commas, "
            "such as 10.0.0.0/8, ::1"
        ) from None


def digests(text: str) -> tuple[str, ...]:
    """Read SHA-256 digests in hexadecimal, separated by commas."""
    parsed = tuple(part.strip().lower() for part in text.split(","))
    if not all(_DIGEST.fullmatch(digest) for digest in parsed):
        raise ValueError(
            "is not a list of digests: give what `octavo operator-token` prints, separated by"
            " commas"
        )
    return parsed


def choice(*choices: str) -> Callable[[str], str]:
    """Make the reader of one of ``choices``."""

    def parse(text: str) -> str:
        if text not in choices:
            raise ValueError(f"is not known: give {' or '.join(choices)}")
        return text

    return parse


def line(text: str) -> str:
    """Read one line of text without control characters."""
    if not text.isprintable():
        raise ValueError("has a control character: give one line of text")
    return text


def file(text: str) -> str:
    """Read the path of a file that is there."""
    if not os.path.isfile(text):
        raise ValueError("is not a file: give the path of one")
    return text


def folder(text: str) -> Path:
    """Read the path of a folder, which need not be there yet; ``~`` is the home folder."""
    try:
        path = Path(text).expanduser()
        usable = "\0" not in text and (path.is_dir() or not path.exists())
    except (OSError, RuntimeError):
        usable = False
    if not usable:
        raise ValueError("is not a folder: give the path of one, or of one to be created")
    return path


Seconds = Annotated[float, reads(time("seconds", 0, 3600, "10 or 0.5"))]
Wait = Annotated[float, reads(time("seconds", 0.1, 86400, "20"))]
Days = Annotated[float, reads(time("days", 0.01, 3650, "30"))]
File = Annotated[str, reads(file)]
Positive = Annotated[int, reads(count(1))]
Line = Annotated[str, reads(line)]
Switch = Annotated[bool, reads(switch)]
