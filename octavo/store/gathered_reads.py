"""Look up the keys of many tasks with one statement.

Each request looks up its credential and its role. Where other processes may change them, the
database is read each time: a round trip for every request. While one read is under way, the keys of
further tasks are gathered for the next. That one begins after all of them were requested, so no
task gets an outdated result. A single task waits for no other.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Generic, TypeVar

import trio

from octavo.store.fair_turns import working_for
from octavo.store.transaction import Script, Store

HOLDER = "look-ups"
"""The holder of the turns of these reads (`octavo.store.fair_turns`)."""
MOST = 100
"""The maximum number of keys of one read."""

K = TypeVar("K")
V = TypeVar("V")


class _Read(Generic[K, V]):
    """One read, with the keys that were gathered for it."""

    __slots__ = ("done", "error", "keys", "values")

    def __init__(self) -> None:
        self.keys: dict[K, None] = {}
        self.done = False
        self.values: Mapping[K, V] = {}
        self.error: Exception | None = None


class GatheredReads(Generic[K, V]):
    """Looks up keys, and combines the look-ups of concurrent tasks.

    Args:
        store: is read.
        script: returns the values of at most `MOST` keys.
    """

    def __init__(
        self, store: Store, script: Callable[[Sequence[K]], Script[Mapping[K, V]]]
    ) -> None:
        self._store = store
        self._script = script
        # Keys that are requested now join it.
        self._next: _Read[K, V] = _Read()
        self._reading = False
        self._ended = trio.Event()

    async def find(self, key: K) -> V | None:
        """Return the value of ``key``, from a read that begins after this call; None without one.

        Raises what the store and the script raise. Cancellation affects no other task: one of them
        reads instead. Not always a checkpoint.
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
                # With a traceback of this task alone.
                raise read.error.with_traceback(None)
            return read.values.get(key)
        finally:
            del read

    async def _read(self, read: _Read[K, V]) -> None:
        if self._next is read:
            self._next = _Read()
        self._reading = True
        # Not in a turn of this task's own holder, whose share may be used up.
        holder = working_for.set(HOLDER)
        try:
            read.values = await self._store.read(self._script([*read.keys]))
            read.done = True
        except Exception as error:  # noqa: BLE001  # raised by all that wait for it
            read.error = error
            read.done = True
        finally:
            working_for.reset(holder)
            self._reading = False
            ended, self._ended = self._ended, trio.Event()
            ended.set()
