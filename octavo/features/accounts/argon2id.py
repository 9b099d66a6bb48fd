"""Hash and verify passwords with argon2id: what the worker processes of passwords run.

A worker imports this module and little else, so that it starts fast and stays small. Arguments and
results are JSON.
"""

from base64 import b64encode
from dataclasses import dataclass

from argon2 import PasswordHasher
from argon2.exceptions import InvalidHashError, VerifyMismatchError

_SALT, _HASH = 16, 32


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


def encoded_hash(form: str, entropy: str, passes: int, memory: int, lanes: int) -> str:
    """Return the encoded hash of ``form``, with its cost and salt.

    Args:
        form: a password in the form that is hashed
            (`octavo.features.accounts.rules.password.hashed_form`).
        entropy: random bytes in hexadecimal, the first 16 of which are the salt.
        passes: as in `Argon2`.
        memory: as in `Argon2`.
        lanes: as in `Argon2`.
    """
    salt = bytes.fromhex(entropy)[:_SALT]
    return _hasher(Argon2(passes, memory, lanes)).hash(form, salt=salt)


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


def _hasher(cost: Argon2) -> PasswordHasher:
    return PasswordHasher(
        time_cost=cost.passes,
        memory_cost=cost.memory,
        parallelism=cost.lanes,
        hash_len=_HASH,
        salt_len=_SALT,
    )
