"""One task that measures the same delay for any number of items."""

from collections import OrderedDict
from collections.abc import Callable
from typing import Generic, TypeVar

import trio

T = TypeVar("T")

CALLED_PER_TURN = 32
"""Items that are passed on before the loop yields to other tasks."""


class SharedTimer(Generic[T]):
    """Passes items on, each a fixed time after it was set, while `run` runs.

    Args:
        seconds: the delay; infinite to pass nothing on.
        elapsed: called with each item when its time has come. It must neither block nor raise.
    """

    def __init__(self, seconds: float, elapsed: Callable[[T], None]) -> None:
        self._seconds = seconds
        self._elapsed = elapsed
        # In the order of their times, since all have the same delay.
        self._times: OrderedDict[T, float] = OrderedDict()
        self._some = trio.Event()

    def set(self, item: T) -> None:
        """Start the delay of ``item``, anew if it was set already."""
        self.clear(item)
        self._times[item] = trio.current_time() + self._seconds
        self._some.set()

    def clear(self, item: T) -> bool:
        """Forget ``item``; return whether it was set."""
        return self._times.pop(item, None) is not None

    async def run(self) -> None:
        """Pass items on, until cancelled. Those that are set remain set."""
        times = self._times
        while True:
            while not times:
                self._some = trio.Event()
                await self._some.wait()
            await trio.sleep_until(next(iter(times.values())))
            passed = 0
            while times and next(iter(times.values())) <= trio.current_time():
                item, _ = times.popitem(last=False)
                self._elapsed(item)
                passed += 1
                if passed % CALLED_PER_TURN == 0:
                    await trio.lowlevel.checkpoint()
