"""A queue of those who wait, in which each holder has the next turn in rotation.

First come, first served would let one holder with many requests delay everybody else by all that it
has asked for. Pure bookkeeping without tasks: the owner of the queue decides who may have a turn.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterator
from typing import Generic, TypeVar

T = TypeVar("T")


class FairQueue(Generic[T]):
    """Holders in the order of their turns; those of one holder in the order in which they came."""

    def __init__(self) -> None:
        """Start empty."""
        self._queues: OrderedDict[str, OrderedDict[T, None]] = OrderedDict()

    def __len__(self) -> int:
        """Return the number of holders."""
        return len(self._queues)

    def __contains__(self, holder: str) -> bool:
        """Return whether somebody of ``holder`` waits."""
        return holder in self._queues

    def __iter__(self) -> Iterator[tuple[str, T]]:
        """Iterate over the holders, each with its first, in the order of their turns."""
        for holder, queue in self._queues.items():
            yield holder, next(iter(queue))

    def last(self, holder: str) -> T | None:
        """Return who came last of ``holder``; None if nobody waits."""
        queue = self._queues.get(holder)
        return next(reversed(queue)) if queue else None

    def add(self, holder: str, waiter: T) -> None:
        """Add ``waiter`` behind the others of ``holder``, whose turn is the last if it is new."""
        self._queues.setdefault(holder, OrderedDict())[waiter] = None

    def remove(self, holder: str, waiter: T) -> None:
        """Remove ``waiter``, which leaves without a turn."""
        queue = self._queues[holder]
        del queue[waiter]
        if not queue:
            del self._queues[holder]

    def take(self, holder: str) -> T:
        """Remove and return the first of ``holder``; its next one is behind all other holders."""
        waiter = next(iter(self._queues[holder]))
        self.remove(holder, waiter)
        if holder in self._queues:
            self._queues.move_to_end(holder)
        return waiter
