"""A gate that holds virtual time while work is in progress that trio's clock does not know of."""

import math
from collections.abc import Callable, Generator
from contextlib import contextmanager
from typing import TypeVar, TypeVarTuple

import trio
from trio.testing import MockClock

T = TypeVar("T")
Ts = TypeVarTuple("Ts")


class ClockGate:
    """Prevents a ``MockClock`` from jumping to the next deadline while other work is in progress.

    A clock with ``autojump_threshold=0`` jumps whenever every task is blocked, even if one waits
    for a thread that needs a few milliseconds; a timeout around the wait then expires immediately.
    While at least one holder holds the gate, virtual time does not advance, not even by the early
    time of a `Schedule`, and the run waits in real time. The last release restores the threshold
    that the clock had at the first hold.

    If the run's clock is not a ``MockClock`` the gate does nothing, so a test double that uses it
    works in real time as well. A gate can be used by one run at a time.
    """

    def __init__(self) -> None:
        self._holders = 0
        self._clock: MockClock | None = None
        self._threshold = math.inf

    @property
    def held(self) -> bool:
        """Whether the gate is held."""
        return self._holders > 0

    @contextmanager
    def hold(self) -> Generator[None, None, None]:
        """Hold the gate during the block.

        Raises:
            RuntimeError: called outside a trio run.
        """
        clock = trio.lowlevel.current_clock()
        if self._holders == 0 and isinstance(clock, MockClock):
            self._clock, self._threshold = clock, clock.autojump_threshold
            clock.autojump_threshold = math.inf
        self._holders += 1
        try:
            yield
        finally:
            self._holders -= 1
            if self._holders == 0 and self._clock is not None:
                self._clock.autojump_threshold = self._threshold
                self._clock = None

    async def run_sync(
        self,
        sync_fn: Callable[[*Ts], T],
        *args: *Ts,
        thread_name: str | None = None,
        abandon_on_cancel: bool = False,
        limiter: trio.CapacityLimiter | None = None,
    ) -> T:
        """Call ``trio.to_thread.run_sync`` and hold the gate until it returns.

        Arguments, result, errors and cancellation are those of ``trio.to_thread.run_sync``. A
        thread that a cancelled caller abandons no longer holds the gate. Waiting for the limiter
        holds the gate, too.
        """
        with self.hold():
            return await trio.to_thread.run_sync(
                sync_fn,
                *args,
                thread_name=thread_name,
                abandon_on_cancel=abandon_on_cancel,
                limiter=limiter,
            )
