"""Count what is read and written in a month, in memory and then stored; refuse beyond a limit.

Counts are kept in memory, so that a read costs no write. Some seconds later, each process adds its
counts to the database, in one batch for all accounts, and gets the totals. A crash loses the counts
of these seconds. With one process, no limit is exceeded by more than that. With several processes,
each learns the reads of the others some seconds later: together they can exceed a limit by what is
read in that time.

A batch is numbered, and the database adds a number of a process once. So a batch whose outcome is
unknown is sent again, and is neither lost nor counted twice.
"""

import logging
import math
from collections.abc import Callable
from typing import NamedTuple

import trio
from octavo_rules.identity import AccountId

from octavo.features.usage import sql as usage
from octavo.features.usage.sql import InstallationAmount, UsageBatch, UsageTotals
from octavo.model import usage as model
from octavo.model.usage import NOTHING, Amount, Month
from octavo.store import Store, StoreError


class Counter:
    """What an account, or the installation, has read in the present month.

    Every read changes two counters, so the counts are plain numbers, for speed.

    Attributes:
        limits: what it may read.
        limited: whether there is a limit.
        stored: the total in the database when it was last read.
        sending: what is in a batch whose outcome is not known yet.
        size, objects: what was counted and is in no batch yet.
        held: reserved by transfers that have not sent it.
        until: the time of trio's clock at which limits and total must be read again.
    """

    __slots__ = ("held", "limited", "limits", "objects", "sending", "size", "stored", "until")

    def __init__(self, limits: model.DownloadLimits = model.UNLIMITED) -> None:
        self.limits = limits
        self.limited = limits.limited
        self.stored = self.sending = self.held = NOTHING
        self.size = self.objects = 0
        self.until = -math.inf

    @property
    def used(self) -> Amount:
        """Everything that counts against the limits."""
        stored, sending, held = self.stored, self.sending, self.held
        return Amount(
            stored.size + sending.size + held.size + self.size,
            stored.objects + sending.objects + held.objects + self.objects,
        )

    @property
    def idle(self) -> bool:
        """Whether it can be dropped without losing a count."""
        return not (self.size or self.objects or any(self.sending) or any(self.held))

    def take(self) -> Amount:
        """Return what was counted, and reset the counts."""
        counted = Amount(self.size, self.objects)
        self.size = self.objects = 0
        return counted


class TotalsQuery(NamedTuple):
    """Identifies the query that a set of totals answers.

    Attributes:
        account_ids: accounts that may not exist.
        month: their month.
        generation: increases when limits change.
    """

    account_ids: tuple[AccountId, ...]
    month: Month
    generation: int


