"""The pagination of the feed of changes."""

from collections.abc import Sequence
from itertools import groupby
from operator import itemgetter
from typing import TypeVar

K = TypeVar("K")


def page_end(sizes: Sequence[tuple[K, int]], limit: int, max_bytes: int) -> K | None:
    """Return the last position (or other key) of a page, or None if all entries fit.

    ``sizes`` has the position and size in bytes of each entry, in order, and ``limit`` + 1
    entries if there are as many. A page has at most ``limit`` entries and ``max_bytes`` bytes;
    but the entries of one position are never split, and a page has at least one position.
    """
    count = total = 0
    end: K | None = None
    for position, entries in groupby(sizes, key=itemgetter(0)):
        for _, size in entries:
            count += 1
            total += size
        if end is not None and (count > limit or total > max_bytes):
            return end
        end = position
    return end if len(sizes) > limit else None
