"""Lists that come a page at a time."""

from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from typing import Generic, Protocol, TypeVar

T = TypeVar("T")
T_co = TypeVar("T_co", covariant=True)


class Page(Protocol[T_co]):
    """A page; ``next`` is None on the last one."""

    @property
    def items(self) -> Sequence[T_co]:
        """What stands on it."""

    @property
    def next(self) -> str | None:
        """What the page behind it is asked for by."""


class Pages(Generic[T]):
    """All that stands on all pages, each page read when it is wanted.

    An iterator, and no generator: it may be left at any time without being closed.

    Args:
        read: answers the page behind what is given; None for the first.
    """

    def __init__(self, read: Callable[[str | None], Awaitable[Page[T]]]) -> None:
        self._read = read
        self._items: list[T] = []
        self._after: str | None = None
        self._more = True

    def __aiter__(self) -> AsyncIterator[T]:
        return self

    async def __anext__(self) -> T:
        """Answer the next item. Raises what reading a page raises, and can go on behind that."""
        while not self._items:
            if not self._more:
                raise StopAsyncIteration
            page = await self._read(self._after)
            self._items = [*reversed(page.items)]
            self._after = page.next
            self._more = page.next is not None
        return self._items.pop()
