"""Durations counted in powers of two of a microsecond.

Fixed buckets cost one addition a message, need no clock of their own, and can
be added up over actors and processes.
"""

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
