"""A gate in front of virtual time, closed while work is under way that trio's clock cannot see."""

import math
from collections.abc import Callable, Generator
from contextlib import contextmanager
from typing import TypeVar, TypeVarTuple

import trio
from trio.testing import MockClock

T = TypeVar("T")
Ts = TypeVarTuple("Ts")


class ClockGate:
    """Keeps a ``MockClock`` from jumping to the next deadline while work is in flight elsewhere.

    A clock with ``autojump_threshold=0`` jumps whenever every task is blocked, be it on a thread
    that needs a few milliseconds; a timeout around the wait then strikes at once. While the gate is
    held, by however many holders, virtual time stands still and the run waits in real time; early
    time of a `Schedule` stands still too. The last release restores the threshold that the clock
    had at the first hold.

    Where the run's clock is no ``MockClock`` the gate does nothing, so that a double built on it
    also serves in real time. A gate is of use to one run at a time.
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
        """Hold the gate within the block, however that ends.

        Raises:
            RuntimeError: outside of a trio run.
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
        """Call ``trio.to_thread.run_sync`` with the gate held until that returns.

        Arguments, result, errors and cancellation are those of ``trio.to_thread.run_sync``. A
        thread that a cancelled caller abandons holds the gate no longer: nobody waits for it. The
        wait for the limiter holds the gate too.
        """
        with self.hold():
            return await trio.to_thread.run_sync(
                sync_fn,
                *args,
                thread_name=thread_name,
                abandon_on_cancel=abandon_on_cancel,
                limiter=limiter,
            )
