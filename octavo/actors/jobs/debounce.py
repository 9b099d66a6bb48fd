"""Delay the work that follows changes until the changes pause. Pure bookkeeping, without I/O."""

import math
from collections.abc import Hashable
from typing import Generic, TypeVar

K = TypeVar("K", bound=Hashable)


class Debounce(Generic[K]):
    """Keys that have changed, each due when its changes pause, or have gone on for long.

    Times are in seconds of one clock that does not go back.

    Args:
        quiet: the time without a change after which a key is due.
        longest: the time after its first change after which it is due in any case.
    """

    def __init__(self, quiet: float, longest: float) -> None:
        self._quiet = quiet
        self._longest = longest
        # The first is the one whose last change, or first change, was the earliest.
        self._last: dict[K, float] = {}
        self._first: dict[K, float] = {}

    def changed(self, key: K, now: float) -> None:
        """Record a change of ``key``; ``now`` is not before the time of another call."""
        self._last.pop(key, None)
        self._last[key] = now
        self._first.setdefault(key, now)

    def due(self) -> float:
        """Return the time when the next key is due; infinity without any."""
        if not self._last:
            return math.inf
        pause = next(iter(self._last.values())) + self._quiet
        return min(pause, next(iter(self._first.values())) + self._longest)

    def take(self, now: float) -> set[K]:
        """Remove the keys that are due, and return them."""
        taken: set[K] = set()
        for times, delay in ((self._last, self._quiet), (self._first, self._longest)):
            for key, time in times.items():
                if time + delay > now:
                    break
                taken.add(key)
        for key in taken:
            del self._last[key], self._first[key]
        return taken