class UsageCounters:
    """The counters of one process.

    Args:
        writer_id: a UUID of the process, never used before.
        limits: the limits of the installation.
        now: Unix time in seconds.
        maximum: accounts that are kept; idle ones beyond it are dropped.

    Attributes:
        accounts: the counters of accounts.
        installation: the sum of all accounts, also of those that were dropped.
        month: the month that is counted.
        month_end: when it ends, in seconds of Unix time.
        batch: the batch whose outcome is not known yet; None without one.
    """

    def __init__(
        self, writer_id: str, limits: model.InstallationLimits, now: float, *, maximum: int
    ) -> None:
        self._writer_id = writer_id
        self._maximum = maximum
        self._number = self._generation = 0
        self._writes_stored = self._writes_sending = self._writes_counted = 0
        # Of months that have ended.
        self._past: dict[tuple[AccountId, Month], Amount] = {}
        self._past_installation: dict[Month, InstallationAmount] = {}
        self.month_end = model.month_end(now)
        self.accounts: dict[AccountId, Counter] = {}
        self._limits = limits
        self.installation = Counter(limits.downloads)
        self.month = model.month_of(now)
        self.batch: UsageBatch | None = None

    def enter(self, now: float) -> None:
        """Begin the month of ``now`` if it is a later one; a clock that is set back does not."""
        if now < self.month_end:
            return
        month, whole = self.month, self.installation
        for account_id, counter in self.accounts.items():
            counted = counter.take()
            if counted != NOTHING:
                self._past[account_id, month] = counted
            counter.stored = counter.sending = NOTHING
        counted = whole.take()
        if counted != NOTHING or self._writes_counted:
            self._past_installation[month] = InstallationAmount(counted, self._writes_counted)
        whole.stored = whole.sending = NOTHING
        self._writes_stored = self._writes_sending = self._writes_counted = 0
        self.month, self.month_end = model.month_of(now), model.month_end(now)

    def of(self, account_id: AccountId) -> Counter:
        """Return the counter of an account, a new one if there is none."""
        counter = self.accounts.get(account_id)
        if counter is None:
            if len(self.accounts) >= self._maximum:
                self._drop_one()
            counter = self.accounts[account_id] = Counter()
        return counter

    def _drop_one(self) -> None:
        idle = next((name for name, counter in self.accounts.items() if counter.idle), None)
        if idle is not None:
            del self.accounts[idle]

    def exceeded(self, counter: Counter, amount: Amount) -> model.UsageLimit | None:
        """Return the first limit that reading ``amount`` would exceed; None if it is allowed."""
        whole = self.installation
        return model.exceeded(counter.used, counter.limits, whole.used, whole.limits, amount)

    def may_write(self, count: int) -> bool:
        """Return whether the installation may write so many more objects."""
        return not model.exceeds(self._written, count, self._limits.writes)

    @property
    def limits_writes(self) -> bool:
        """Whether there is a limit of writes."""
        return self._limits.writes is not None

    @property
    def installation_usage(self) -> model.InstallationUsage:
        """What the installation has used."""
        return model.InstallationUsage(
            self.month, self.installation.used, self._written, self._limits
        )

    @property
    def _written(self) -> int:
        return self._writes_stored + self._writes_sending + self._writes_counted

    def add(self, account_id: AccountId, amount: Amount) -> None:
        """Count what an account has read."""
        size, objects = amount
        for counter in (self.accounts.get(account_id) or self.of(account_id), self.installation):
            counter.size += size
            counter.objects += objects

    def add_writes(self, count: int) -> None:
        """Count written objects."""
        self._writes_counted += count

    def hold(self, account_id: AccountId, amount: Amount) -> None:
        """Count ``amount`` against the limits until it is released."""
        for counter in (self.of(account_id), self.installation):
            counter.held = counter.held.plus(amount)

    def release(self, account_id: AccountId, amount: Amount) -> None:
        """Take back what was held."""
        for counter in (self.of(account_id), self.installation):
            counter.held = counter.held.minus(amount)

    def next_batch(self) -> UsageBatch | None:
        """Return the batch to send: the present one, or a new one; None if nothing was counted."""
        if self.batch is not None:
            return self.batch
        month, whole = self.month, self.installation
        accounts, installation = self._past, self._past_installation
        for account_id, counter in self.accounts.items():
            if counter.size or counter.objects:
                accounts[account_id, month] = counter.sending = counter.take()
        if whole.size or whole.objects or self._writes_counted:
            whole.sending = whole.take()
            installation[month] = InstallationAmount(whole.sending, self._writes_counted)
            self._writes_sending, self._writes_counted = self._writes_counted, 0
        if not installation:
            return None
        self._past, self._past_installation = {}, {}
        self._number += 1
        self.batch = UsageBatch(self._writer_id, self._number, accounts, installation)
        return self.batch

    def settle(self, batch: UsageBatch) -> None:
        """Record that the totals in the database contain the batch."""
        self.batch = None
        counters = [self.accounts.get(account_id) for account_id, _ in batch.accounts]
        for counter in (*counters, self.installation):
            if counter is not None:
                # The totals that the database returned may not be adopted.
                counter.stored = counter.stored.plus(counter.sending)
                counter.sending = NOTHING
        self._writes_stored += self._writes_sending
        self._writes_sending = 0

    def adopt(self, totals: UsageTotals, asked: TotalsQuery, until: float) -> None:
        """Use totals until ``until``; do nothing if the month or a limit changed since `ask`."""
        if (asked.month, asked.generation) != (self.month, self._generation):
            return
        for account_id in asked.account_ids:
            self.of(account_id).until = until
        for account_id, total in totals.accounts.items():
            counter = self.accounts.get(account_id)
            if counter is not None:
                counter.limits, counter.stored = total
                counter.limited, counter.until = counter.limits.limited, until
        self.installation.stored, self._writes_stored = totals.installation
        self.installation.until = until

    def ask(self, account_ids: tuple[AccountId, ...] = ()) -> TotalsQuery:
        """Return the query that totals read from now on answer."""
        return TotalsQuery(account_ids, self.month, self._generation)

    def expire(self, account_id: AccountId) -> None:
        """Have the limits of an account read again; totals that are being read are not used."""
        self._generation += 1
        counter = self.accounts.get(account_id)
        if counter is not None:
            counter.until = -math.inf


INTERVAL_SECONDS = 2.0
"""Seconds between two batches."""
MAX_ACCOUNTS = 10_000
"""Accounts in memory; others are read again at their next read."""

_log = logging.getLogger(__name__)


class Transfer:
    """Content that is sent in pieces, whose amount is reserved. See `UsageMeter.hold`."""

    __slots__ = ("_account_id", "_meter", "_rest")

    def __init__(self, meter: "UsageMeter", account_id: AccountId, amount: Amount) -> None:
        self._meter = meter
        self._account_id = account_id
        self._rest = amount

    def sent(self, amount: Amount) -> None:
        """Count a part of the reserved amount, which is sent now."""
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
        maximum: accounts in memory.
    """

    def __init__(
        self,
        store: Store,
        *,
        now: Callable[[], float],
        writer_id: str,
        limits: model.InstallationLimits = model.NO_LIMITS,
        shared: bool = False,
        maximum: int = MAX_ACCOUNTS,
    ) -> None:
        self._store = store
        self._now = now
        self._fresh = 2 * INTERVAL_SECONDS if shared else math.inf
        self._counters = UsageCounters(writer_id, limits, now(), maximum=maximum)
        self._limited = limits.downloads.limited
        self._noted = trio.Event()
        # Whether the event is set: faster to check, which each read does.
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

    async def installation_usage(self) -> model.InstallationUsage:
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
            raise model.WriteLimitReached(model.seconds_left(now))

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
        """Release what `hold` reserved."""
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
            await trio.sleep(INTERVAL_SECONDS)
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
        """Wake `run`, which sends a batch."""
        self._pending = True
        self._noted.set()

    async def _fresh_counter(self, account_id: AccountId) -> Counter:
        counter = self._counters.of(account_id)
        while counter.until <= trio.current_time():
            await self._read_totals((account_id,))
            # The counter may have been dropped meanwhile, while it was idle.
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
            raise model.DownloadLimitReached(limit, model.seconds_left(now))
