"""Delta debugging: reduce a failing list to the items that the failure needs."""

from collections.abc import Callable, Sequence
from typing import TypeVar

Item = TypeVar("Item")


def shrink(items: Sequence[Item], fails: Callable[[list[Item]], bool]) -> list[Item]:
    """Remove items that a failure does not need: runs of decreasing size, then single items.

    These are the complement steps of ddmin (Zeller and Hildebrandt, Simplifying and Isolating
    Failure-Inducing Input, 2002). For n items at most O(n²) lists are tried, O(n log n) if few
    items are needed.

    Args:
        items: a list that fails; it is not tried itself.
        fails: returns whether a list fails; the items keep their order.

    Returns:
        A list that fails (``items``, or one for which ``fails`` returned true), and no longer fails
        if any single item is removed, provided that ``fails`` is deterministic.
    """
    current = list(items)
    size = len(current)
    while current:
        removed = False
        start = 0
        while start < len(current):
            candidate = current[:start] + current[start + size :]
            if fails(candidate):
                current = candidate
                removed = True
            else:
                start += size
        if size == 1 and not removed:
            break
        size = max(1, min(size, len(current)) // 2)
    return current
