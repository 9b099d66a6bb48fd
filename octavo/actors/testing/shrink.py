"""Delta debugging: the few items of a failing list that are needed for it to fail."""

from collections.abc import Callable, Sequence
from typing import TypeVar

Item = TypeVar("Item")


def shrink(items: Sequence[Item], fails: Callable[[list[Item]], bool]) -> list[Item]:
    """Remove what a failure does not need: ever smaller runs of items, at last single ones.

    These are the complement steps of ddmin (Zeller and Hildebrandt, Simplifying and Isolating
    Failure-Inducing Input, 2002). Of n items at most O(n²) lists are tried, O(n log n) if few are
    needed.

    Args:
        items: a list that fails; it is not tried itself.
        fails: whether a list, whose items are in their old order, fails.

    Returns:
        A list that fails (``items``, or one for which ``fails`` said so), and that no longer fails
        if any single item is removed, provided that ``fails`` gives equal answers to equal lists.
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
