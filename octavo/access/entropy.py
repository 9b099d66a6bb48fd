"""The sources of time, identifiers and randomness; every other module takes them as arguments."""

import random
import secrets
import time

from octavo_rules.identity import RANDOM_BYTES, uuid7

from octavo.model.access.token import ENTROPY

now = time.time
"""Returns the time, in seconds of Unix time."""
elapsed = time.perf_counter
"""Returns a time in seconds, for durations; it costs less than trio's clock."""


# Fetched in blocks, because each system call is expensive.
_FETCHED = 512
_random_bytes: list[bytes] = []


def new_id() -> str:
    """Return an identifier that is unique across processes and sorts by time.

    Not for a process that forks: its children would make the same identifiers.
    """
    if not _random_bytes:
        block = secrets.token_bytes(_FETCHED * RANDOM_BYTES)
        starts = range(0, len(block), RANDOM_BYTES)
        _random_bytes.extend([block[at : at + RANDOM_BYTES] for at in starts])
    # A clock before 1970 must not raise.
    return uuid7(max(time.time_ns() // 1_000_000, 0), _random_bytes.pop())


def new_entropy() -> bytes:
    """Return unguessable random bytes for a token."""
    return secrets.token_bytes(ENTROPY)


def jitter() -> float:
    """Return a number within [0, 1), for pauses; it may be guessable."""
    return random.random()


def system_random() -> random.Random:
    """Return a generator of unguessable randomness, for `octavo_client`."""
    return random.SystemRandom()
