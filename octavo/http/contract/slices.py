"""Do large work in slices, so that other requests wait for a slice of it at most."""

from collections.abc import Callable, Iterable
from typing import TypeVar

import trio

A = TypeVar("A")
B = TypeVar("B")

SLICE_SIZE = 256 * 1024
"""Bytes that are examined before others run: a few milliseconds of work."""
SLICE_COUNT = 128
"""Small items that are converted before others run."""
_SMALL = SLICE_SIZE // SLICE_COUNT


async def converted(
    items: Iterable[A], convert: Callable[[A], B], size: Callable[[A], int] = lambda _: 0
) -> list[B]:
    """Return ``convert`` of each item, in order; what it raises propagates.

    Others run after about `SLICE_SIZE` bytes, of which each item has ``size``, or `SLICE_COUNT`
    items. A few small items take no checkpoint. When cancelled, the result is lost.
    """
    made: list[B] = []
    done = 0
    for item in items:
        if done >= SLICE_SIZE:
            await trio.lowlevel.checkpoint()
            done = 0
        made.append(convert(item))
        done += size(item) + _SMALL
    return made
