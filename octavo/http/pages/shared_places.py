"""Places for work of which each client may take only a few, however much it asks for."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import trio


class SharedPlaces:
    """Places that clients wait for.

    Args:
        total: the number of places.
        of_one: how many of them one client may have; its others wait for these.
    """

    def __init__(self, total: int, of_one: int) -> None:
        self._all = trio.CapacityLimiter(total)
        self._of_one = of_one
        self._own: dict[str, trio.CapacityLimiter] = {}

    def __len__(self) -> int:
        return len(self._own)

    @asynccontextmanager
    async def place(self, client: str) -> AsyncIterator[None]:
        """A block with a place, after those before it have left. Cancelling ends the wait."""
        own = self._own.setdefault(client, trio.CapacityLimiter(self._of_one))
        try:
            async with own, self._all:
                yield
        finally:
            if not own.borrowed_tokens and not own.statistics().tasks_waiting:
                self._own.pop(client, None)
