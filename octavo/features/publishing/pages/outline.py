"""The table of contents of a note: its headings and how deep they are."""

from collections.abc import Iterator, Sequence
from typing import NamedTuple, Protocol

_SHORTEST = 3
_DEEPEST = 3


class OutlinedHeading(Protocol):
    """A heading of a note."""

    @property
    def level(self) -> int:
        """From 1 to 6."""

    @property
    def text(self) -> str:
        """Plain text."""

    @property
    def anchor(self) -> str:
        """The fragment that leads to it."""


class OutlineItem(NamedTuple):
    """A heading with its depth from 1."""

    depth: int
    entry: OutlinedHeading


def outline_of(entries: Sequence[OutlinedHeading]) -> Iterator[OutlineItem]:
    """Yield the headings, each with its depth; nothing if they are too few."""
    if len(entries) < _SHORTEST:
        return
    around: list[int] = []
    for entry in entries:
        while around and around[-1] >= entry.level:
            around.pop()
        around.append(entry.level)
        yield OutlineItem(min(len(around), _DEEPEST), entry)
