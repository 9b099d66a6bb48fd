"""What is counted of mailboxes, actors and directories, for operators to read."""

from __future__ import annotations

from dataclasses import dataclass

BUCKETS = 28
"""Bucket ``i`` counts durations below ``2**i`` µs; the last also all longer ones (over 67 s)."""


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
        """Number of observations."""
        return sum(self.counts)

    @property
    def mean(self) -> float:
        """Mean duration in seconds; 0.0 without observations."""
        count = self.count
        return self.total / count if count else 0.0

    def quantile(self, fraction: float) -> float:
        """Upper bound, in seconds, of the bucket that holds the quantile.

        At most twice the true value, and never above `longest`.

        Raises:
            ValueError: ``fraction`` is not within 0..1.
        """
        if not 0.0 <= fraction <= 1.0:
            raise ValueError(f"a quantile lies within 0..1, not {fraction!r}")
        rank = fraction * self.count
        seen = 0
        for index, count in enumerate(self.counts[:-1]):
            seen += count
            if count and seen >= rank:
                return min(upper_bound(index), self.longest)
        return self.longest


def upper_bound(bucket: int) -> float:
    """The duration in seconds below which bucket ``bucket`` counts."""
    return float(2.0**bucket) / 1e6


class Histogram:
    """Counts durations; mutable, one writer."""

    __slots__ = ("_counts", "_longest", "_total")

    def __init__(self) -> None:
        """Make an empty histogram."""
        self._counts = [0] * BUCKETS
        self._total = 0.0
        self._longest = 0.0

    def record(self, seconds: float) -> None:
        """Count one duration; a negative one counts as 0."""
        if seconds <= 0.0:
            self._counts[0] += 1
            return
        bucket = int(seconds * 1e6).bit_length()
        self._counts[bucket if bucket < BUCKETS else -1] += 1
        self._total += seconds
        if seconds > self._longest:
            self._longest = seconds

    def snapshot(self) -> HistogramSnapshot:
        """A copy for reading."""
        return HistogramSnapshot(tuple(self._counts), self._total, self._longest)


@dataclass(frozen=True, slots=True)
class MailboxStatistics:
    """A mailbox as seen from outside.

    Attributes:
        depth: messages that wait to be taken.
        capacity: the bound on `depth` for ordinary senders.
        senders_waiting: tasks that wait for a place.
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
    """A directory as seen from outside.

    Attributes:
        awake: keys that have an actor, at most ``max_awake``.
        idle: of these, how many wait for messages.
        in_line: keys that wait for a place among the awake.
        resting: crashed keys that wait for their backoff.
        quarantined: keys whose messages are refused.
        remembered: all keys that are not forgotten.
        activations: since the start.
        passivations: since the start.
        crashes: since the start.
    """

    awake: int
    idle: int
    in_line: int
    resting: int
    quarantined: int
    remembered: int
    activations: int
    passivations: int
    crashes: int
