"""Where time, identifiers and randomness come from: every other module is handed them."""

import random
import secrets
import time

from octavo.model.token import ENTROPY
from octavo.model.uuid7 import RANDOM_BYTES, uuid7


def now() -> float:
    """Answer the time, in seconds of Unix time."""
    return time.time()


def new_id() -> str:
    """Make an identifier that no other process makes, too, and that sorts by its time."""
    return uuid7(time.time_ns() // 1_000_000, secrets.token_bytes(RANDOM_BYTES))


def new_entropy() -> bytes:
    """Make random bytes that nobody can guess, as many as a token takes."""
    return secrets.token_bytes(ENTROPY)


def jitter() -> float:
    """Answer a number within [0, 1), for pauses; anybody may guess it."""
    return random.random()
