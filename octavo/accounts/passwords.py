"""Hash and verify passwords with argon2id in worker processes, with bounded memory.

Each hash takes its memory (64 MiB by default) and its time, even for unauthenticated callers.
Therefore few run concurrently, few wait, and further callers are refused. They run in processes of
their own, of the lowest priority: hashes take the processor time that everything else leaves, and
share neither Python's lock nor the memory map with the server.
"""

import math
import os
import sys
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from functools import partial
from typing import Protocol, TypeVar

import trio
import trio_parallel  # type: ignore[import-untyped]

from octavo.accounts.argon2id import (
    Argon2,
    at_lowest_priority,
    dummy_hash,
    encoded_hash,
    matches,
    outdated,
)
from octavo.accounts.ports import NewEntropy
from octavo.model.accounts.password import hashed_form
from octavo.model.accounts.refusal import TooManyAttempts

_SHORTEST_RETRY, _LONGEST_RETRY = 2, 60

T = TypeVar("T")


class RunHash(Protocol):
    """Runs work that computes a hash."""

    def __call__(self, work: Callable[[], T]) -> Awaitable[T]:
        """Return the result of ``work``, which can be pickled."""


class Passwords:
    """Hashes and verifies passwords.

    Args:
        new_entropy: returns entropy for a salt.
        cost: the cost of new hashes; hashes of other costs can be verified.
        at_once: the number of concurrent hashes, each in a process; None for one per four
            processors, because a hash has four lanes.
        waiting: the maximum number of callers that wait.
        run: runs a hash, in a worker process unless given.
    """

    def __init__(
        self,
        *,
        new_entropy: NewEntropy,
        cost: Argon2 | None = None,
        at_once: int | None = None,
        waiting: int = 32,
        run: RunHash | None = None,
    ) -> None:
        self._cost = cost = cost or Argon2()
        at_once = at_once or max(1, _processors() // cost.lanes)
        self._new_entropy = new_entropy
        self._dummy = dummy_hash(cost)
        self._limiter = trio.CapacityLimiter(at_once)
        self._run = run or run_in_process
        self._capacity = at_once + waiting
        self._in_use = 0
        self._seconds = 0.0

    async def hash(self, password: str) -> str:
        """Return the encoded hash of ``password``, with its cost and salt.

        ``password`` must be valid (`octavo.model.accounts.password.password_fault`). Raises
        `TooManyAttempts` when too many callers wait. Cancellation waits for a running hash.
        """
        form = hashed_form(password)
        if form is None:
            raise ValueError("the password is too long to hash")
        work = partial(encoded_hash, form, self._new_entropy(), self._cost)
        async with self._slot():
            return await self._run(work)

    async def verify(self, password: str, encoded: str | None) -> bool:
        """Return whether ``password`` has the hash ``encoded``.

        For an account that does not exist, ``encoded`` is None: the result is False, after the same
        time. Raises and is cancelled as `hash`.
        """
        form = hashed_form(password)
        if form is None:
            return False
        async with self._slot():
            return await self._run(partial(matches, form, encoded or self._dummy))

    def outdated(self, encoded: str) -> bool:
        """Return whether the cost of ``encoded`` differs from that of new hashes."""
        return outdated(encoded, self._cost)

    @asynccontextmanager
    async def _slot(self) -> AsyncIterator[None]:
        if self._in_use >= self._capacity:
            raise TooManyAttempts(self._retry_after())
        self._in_use += 1
        try:
            async with self._limiter:
                began = trio.current_time()
                yield
                self._seconds = trio.current_time() - began
        finally:
            self._in_use -= 1

    def _retry_after(self) -> int:
        """Return the seconds until those who wait now have had their turn."""
        turns = self._in_use / self._limiter.total_tokens
        expected = math.ceil(turns * self._seconds)
        return max(_SHORTEST_RETRY, min(expected, _LONGEST_RETRY))


async def run_in_process(work: Callable[[], T]) -> T:
    """Return the result of ``work``, computed in a worker process.

    A process is kept for the next work, and ends after ten minutes without. ``work`` is started
    once more if its process was killed. Cancellation waits until it is done. Raises what ``work``
    raises, and `trio_parallel.BrokenWorkerError` if the second process ends too.
    """
    job = partial(at_lowest_priority, work)
    # The caller has limited the number of processes.
    limiter = trio.CapacityLimiter(1)
    try:
        result: T = await trio_parallel.run_sync(job, limiter=limiter)
    except trio_parallel.BrokenWorkerError:
        # Killed, for its memory perhaps; a new one is started.
        result = await trio_parallel.run_sync(job, limiter=limiter)
    return result


def _processors() -> int:
    """Return the number of processors that this process may use."""
    return len(os.sched_getaffinity(0)) if sys.platform == "linux" else os.cpu_count() or 1
