"""A queue in which the holders of waiting items take turns in rotation.

In order of arrival, one holder with many requests would delay all others. Pure bookkeeping without
tasks: the owner of the queue decides when an item has its turn.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterator
from typing import Generic, TypeVar

T = TypeVar("T")


class FairQueue(Generic[T]):
    """Holders in the order of their turns, each with its items in the order of arrival."""

    def __init__(self) -> None:
        """Start empty."""
        self._queues: OrderedDict[str, OrderedDict[T, None]] = OrderedDict()

    def __len__(self) -> int:
        """Return the number of holders."""
        return len(self._queues)

    def __contains__(self, holder: str) -> bool:
        """Return whether an item of ``holder`` waits."""
        return holder in self._queues

    def __iter__(self) -> Iterator[tuple[str, T]]:
        """Iterate over the holders in the order of their turns, each with its first item."""
        for holder, queue in self._queues.items():
            yield holder, next(iter(queue))

    def last(self, holder: str) -> T | None:
        """Return the last item of ``holder``; None if none waits."""
        queue = self._queues.get(holder)
        return next(reversed(queue)) if queue else None

    def add(self, holder: str, waiter: T) -> None:
        """Add ``waiter`` as the last item of ``holder``; a new holder gets the last turn."""
        self._queues.setdefault(holder, OrderedDict())[waiter] = None

    def remove(self, holder: str, waiter: T) -> None:
        """Remove ``waiter`` before its turn."""
        queue = self._queues[holder]
        del queue[waiter]
        if not queue:
            del self._queues[holder]

    def take(self, holder: str) -> T:
        """Remove and return the first item of ``holder``, which then gets the last turn."""
        waiter = next(iter(self._queues[holder]))
        self.remove(holder, waiter)
        if holder in self._queues:
            self._queues.move_to_end(holder)
        return waiter
