"""Hash and verify passwords with argon2id in threads, with bounded memory.

Each hash takes its memory (64 MiB by default) and its time, even for unauthenticated callers.
Therefore few run concurrently, few wait, and further callers are refused. On Linux the threads have
the lowest priority: hashes take the processor time that everything else leaves.
"""

import os
import sys
import threading
from base64 import b64encode
from collections.abc import AsyncIterator, Callable
from concurrent.futures import ThreadPoolExecutor
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
_LOWEST = 19

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


class Passwords:
    """Hashes and verifies passwords.

    Args:
        new_entropy: returns entropy for a salt.
        cost: the cost of new hashes; hashes of other costs can be verified.
        at_once: the number of concurrent hashes, each in a thread; None for one per four
            processors, because a hash has four lanes. While a hash of low priority runs, a thread
            that has finished another one would wait for it with Python's lock, and stop everything.
        waiting: the maximum number of callers that wait.
    """

    def __init__(
        self,
        *,
        new_entropy: NewEntropy,
        cost: Argon2 | None = None,
        at_once: int | None = None,
        waiting: int = 32,
    ) -> None:
        cost = cost or Argon2()
        at_once = at_once or max(1, _processors() // cost.lanes)
        self._new_entropy = new_entropy
        self._hasher = PasswordHasher(
            time_cost=cost.passes,
            memory_cost=cost.memory,
            parallelism=cost.lanes,
            hash_len=_HASH,
            salt_len=_SALT,
        )
        self._dummy = _dummy_hash(cost)
        self._limiter = trio.CapacityLimiter(at_once)
        # Of their own, because a thread keeps its priority.
        self._threads = ThreadPoolExecutor(at_once, "argon2", _lower_priority)
        self._capacity = at_once + waiting
        self._in_use = 0

    async def hash(self, password: str) -> str:
        """Return the encoded hash of ``password``, with its cost and salt.

        ``password`` must be valid (`octavo.model.accounts.password.password_fault`). Raises
        `TooManyAttempts` when too many callers wait. Cancellation waits for a running hash.
        """
        form = hashed_form(password)
        if form is None:
            raise ValueError("the password is too long to hash")
        salt = self._new_entropy()[:_SALT]
        async with self._slot():
            return await self._in_thread(lambda: self._hasher.hash(form, salt=salt))

    async def verify(self, password: str, encoded: str | None) -> bool:
        """Return whether ``password`` has the hash ``encoded``.

        For an account that does not exist, ``encoded`` is None: the result is False, after the same
        time. Raises and is cancelled as `hash`.
        """
        form = hashed_form(password)
        if form is None:
            return False
        async with self._slot():
            return await self._in_thread(lambda: self._matches(form, encoded or self._dummy))

    def outdated(self, encoded: str) -> bool:
        """Return whether the cost of ``encoded`` differs from that of new hashes."""
        return self._hasher.check_needs_rehash(encoded)

    def _matches(self, form: str, encoded: str) -> bool:
        try:
            return self._hasher.verify(encoded, form)
        except (VerifyMismatchError, InvalidHashError):
            return False

    async def _in_thread(self, work: Callable[[], T]) -> T:
        return await trio.to_thread.run_sync(
            lambda: self._threads.submit(work).result(), limiter=self._limiter
        )

    @asynccontextmanager
    async def _slot(self) -> AsyncIterator[None]:
        if self._in_use >= self._capacity:
            raise TooManyAttempts(_RETRY_AFTER)
        self._in_use += 1
        try:
            yield
        finally:
            self._in_use -= 1


def _processors() -> int:
    """Return the number of processors that this process may use."""
    return len(os.sched_getaffinity(0)) if sys.platform == "linux" else os.cpu_count() or 1


def _lower_priority() -> None:
    """Give this thread, and those that argon2 starts from it, the lowest priority."""
    # On other systems, the priority is that of the whole process.
    if sys.platform == "linux":
        os.setpriority(os.PRIO_PROCESS, threading.get_native_id(), _LOWEST)


def _dummy_hash(cost: Argon2) -> str:
    """Return a hash of ``cost`` for which no password can be found."""
    salt, digest = (b64encode(bytes(size)).rstrip(b"=").decode() for size in (_SALT, _HASH))
    return f"$argon2id$v=19$m={cost.memory},t={cost.passes},p={cost.lanes}${salt}${digest}"
