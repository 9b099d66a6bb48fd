"""Share threads, or connections to a database, fairly between accounts and other holders.

In order of arrival, one account with many requests would delay all others. So a holder has at most
a part of the turns, and waiting holders are served in rotation.
"""

from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from contextvars import ContextVar
from typing import Protocol, TypeVar

import trio
from greenroom.fair_queue import FairQueue

T = TypeVar("T")

working_for: ContextVar[str] = ContextVar("octavo_working_for", default="")
"""The holder that the task works for: an account, a network, a workspace; empty for a job."""


class FairTurns:
    """Turns for holders, which are names such as those of `working_for`.

    Args:
        size: the number of turns at the same time.
        most_of_one: the turns that one holder has at most.
    """

    def __init__(self, size: int, most_of_one: int) -> None:
        self._free = size
        self._most = most_of_one
        self._held: dict[str, int] = {}
        # Each event is set when its turn was granted.
        self._waiting = FairQueue[trio.Event]()

    async def acquire(self, holder: str) -> None:
        """Wait for a turn of ``holder``; the caller must call `release`.

        Requests of one holder are served in order. When cancelled, no turn is taken.
        """
        if self._free and holder not in self._waiting and self._may_have_more(holder):
            await trio.lowlevel.checkpoint()
            # Another task may have taken it meanwhile.
            if self._free and holder not in self._waiting and self._may_have_more(holder):
                self._grant(holder)
                return
        granted = trio.Event()
        self._waiting.add(holder, granted)
        try:
            await granted.wait()
        except trio.Cancelled:
            if granted.is_set():
                self.release(holder)
            else:
                self._waiting.remove(holder, granted)
            raise

    def release(self, holder: str) -> None:
        """End a turn of ``holder``, and begin one of the next holder that waits."""
        self._free += 1
        held = self._held[holder] - 1
        if held:
            self._held[holder] = held
        else:
            del self._held[holder]
        self._admit()

    @asynccontextmanager
    async def turn(self, holder: str | None = None) -> AsyncIterator[None]:
        """Hold a turn of ``holder`` during the block; None means that of `working_for`."""
        holder = working_for.get() if holder is None else holder
        await self.acquire(holder)
        try:
            yield
        finally:
            self.release(holder)

    def _may_have_more(self, holder: str) -> bool:
        return self._held.get(holder, 0) < self._most

    def _grant(self, holder: str) -> None:
        self._free -= 1
        self._held[holder] = self._held.get(holder, 0) + 1

    def _admit(self) -> None:
        # Passes over only those that already have their maximum.
        for holder, _ in self._waiting:
            if self._may_have_more(holder):
                self._grant(holder)
                self._waiting.take(holder).set()
                return


class RunInThread(Protocol):
    """Runs a function outside of the event loop, such as `FairThreads.run`."""

    def __call__(self, work: Callable[[], T], /) -> Awaitable[T]:
        """Return what ``work`` returns; its exceptions propagate."""


class FairThreads:
    """Runs functions in ``size`` threads, of which one holder uses at most half."""

    def __init__(self, size: int) -> None:
        self._turns = FairTurns(size, max(1, size // 2))
        self._limiter = trio.CapacityLimiter(size)

    async def run(self, work: Callable[[], T]) -> T:
        """Return the result of ``work``, run in a turn of `working_for`; exceptions propagate.

        Cancellation is deferred while ``work`` runs.
        """
        async with self._turns.turn():
            return await trio.to_thread.run_sync(work, limiter=self._limiter)
