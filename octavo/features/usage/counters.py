"""What was read and written in the present month, in memory: counters, and batches to store.

Nothing here waits or reads a clock; `octavo.features.usage.meter` does.
"""

import math
from typing import NamedTuple

from octavo_rules.identity import AccountId

from octavo.features.usage.sql import InstallationAmount, UsageBatch, UsageTotals
from octavo.model.usage import (
    NOTHING,
    UNLIMITED,
    Amount,
    DownloadLimits,
    InstallationLimits,
    InstallationUsage,
    Month,
    UsageLimit,
    exceeded,
    exceeds,
    month_end,
    month_of,
)


class Counter:
    """What an account, or the installation, has read in the present month.

    Every read changes two of them, so that the counts are plain numbers.

    Attributes:
        limits: what it may read.
        limited: whether there is a limit.
        stored: the total in the database when it was last read.
        sending: of the batch on its way to the database.
        size, objects: what was counted and is in no batch yet.
        held: promised to transfers that have not sent it.
        until: the time of trio's clock at which limits and total must be read again.
    """

    __slots__ = ("held", "limited", "limits", "objects", "sending", "size", "stored", "until")

    def __init__(self, limits: DownloadLimits = UNLIMITED) -> None:
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
        """Return what was counted, which counts as nothing then."""
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
        self, writer_id: str, limits: InstallationLimits, now: float, *, maximum: int
    ) -> None:
        self._writer_id = writer_id
        self._maximum = maximum
        self._number = self._generation = 0
        self._writes_stored = self._writes_sending = self._writes_counted = 0
        # Of months that have ended.
        self._past: dict[tuple[AccountId, Month], Amount] = {}
        self._past_installation: dict[Month, InstallationAmount] = {}
        self.month_end = month_end(now)
        self.accounts: dict[AccountId, Counter] = {}
        self._limits = limits
        self.installation = Counter(limits.downloads)
        self.month = month_of(now)
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
        self.month, self.month_end = month_of(now), month_end(now)

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

    def exceeded(self, counter: Counter, amount: Amount) -> UsageLimit | None:
        """Return the first limit that reading ``amount`` would exceed; None if it is allowed."""
        whole = self.installation
        return exceeded(counter.used, counter.limits, whole.used, whole.limits, amount)

    def may_write(self, count: int) -> bool:
        """Return whether the installation may write so many more objects."""
        return not exceeds(self._written, count, self._limits.writes)

    @property
    def limits_writes(self) -> bool:
        """Whether there is a limit of writes."""
        return self._limits.writes is not None

    @property
    def installation_usage(self) -> InstallationUsage:
        """What the installation has used."""
        return InstallationUsage(self.month, self.installation.used, self._written, self._limits)

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
                # Also for the case that the totals are not adopted.
                counter.stored = counter.stored.plus(counter.sending)
                counter.sending = NOTHING
        self._writes_stored += self._writes_sending
        self._writes_sending = 0

    def adopt(self, totals: UsageTotals, asked: TotalsQuery, until: float) -> None:
        """Use totals until a time; do nothing if the month or limits have changed since `ask`."""
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
        """Return what totals that are read from now on belong to."""
        return TotalsQuery(account_ids, self.month, self._generation)

    def expire(self, account_id: AccountId) -> None:
        """Have the limits of an account read again; totals that are being read are not used."""
        self._generation += 1
        counter = self.accounts.get(account_id)
        if counter is not None:
            counter.until = -math.inf
