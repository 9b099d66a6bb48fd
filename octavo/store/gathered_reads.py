"""Read what many tasks ask for at once with one statement.

Each request of a client looks up its credential and its role, and where other processes may have
changed them, the database is asked each time: a round trip for every request. While a read is under
way, those that ask meanwhile gather for the next one. It begins after they asked, so nobody gets
what was read before; a task that asks alone waits for nobody.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Generic, TypeVar

import trio

from octavo.store.fair_turns import working_for
from octavo.store.transaction import Script, Store

HOLDER = "look-ups"
"""For whom the reads take turns (`octavo.store.fair_turns`)."""
MOST = 100
"""Keys that are looked up together."""

K = TypeVar("K")
V = TypeVar("V")


class _Read(Generic[K, V]):
    """One read, of the keys that have gathered."""

    __slots__ = ("done", "error", "found", "keys")

    def __init__(self) -> None:
        self.keys: dict[K, None] = {}
        self.done = False
        self.found: Mapping[K, V] = {}
        self.error: Exception | None = None


class GatheredReads(Generic[K, V]):
    """Looks up keys, those of many tasks together.

    Args:
        store: is read.
        script: returns what there is for at most `MOST` keys.
    """

    def __init__(
        self, store: Store, script: Callable[[Sequence[K]], Script[Mapping[K, V]]]
    ) -> None:
        self._store = store
        self._script = script
        # Whoever asks now joins it.
        self._next: _Read[K, V] = _Read()
        self._reading = False
        self._ended = trio.Event()

    async def find(self, key: K) -> V | None:
        """Return what there is for ``key``, by a read that begins after this call; None if nothing.

        Raises what the store and the script raise. Cancellation affects nobody else: another task
        reads then. Not always a checkpoint.
        """
        read = self._next
        if len(read.keys) >= MOST:
            read = self._next = _Read()
        read.keys[key] = None
        while not read.done:
            if self._reading:
                await self._ended.wait()
            else:
                await self._read(read)
        try:
            if read.error is not None:
                # Without those of the others.
                raise read.error.with_traceback(None)
            return read.found.get(key)
        finally:
            del read

    async def _read(self, read: _Read[K, V]) -> None:
        if self._next is read:
            self._next = _Read()
        self._reading = True
        # Not for the caller that happens to read, who may have used up its share.
        holder = working_for.set(HOLDER)
        try:
            read.found = await self._store.read(self._script([*read.keys]))
            read.done = True
        except Exception as error:  # noqa: BLE001  # raised by all that wait for it
            read.error = error
            read.done = True
        finally:
            working_for.reset(holder)
            self._reading = False
            ended, self._ended = self._ended, trio.Event()
            ended.set()
