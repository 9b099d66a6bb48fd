"""A store whose reads return late."""

from random import Random

import trio

from octavo.store import Script, Store
from octavo.store.transaction import T

SECONDS = (0, 0.1, 0.3)


class LateReads:
    """A store whose reads return a while after they saw the database, as those in threads do.

    Args:
        store: what is read and written.
        random: decides how late.
    """

    def __init__(self, store: Store, random: Random) -> None:
        self._store = store
        self._random = random

    async def read(self, script: Script[T]) -> T:
        """See `Store`."""
        found = await self._store.read(script)
        await trio.sleep(self._random.choice(SECONDS))
        return found

    async def read_much(self, script: Script[T]) -> T:
        """See `Store`."""
        return await self.read(script)

    async def write(self, script: Script[T]) -> T:
        """See `Store`."""
        return await self._store.write(script)
