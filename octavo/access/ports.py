"""The types of the functions that this package takes for time, identifiers and entropy."""

from collections.abc import Callable

Clock = Callable[[], float]
"""Returns Unix time in seconds."""

NewId = Callable[[], str]
"""Returns an identifier: a UUID of version 7, so that identifiers sort by creation time."""

NewEntropy = Callable[[], bytes]
"""Returns `octavo.model.access.token.ENTROPY` unpredictable random bytes."""


def milliseconds(now: float) -> int:
    """Return a time of the clock in whole milliseconds, as it is stored."""
    return int(now * 1000)
