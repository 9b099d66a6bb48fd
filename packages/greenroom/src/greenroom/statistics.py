"""Counters and histograms of mailboxes, actors and directories, for operators.

Durations are counted in powers of two of a microsecond. Fixed buckets cost one addition a message,
need no clock of their own, and can be summed over actors and processes.
"""

from __future__ import annotations

from dataclasses import dataclass

BUCKETS = 28
"""Bucket ``i`` counts durations below ``2**i`` µs; the last one all longer ones (over 67 s)."""


@dataclass(frozen=True, slots=True)
class HistogramSnapshot:
    """A copy of a histogram at one moment.

    Attributes:
        counts: observations for each of the `BUCKETS` buckets.
        total: sum of all durations, in seconds.
        longest: the longest duration, in seconds.
    """

    counts: tuple[int, ...]
    total: float
    longest: float

    @property
    def count(self) -> int:
        """The number of observations."""
        return sum(self.counts)

    @property
    def mean(self) -> float:
        """The mean duration in seconds; 0.0 without observations."""
        count = self.count
        return self.total / count if count else 0.0

    def quantile(self, fraction: float) -> float:
        """Return the upper bound, in seconds, of the bucket that contains the quantile.

        At most twice the true value, and never more than `longest`.

        Raises:
            ValueError: ``fraction`` is not within 0..1.
        """
        if not 0.0 <= fraction <= 1.0:
            raise ValueError(f"a quantile must be within 0..1, not {fraction!r}")
        rank = fraction * self.count
        seen = 0
        for index, count in enumerate(self.counts[:-1]):
            seen += count
            if count and seen >= rank:
                return min(upper_bound(index), self.longest)
        return self.longest


def upper_bound(bucket: int) -> float:
    """Return the exclusive upper bound of bucket number ``bucket``, in seconds."""
    return float(2.0**bucket) / 1e6


class Histogram:
    """Counts durations; mutable, for one writer."""

    __slots__ = ("_counts", "_longest", "_total")

    def __init__(self) -> None:
        """Create an empty histogram."""
        self._counts = [0] * BUCKETS
        self._total = 0.0
        self._longest = 0.0

    def record(self, seconds: float, times: int = 1) -> None:
        """Count a duration, which occurred ``times``; a negative one counts as 0."""
        if seconds <= 0.0:
            self._counts[0] += times
            return
        bucket = int(seconds * 1e6).bit_length()
        self._counts[bucket if bucket < BUCKETS else -1] += times
        self._total += seconds * times
        if seconds > self._longest:
            self._longest = seconds

    def snapshot(self) -> HistogramSnapshot:
        """Return a copy."""
        return HistogramSnapshot(tuple(self._counts), self._total, self._longest)


@dataclass(frozen=True, slots=True)
class MailboxStatistics:
    """A mailbox at one moment.

    Attributes:
        depth: messages that wait to be taken.
        capacity: the limit of `depth` for ordinary senders.
        senders_waiting: tasks that wait for a slot.
        peak: the greatest depth so far.
        oldest_age: seconds that the first message has waited; 0.0 when empty.
        closed: whether new messages are refused.
    """

    depth: int
    capacity: int
    senders_waiting: int
    peak: int
    oldest_age: float
    closed: bool


class ActorStatistics:
    """Counters of one actor, or of all actors of one directory."""

    __slots__ = ("handling", "refused", "wait")

    def __init__(self) -> None:
        """Start at zero."""
        self.wait = Histogram()
        self.handling = Histogram()
        self.refused = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class DirectoryStatistics:
    """A directory at one moment.

    Attributes:
        awake: keys that have an actor, at most ``max_awake``.
        idle: how many of these wait for messages.
        waiting: keys that wait until another actor is passivated.
        backing_off: crashed keys that wait for their backoff.
        quarantined: keys whose messages are refused.
        tracked: all keys of which the directory holds a record.
        activations: since the start.
        passivations: since the start.
        crashes: since the start.
    """

    awake: int
    idle: int
    waiting: int
    backing_off: int
    quarantined: int
    tracked: int
    activations: int
    passivations: int
    crashes: int
