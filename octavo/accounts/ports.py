"""What the use cases of this room are handed, as types."""

from collections.abc import Callable

Clock = Callable[[], float]
"""Answers the time, in seconds of Unix time."""

NewId = Callable[[], str]
"""Makes an identifier: a UUID of version 7, so that identifiers sort by the time they were made."""

NewEntropy = Callable[[], bytes]
"""Makes `octavo.model.accounts.token.ENTROPY` random bytes that nobody can guess."""


def milliseconds(now: float) -> int:
    """Return a time of the clock as it is kept, in whole milliseconds."""
    return int(now * 1000)
