"""Hash and verify passwords with argon2id, in threads, and no more at once than memory allows.

Each hash takes its memory (64 MiB by default) and its time whoever asks; so few run at once, few
wait, and whoever comes then is told to come back.
"""

from base64 import b64encode
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import TypeVar

import trio
from argon2 import PasswordHasher
from argon2.exceptions import InvalidHashError, VerifyMismatchError

from octavo.accounts.ports import NewEntropy
from octavo.model.accounts.password import hashed_form
from octavo.model.accounts.refusal import TooManyAttempts

_SALT, _HASH = 16, 32
_RETRY_AFTER = 2

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Argon2:
    """The cost of a hash; the default is the second recommended profile (RFC 9106 section 4).

    Attributes:
        passes: over the memory.
        memory: KiB.
        lanes: threads.
    """

    passes: int = 3
    memory: int = 65_536
    lanes: int = 4


class Passwords:
    """Hashes and verifies passwords.

    Args:
        new_entropy: makes the salts.
        cost: of a hash. Hashes of another cost are verified all the same.
        at_once: hashes that run at once, each in a thread of its own.
        waiting: those that wait at most.
    """

    def __init__(
        self,
        *,
        new_entropy: NewEntropy,
        cost: Argon2 | None = None,
        at_once: int = 2,
        waiting: int = 32,
    ) -> None:
        cost = cost or Argon2()
        self._new_entropy = new_entropy
        self._hasher = PasswordHasher(
            time_cost=cost.passes,
            memory_cost=cost.memory,
            parallelism=cost.lanes,
            hash_len=_HASH,
            salt_len=_SALT,
        )
        self._nobodys = _nobodys_hash(cost)
        self._limiter = trio.CapacityLimiter(at_once)
        self._places = at_once + waiting
        self._taken = 0

    async def hash(self, password: str) -> str:
        """Return ``password`` as it is kept: encoded with its cost and its salt.

        ``password`` was found good (`octavo.model.accounts.password.password_fault`). Raises
        `TooManyAttempts` when too many wait. Cancelled while it runs, it ends first.
        """
        form = hashed_form(password)
        if form is None:
            raise ValueError("a password that is too long can't be hashed")
        salt = self._new_entropy()[:_SALT]
        async with self._place():
            return await self._in_thread(lambda: self._hasher.hash(form, salt=salt))

    async def verify(self, password: str, encoded: str | None) -> bool:
        """Return whether ``password`` is the one that was ``encoded``.

        For an account that there is not, ``encoded`` is None: the answer is False, and takes as
        long. Raises and is cancelled as `hash`.
        """
        form = hashed_form(password)
        if form is None:
            return False
        async with self._place():
            return await self._in_thread(lambda: self._matches(form, encoded or self._nobodys))

    def outdated(self, encoded: str) -> bool:
        """Return whether ``encoded`` has another cost than a hash made now."""
        return self._hasher.check_needs_rehash(encoded)

    def _matches(self, form: str, encoded: str) -> bool:
        try:
            return self._hasher.verify(encoded, form)
        except (VerifyMismatchError, InvalidHashError):
            return False

    async def _in_thread(self, work: Callable[[], T]) -> T:
        return await trio.to_thread.run_sync(work, limiter=self._limiter)

    @asynccontextmanager
    async def _place(self) -> AsyncIterator[None]:
        if self._taken >= self._places:
            raise TooManyAttempts(_RETRY_AFTER)
        self._taken += 1
        try:
            yield
        finally:
            self._taken -= 1


def _nobodys_hash(cost: Argon2) -> str:
    """Return a hash of ``cost`` that no password has, as nobody can find one for it."""
    salt, digest = (b64encode(bytes(size)).rstrip(b"=").decode() for size in (_SALT, _HASH))
    return f"$argon2id$v=19$m={cost.memory},t={cost.passes},p={cost.lanes}${salt}${digest}"
