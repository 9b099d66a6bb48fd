"""The options of an actor with their defaults, and the validation of arguments."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass


@dataclass(frozen=True, kw_only=True)
class ActorOptions:
    """Limits of one actor, or of each actor of a directory.

    Args:
        mailbox_capacity: messages that may wait, at least 1.
        batch_limit: messages taken from the mailbox together, at least 1.
        admission_timeout: seconds that a sender waits for a slot in a full mailbox, unless the
            call overrides it; 0 refuses immediately.
        start_timeout: seconds that ``started`` may take.
        drain_timeout: seconds that the messages waiting at a shutdown may take; then the actor is
            cancelled.
        stopping_timeout: seconds that ``stopping`` may take; then it is cancelled.

    Raises:
        ValueError: a limit is out of its range.
    """

    mailbox_capacity: int = 1024
    batch_limit: int = 64
    admission_timeout: float = 1.0
    start_timeout: float = 30.0
    drain_timeout: float = 5.0
    stopping_timeout: float = 5.0

    def __post_init__(self) -> None:
        """Validate the limits."""
        require_positive_count("mailbox_capacity", self.mailbox_capacity)
        require_positive_count("batch_limit", self.batch_limit)
        require_seconds("admission_timeout", self.admission_timeout, zero=True)
        require_seconds("start_timeout", self.start_timeout)
        require_seconds("drain_timeout", self.drain_timeout, zero=True)
        require_seconds("stopping_timeout", self.stopping_timeout)


def require_name(name: str) -> None:
    """Raise ValueError unless ``name`` can name a child in a path."""
    if not isinstance(name, str) or not name or "/" in name or name != name.strip():
        raise ValueError(
            "a child's name must be a non-empty string without '/' and without surrounding spaces,"
            f" not {name!r}"
        )


def require_callable(what: str, value: Callable[..., object]) -> None:
    """Raise TypeError unless ``value`` can be called."""
    if not callable(value):
        raise TypeError(f"{what} must be callable, not {value!r}")


def require_instance(what: str, value: object, kind: type) -> None:
    """Raise TypeError unless ``value`` is of ``kind``."""
    if not isinstance(value, kind):
        raise TypeError(f"{what} must be a {kind.__name__}, not {value!r}")


def require_positive_count(what: str, value: object) -> None:
    """Raise ValueError unless ``value`` is an integer of at least 1."""
    if not isinstance(value, int) or isinstance(value, bool) or value < 1:
        raise ValueError(f"{what} must be an integer of at least 1, not {value!r}")


def require_seconds(what: str, value: float, *, zero: bool = False) -> None:
    """Raise ValueError unless ``value`` is a positive number of seconds.

    Infinity is allowed (no limit); with ``zero``, so is 0.
    """
    number = isinstance(value, (int, float)) and not isinstance(value, bool)
    if not number or math.isnan(value) or value < 0 or (value == 0 and not zero):
        least = "at least 0" if zero else "more than 0"
        raise ValueError(f"{what} must be {least} seconds, not {value!r}")
