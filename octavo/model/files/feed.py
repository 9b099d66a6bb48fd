"""Where a page of the feed ends."""

from collections.abc import Sequence
from itertools import groupby
from operator import itemgetter
from typing import TypeVar

K = TypeVar("K")


def page_end(sizes: Sequence[tuple[K, int]], limit: int, most_bytes: int) -> K | None:
    """Return the last position (or other key) of a page, of which every entry stands on it.

    ``sizes`` are the positions and bytes of the entries that follow, in order, ``limit`` + 1 of
    them if there are as many. A page has at most ``limit`` entries and ``most_bytes`` bytes; but
    what happened at one position is never torn, and a page holds one position at least. None:
    all of them fit.
    """
    count = total = 0
    end: K | None = None
    for position, entries in groupby(sizes, key=itemgetter(0)):
        for _, size in entries:
            count += 1
            total += size
        if end is not None and (count > limit or total > most_bytes):
            return end
        end = position
    return end if len(sizes) > limit else None
