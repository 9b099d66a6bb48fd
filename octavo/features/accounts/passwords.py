"""Hash and verify passwords with argon2id in worker processes, with bounded memory.

A hash takes 64 MiB by default, and unauthenticated callers can cause one. Therefore few hashes run
at once, few callers wait, and others are refused. Known callers, who proved their identity before,
have queue places that strangers can't take, a few for each account. They go before strangers, and
their accounts take turns. Hashes run in processes of the lowest priority, so they delay nothing
else.
"""

import math
import os
import sys
from collections import Counter
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager, nullcontext
from dataclasses import astuple

import trio
from octavo_rules.identity import AccountId

from octavo.access.ports import NewEntropy
from octavo.features.accounts import argon2id
from octavo.features.accounts.argon2id import Argon2, dummy_hash, encoded_hash, matches, outdated
from octavo.features.accounts.rules.password import hashed_form
from octavo.model.access.account import PasswordQueueFull
from octavo.store.fair_turns import FairTurns
from octavo.workers import RunWork, WorkerPool

MAX_MEMORY = 1024 * 1024 * 1024
"""The address space of a worker process, in bytes: a hash takes 64 MiB, and the stacks of threads
and their arenas a multiple of that, most of which is never used."""
HASH_SECONDS = 45.0
"""Seconds that a hash may take. Workers run at low priority; allow for a busy machine."""
_SHORTEST_RETRY, _LONGEST_RETRY = 2, 60
_STRANGERS = ""
"""The account in whose name all strangers take turns."""
KNOWN_OF_ONE = 2
"""Maximum number of known callers of one account at a time: one account can't fill the queue."""


def hash_workers(size: int | None = None, *, ahead: bool = True) -> WorkerPool:
    """Return ``size`` processes that hash passwords, each with the memory of a hash.

    None stands for one per four processors, as a hash has four lanes. With ``ahead``, they are
    started before they are needed.
    """
    return WorkerPool(
        size or max(1, _processors() // Argon2().lanes),
        seconds=HASH_SECONDS,
        preloaded=[argon2id.__name__],
        max_memory=MAX_MEMORY,
        # Each lane of a hash is a thread.
        threads=True,
        ahead=ahead,
    )


class Passwords:
    """Hashes and verifies passwords.

    Args:
        new_entropy: returns entropy for a salt.
        run: runs a hash, in a worker process.
        cost: the cost of new hashes; hashes of other costs can be verified.
        at_once: the number of concurrent hashes; None for one per four processors.
        waiting: the maximum number of callers that wait.
        known_waiting: how many more may wait if they are known.

    Attributes:
        capacity: the maximum number of callers, apart from known ones.
        known_capacity: how many more callers there may be if they are known.
        in_use: the present number of callers.
    """

    def __init__(
        self,
        *,
        new_entropy: NewEntropy,
        run: RunWork,
        cost: Argon2 | None = None,
        at_once: int | None = None,
        waiting: int = 32,
        known_waiting: int = 16,
    ) -> None:
        self._cost = cost = cost or Argon2()
        at_once = at_once or max(1, _processors() // cost.lanes)
        self._new_entropy = new_entropy
        self._dummy = dummy_hash(cost)
        self._at_once = at_once
        self._turns = FairTurns(at_once, at_once)
        self._known: Counter[AccountId] = Counter()
        self._strangers = trio.CapacityLimiter(at_once)
        self._run = run
        self.capacity = at_once + waiting
        self.known_capacity = known_waiting
        self.in_use = 0
        self._seconds = 0.0

    async def hash(self, password: str) -> str:
        """Return the encoded hash of ``password``, with its cost and salt.

        ``password`` must be valid (`password_fault`). Raises
        `PasswordQueueFull` when too many callers wait, and `octavo.workers.WorkerFailed`. If
        cancelled, a running hash is given up.
        """
        form = hashed_form(password)
        if form is None:
            raise ValueError("the password is too long to hash")
        entropy = self._new_entropy().hex()
        async with self._slot():
            return await self._run(encoded_hash, form, entropy, *astuple(self._cost))

    async def verify(
        self,
        password: str,
        encoded: str | None,
        *,
        known: AccountId | None = None,
        placed: bool = False,
    ) -> bool:
        """Return whether ``password`` has the hash ``encoded``.

        For an account that does not exist, ``encoded`` is None: the result is False, after the same
        time. ``known`` is the account of a known caller. ``placed`` is whether the caller has a
        `place`. Raises the same errors as `hash`, and is cancelled like it.
        """
        form = hashed_form(password)
        if form is None:
            return False
        async with self._slot(known=known, placed=placed):
            return await self._run(matches, form, encoded or self._dummy)

    def outdated(self, encoded: str) -> bool:
        """Return whether the cost of ``encoded`` differs from that of new hashes."""
        return outdated(encoded, self._cost)

    def require_room(self, *, known: AccountId | None = None) -> None:
        """Raise `PasswordQueueFull` when too many callers wait.

        More ``known`` callers may wait, but at most `KNOWN_OF_ONE` of one account. Call this before
        an attempt is counted: a caller whose password was not checked has made none.
        """
        if known is None:
            full = self.in_use >= self.capacity
        else:
            full = (
                self.in_use >= self.capacity + self.known_capacity
                or self._known[known] >= KNOWN_OF_ONE
            )
        if full:
            raise PasswordQueueFull(self._retry_after())

    @contextmanager
    def place(self, *, known: AccountId | None = None) -> Iterator[None]:
        """Reserve a place in the queue for one `verify`.

        The caller can then count the attempt and look up the hash, while nobody else takes the
        place. Raises the same errors as `require_room`.
        """
        self.require_room(known=known)
        self.in_use += 1
        if known is not None:
            self._known[known] += 1
        try:
            yield
        finally:
            self.in_use -= 1
            if known is not None:
                self._known -= Counter([known])

    @asynccontextmanager
    async def _slot(
        self, *, known: AccountId | None = None, placed: bool = False
    ) -> AsyncIterator[None]:
        with nullcontext() if placed else self.place(known=known):
            # Strangers queue among themselves first: few of them are ahead of a known caller.
            async with (
                nullcontext() if known else self._strangers,
                self._turns.turn(known or _STRANGERS),
            ):
                began = trio.current_time()
                yield
                self._seconds = trio.current_time() - began

    def _retry_after(self) -> int:
        """Return the seconds until those who wait now have had their turn."""
        turns = self.in_use / self._at_once
        expected = math.ceil(turns * self._seconds)
        return max(_SHORTEST_RETRY, min(expected, _LONGEST_RETRY))


def _processors() -> int:
    """Return the number of processors that this process may use."""
    return len(os.sched_getaffinity(0)) if sys.platform == "linux" else os.cpu_count() or 1
