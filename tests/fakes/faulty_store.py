"""A store double that counts calls, fails, waits, or lets a test act first."""

from collections.abc import Awaitable, Callable

import trio

from octavo.store import Script, Store, StoreUnavailable
from octavo.store.fair_turns import working_for
from octavo.store.gathered_reads import HOLDER
from octavo.store.transaction import T


class FaultyStore:
    """A `Store` in front of another one.

    Attributes:
        away: every call raises `StoreUnavailable`.
        fail: raised by the next write.
        failures: how many of the next writes raise `StoreUnavailable`.
        commits_anyway: the write that raises ``fail`` is committed all the same.
        before_read: awaited once, before the next read that is no look-up of `GatheredReads`.
        before_write: awaited once, before the next write.
        release_reads: reads return only when it is set; None for immediately.
        reads: number of reads so far.
        writes: number of writes so far.
    """

    def __init__(self, store: Store) -> None:
        self.inner = store
        self.away = False
        self.fail: StoreUnavailable | None = None
        self.failures = 0
        self.commits_anyway = False
        self.before_read: Callable[[], Awaitable[object]] | None = None
        self.before_write: Callable[[], Awaitable[object]] | None = None
        self.release_reads: trio.Event | None = None
        self.reads = 0
        self.writes = 0

    async def read(self, script: Script[T]) -> T:
        await self._begin_read()
        return await self._release(await self.inner.read(script))

    async def read_much(self, script: Script[T]) -> T:
        await self._begin_read()
        return await self._release(await self.inner.read_much(script))

    async def write(self, script: Script[T]) -> T:
        self.writes += 1
        self._require()
        before, self.before_write = self.before_write, None
        if before is not None:
            await before()
        if self.failures:
            self.failures -= 1
            raise StoreUnavailable("not now")
        error, self.fail = self.fail, None
        if error is None:
            return await self.inner.write(script)
        if self.commits_anyway:
            await self.inner.write(script)
        raise error

    async def _begin_read(self) -> None:
        self.reads += 1
        self._require()
        if working_for.get() == HOLDER:
            # What is done here may look something up itself, and would wait for this look-up.
            return
        before, self.before_read = self.before_read, None
        if before is not None:
            await before()

    async def _release(self, found: T) -> T:
        if self.release_reads is not None:
            await self.release_reads.wait()
        return found

    def _require(self) -> None:
        if self.away:
            raise StoreUnavailable("the database does not answer")
