"""Where time, identifiers and randomness come from: every other module is handed them."""

import random
import secrets
import time

from octavo.model.accounts.token import ENTROPY
from octavo.model.identity import RANDOM_BYTES, uuid7


def now() -> float:
    """Answer the time, in seconds of Unix time."""
    return time.time()


class _RandomBytes:
    """Random bytes of the system, fetched many at a time: each call of the system is dear."""

    def __init__(self) -> None:
        self._bytes = b""
        self._at = 0

    def take(self, count: int) -> bytes:
        """Answer ``count`` bytes that were not answered before."""
        if self._at + count > len(self._bytes):
            self._bytes, self._at = secrets.token_bytes(_FETCHED), 0
        self._at += count
        return self._bytes[self._at - count : self._at]


_FETCHED = 4096
_random_bytes = _RandomBytes()


def new_id() -> str:
    """Make an identifier that no other process makes, too, and that sorts by its time.

    Not for a process that forks: its children would make the same.
    """
    # A clock before 1970 must stop nobody.
    return uuid7(max(time.time_ns() // 1_000_000, 0), _random_bytes.take(RANDOM_BYTES))


def new_entropy() -> bytes:
    """Make random bytes that nobody can guess, as many as a token takes."""
    return secrets.token_bytes(ENTROPY)


def jitter() -> float:
    """Answer a number within [0, 1), for pauses; anybody may guess it."""
    return random.random()
