"""Checks of the bounds that callers give: a wrong one is told at once, in full."""

from __future__ import annotations

import math


def require_positive_count(what: str, value: object) -> None:
    """Raise ValueError unless ``value`` is a whole number of at least 1."""
    if not isinstance(value, int) or isinstance(value, bool) or value < 1:
        raise ValueError(f"{what} must be a whole number of at least 1, not {value!r}")


def require_seconds(what: str, value: float, *, zero: bool = False) -> None:
    """Raise ValueError unless ``value`` is a positive number of seconds.

    Infinity is allowed (no bound); with ``zero``, so is 0.
    """
    number = isinstance(value, (int, float)) and not isinstance(value, bool)
    if not number or math.isnan(value) or value < 0 or (value == 0 and not zero):
        least = "at least 0" if zero else "more than 0"
        raise ValueError(f"{what} must be {least} seconds, not {value!r}")
