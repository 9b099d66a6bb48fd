"""Rate limiting of attempts by the generic cell rate algorithm.

The algorithm (ITU-T I.371, annex A) stores one number per key: the time until which its attempts
are paid for, each costing an equal share of the period. It admits a burst, and then one attempt per
share.
"""

from dataclasses import dataclass
from typing import NamedTuple


@dataclass(frozen=True, slots=True)
class Rate:
    """A burst of ``count`` attempts, and as many again in each ``period`` of seconds."""

    count: int
    period: float

    def __post_init__(self) -> None:
        if self.count < 1 or not self.period > 0:
            raise ValueError(f"{self.count} attempts in {self.period} seconds is not a rate")

    @property
    def interval(self) -> float:
        """The seconds that one attempt costs."""
        return self.period / self.count


class AttemptVerdict(NamedTuple):
    """Whether an attempt is admitted.

    Attributes:
        paid_at: when all admitted attempts are paid for, in seconds of the caller's clock.
        retry_after: seconds until the next attempt can be admitted; 0 if this one was.
    """

    paid_at: float
    retry_after: float


def admit(paid_at: float | None, now: float, rate: Rate) -> AttemptVerdict:
    """Return whether to admit an attempt at ``now``; ``paid_at`` is None for the first.

    A refused attempt costs nothing.
    """
    starts = now if paid_at is None else max(paid_at, now)
    # A thousandth of a share is negligible for callers, and more than the rounding errors.
    wait = starts - now - (rate.period - rate.interval)
    if wait > rate.interval / 1000:
        return AttemptVerdict(starts, wait)
    return AttemptVerdict(starts + rate.interval, 0.0)
