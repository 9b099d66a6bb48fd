"""Count what is read and written in a month, and refuse what exceeds a limit.

Counts are kept in memory, so that a read costs no write. Each process adds what it has counted to
the database some seconds later, in one batch for all accounts, and then knows the totals. A crash
loses the counts of these seconds. In an installation of one process no limit is exceeded by more
than that; of several processes, each knows what the others have read some seconds later, so that
together they may exceed a limit by what is read in this time.

A batch is numbered, and the database adds a number of a process once. So a batch whose outcome is
unknown is sent again, and is neither lost nor counted twice.
"""

import logging
import math
from collections.abc import Callable

import trio
from octavo_rules.identity import AccountId

from octavo.features.usage import sql as usage
from octavo.features.usage.counters import Counter, UsageCounters
from octavo.model.usage import (
    NO_LIMITS,
    NOTHING,
    Amount,
    DownloadLimitReached,
    InstallationLimits,
    InstallationUsage,
    WriteLimitReached,
    seconds_left,
)
from octavo.store import Store, StoreError

INTERVAL_SECONDS = 2.0
"""Seconds between two batches."""
MAX_ACCOUNTS = 10_000
"""Accounts in memory; others are read again at their next read."""

_log = logging.getLogger(__name__)


class Transfer:
    """Content that is sent in pieces, and whose amount was promised. See `UsageMeter.hold`."""

    __slots__ = ("_account_id", "_meter", "_rest")

    def __init__(self, meter: "UsageMeter", account_id: AccountId, amount: Amount) -> None:
        self._meter = meter
        self._account_id = account_id
        self._rest = amount

    def sent(self, amount: Amount) -> None:
        """Count a part of the promised amount that is sent now."""
        rest = self._rest.minus(amount)
        self._meter.release(self._account_id, self._rest.minus(rest))
        self._rest = rest
        self._meter.add(self._account_id, amount)

    def close(self) -> None:
        """Give back what was not sent. Closing again does nothing."""
        rest, self._rest = self._rest, NOTHING
        self._meter.release(self._account_id, rest)


