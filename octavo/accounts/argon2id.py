"""Hash and verify passwords with argon2id: what the worker processes of passwords run.

A worker imports this module and nothing else of the package but what it needs, so that it starts
fast and stays small.
"""

import os
import signal
from base64 import b64encode
from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeVar

from argon2 import PasswordHasher
from argon2.exceptions import InvalidHashError, VerifyMismatchError

_SALT, _HASH = 16, 32

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Argon2:
    """The cost of a hash; the default is the second recommended profile (RFC 9106 section 4).

    Attributes:
        passes: passes over the memory.
        memory: memory in KiB.
        lanes: parallel lanes.
    """

    passes: int = 3
    memory: int = 65_536
    lanes: int = 4


def encoded_hash(form: str, entropy: bytes, cost: Argon2) -> str:
    """Return the encoded hash of ``form``, with its cost and salt.

    Args:
        form: a password in the form that is hashed
            (`octavo.model.accounts.password.hashed_form`).
        entropy: random bytes, the first 16 of which are the salt.
        cost: the cost of the hash.
    """
    return _hasher(cost).hash(form, salt=entropy[:_SALT])


def matches(form: str, encoded: str) -> bool:
    """Return whether ``form`` has the hash ``encoded``, which may have any cost."""
    try:
        return PasswordHasher().verify(encoded, form)
    except (VerifyMismatchError, InvalidHashError):
        return False


def outdated(encoded: str, cost: Argon2) -> bool:
    """Return whether the cost of ``encoded`` differs from ``cost``."""
    return _hasher(cost).check_needs_rehash(encoded)


def dummy_hash(cost: Argon2) -> str:
    """Return a hash of ``cost`` for which no password can be found."""
    salt, digest = (b64encode(bytes(size)).rstrip(b"=").decode() for size in (_SALT, _HASH))
    return f"$argon2id$v=19$m={cost.memory},t={cost.passes},p={cost.lanes}${salt}${digest}"


def at_lowest_priority(work: Callable[[], T]) -> T:
    """Return the result of ``work``, for which this process gets the lowest priority for good.

    The process also ignores SIGTERM: a service manager sends it to every process of the service,
    and the server still answers the requests that it has.
    """
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    if hasattr(os, "SCHED_IDLE"):
        # Any thread of the server that wakes up takes the processor at once. With a nice value of
        # 19, it would wait for the next tick of the scheduler now and then.
        os.sched_setscheduler(0, os.SCHED_IDLE, os.sched_param(0))
    else:
        os.setpriority(os.PRIO_PROCESS, 0, 19)
    return work()


def _hasher(cost: Argon2) -> PasswordHasher:
    return PasswordHasher(
        time_cost=cost.passes,
        memory_cost=cost.memory,
        parallelism=cost.lanes,
        hash_len=_HASH,
        salt_len=_SALT,
    )
