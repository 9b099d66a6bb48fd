"""The sources of time, identifiers and randomness; every other module takes them as arguments."""

import random
import secrets
import time

from octavo.model.accounts.token import ENTROPY
from octavo.model.identity import RANDOM_BYTES, uuid7


def now() -> float:
    """Return the time, in seconds of Unix time."""
    return time.time()


class _RandomBytes:
    """Random bytes of the system, fetched in blocks, because each system call is expensive."""

    def __init__(self) -> None:
        self._bytes = b""
        self._at = 0

    def take(self, count: int) -> bytes:
        """Return ``count`` bytes that were not returned before."""
        if self._at + count > len(self._bytes):
            self._bytes, self._at = secrets.token_bytes(_FETCHED), 0
        self._at += count
        return self._bytes[self._at - count : self._at]


_FETCHED = 4096
_random_bytes = _RandomBytes()


def new_id() -> str:
    """Return an identifier that is unique across processes and sorts by time.

    Not for a process that forks: its children would make the same identifiers.
    """
    # A clock before 1970 must not raise.
    return uuid7(max(time.time_ns() // 1_000_000, 0), _random_bytes.take(RANDOM_BYTES))


def new_entropy() -> bytes:
    """Return unguessable random bytes for a token."""
    return secrets.token_bytes(ENTROPY)


def jitter() -> float:
    """Return a number within [0, 1), for pauses; it may be guessable."""
    return random.random()


def system_random() -> random.Random:
    """Return a generator of unguessable randomness, for `octavo.client`."""
    return random.SystemRandom()