class UsageMeter:
    """Counts and limits the reads of accounts, and the writes to the object store.

    Every async method but `run` and `flush` reads the database at the first read of an account, and
    may then raise `octavo.store.StoreUnavailable`. Cancellation counts nothing.

    Args:
        store: the database.
        now: the clock, in seconds of Unix time.
        writer_id: a UUID of this process, never used before.
        limits: the limits of the installation.
        shared: whether other processes count on the same database.
        interval: seconds between two batches.
        maximum: accounts in memory.
    """

    def __init__(
        self,
        store: Store,
        *,
        now: Callable[[], float],
        writer_id: str,
        limits: InstallationLimits = NO_LIMITS,
        shared: bool = False,
        interval: float = INTERVAL_SECONDS,
        maximum: int = MAX_ACCOUNTS,
    ) -> None:
        self._store = store
        self._now = now
        self._interval = interval
        self._fresh = 2 * interval if shared else math.inf
        self._counters = UsageCounters(writer_id, limits, now(), maximum=maximum)
        self._limited = limits.downloads.limited
        self._noted = trio.Event()
        # Whether the event is set, which each read needs to know.
        self._pending = False
        self._flushing = trio.Lock()

    async def check(self, account_id: AccountId, amount: Amount = NOTHING) -> None:
        """Raise `DownloadLimitReached` if the account can't read ``amount``; count nothing.

        A limit that is used up refuses every read, also one of nothing.
        """
        counter = self._counters.accounts.get(account_id)
        # Without other processes, it does not become outdated.
        if counter is None or (counter.until != math.inf and counter.until <= trio.current_time()):
            counter = await self._fresh_counter(account_id)
        if counter.limited or self._limited:
            self._require(counter, amount)

    async def count(self, account_id: AccountId, amount: Amount) -> None:
        """Count that the account reads ``amount``. Raises `DownloadLimitReached`."""
        await self.check(account_id, amount)
        self.add(account_id, amount)

    async def hold(self, account_id: AccountId, amount: Amount) -> Transfer:
        """Return a transfer of ``amount``, which counts against the limits until it is closed.

        So no concurrent read can exceed them. Raises `DownloadLimitReached`.
        """
        await self.check(account_id, amount)
        self._counters.hold(account_id, amount)
        return Transfer(self, account_id, amount)

    async def limited(self, account_id: AccountId) -> bool:
        """Return whether any limit applies to what the account reads."""
        return (await self._fresh_counter(account_id)).limited or self._limited

    async def installation_usage(self) -> InstallationUsage:
        """Return what the installation has used, with what is not stored yet."""
        counters = self._counters
        if counters.installation.until <= trio.current_time():
            await self._read_totals(())
        counters.enter(self._now())
        return counters.installation_usage

    async def check_writes(self, count: int = 1) -> None:
        """Raise `WriteLimitReached` if ``count`` more objects can't be written; count nothing."""
        counters = self._counters
        if counters.limits_writes and counters.installation.until <= trio.current_time():
            await self._read_totals(())
        now = self._now()
        counters.enter(now)
        if not counters.may_write(count):
            raise WriteLimitReached(seconds_left(now))

    async def count_writes(self, count: int = 1) -> None:
        """Count objects that are about to be written to the object store.

        Raises `WriteLimitReached`; then none of them must be written.
        """
        if count:
            await self.check_writes(count)
            self._counters.add_writes(count)
            self._note()

    def add(self, account_id: AccountId, amount: Amount) -> None:
        """Count what was read already, whatever the limits."""
        if amount != NOTHING:
            counters, now = self._counters, self._now()
            if now >= counters.month_end:
                counters.enter(now)
            counters.add(account_id, amount)
            if not self._pending:
                self._note()

    def release(self, account_id: AccountId, amount: Amount) -> None:
        """Take back what `hold` promised."""
        self._counters.release(account_id, amount)

    def forget(self, account_id: AccountId) -> None:
        """Read the limits of an account again at its next read.

        Call this after a commit that changed them.
        """
        self._counters.expire(account_id)

    async def run(self) -> None:
        """Add counts to the database periodically, until cancelled.

        Cancellation keeps what was counted, for `flush`.
        """
        while True:
            await self._noted.wait()
            await trio.sleep(self._interval)
            await self.flush()

    async def flush(self) -> None:
        """Add what was counted to the database.

        A failure of the database is logged; the counts are kept, and added the next time.
        """
        counters = self._counters
        async with self._flushing:
            counters.enter(self._now())
            while (batch := counters.next_batch()) is not None:
                asked = counters.ask()
                try:
                    script = usage.add(batch, asked.month, int(self._now() * 1000))
                    totals = await self._store.write(script)
                except StoreError as error:
                    _log.warning("the usage was not recorded yet: %s", error)
                    return
                counters.settle(batch)
                counters.adopt(totals, asked, trio.current_time() + self._fresh)
            self._noted, self._pending = trio.Event(), False

    def _note(self) -> None:
        """Have `run` send a batch."""
        self._pending = True
        self._noted.set()

    async def _fresh_counter(self, account_id: AccountId) -> Counter:
        counter = self._counters.of(account_id)
        while counter.until <= trio.current_time():
            await self._read_totals((account_id,))
            # Another one, if it was dropped while it was idle.
            counter = self._counters.of(account_id)
        return counter

    async def _read_totals(self, account_ids: tuple[AccountId, ...]) -> None:
        counters = self._counters
        counters.enter(self._now())
        asked = counters.ask(account_ids)
        totals = await self._store.read(usage.totals(account_ids, asked.month))
        counters.adopt(totals, asked, trio.current_time() + self._fresh)

    def _require(self, counter: Counter, amount: Amount) -> None:
        now = self._now()
        self._counters.enter(now)
        limit = self._counters.exceeded(counter, amount)
        if limit is not None:
            raise DownloadLimitReached(limit, seconds_left(now))
