"""Paginated lists."""

from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from typing import Generic, Protocol, TypeVar

T = TypeVar("T")
T_co = TypeVar("T_co", covariant=True)


class Page(Protocol[T_co]):
    """A page of a list; ``next`` is None on the last one."""

    @property
    def items(self) -> Sequence[T_co]:
        """The items on the page."""

    @property
    def next(self) -> str | None:
        """The cursor of the next page."""


class Pages(Generic[T]):
    """Iterates over the items of all pages, and reads each page when it is needed.

    This is an iterator rather than a generator, so it need not be closed.

    Args:
        read: returns the page at a cursor; None for the first page.
    """

    def __init__(self, read: Callable[[str | None], Awaitable[Page[T]]]) -> None:
        self._read = read
        self._items: list[T] = []
        self._after: str | None = None
        self._more = True

    def __aiter__(self) -> AsyncIterator[T]:
        return self

    async def __anext__(self) -> T:
        """Return the next item. Raises the errors of `read`; iteration may continue after them."""
        while not self._items:
            if not self._more:
                raise StopAsyncIteration
            page = await self._read(self._after)
            self._items = [*reversed(page.items)]
            self._after = page.next
            self._more = page.next is not None
        return self._items.pop()
