"""How often something may be tried: the generic cell rate algorithm, and whose tries count as one.

The algorithm (ITU-T I.371, annex A) keeps one number for each who tries: the time at which all
tries so far are paid for, each costing a share of the period. It lets a burst pass and then one
try a share, and remembers no more than that number.
"""

from dataclasses import dataclass
from typing import NamedTuple


@dataclass(frozen=True, slots=True)
class Rate:
    """``count`` tries at once, and as many more in each ``period`` of seconds."""

    count: int
    period: float

    def __post_init__(self) -> None:
        if self.count < 1 or not self.period > 0:
            raise ValueError(f"{self.count} tries in {self.period} seconds are no rate")

    @property
    def interval(self) -> float:
        """Seconds that one try costs."""
        return self.period / self.count


class AttemptVerdict(NamedTuple):
    """Whether one more try passes.

    Attributes:
        paid_at: when all tries that passed are paid for, in seconds of the caller's clock.
        retry_after: seconds until one passes again; 0 when this one did.
    """

    paid_at: float
    retry_after: float


def admit(paid_at: float | None, now: float, rate: Rate) -> AttemptVerdict:
    """Judge a try at ``now``; ``paid_at`` is of the admission before, None at the first.

    A try that does not pass costs nothing.
    """
    starts = now if paid_at is None else max(paid_at, now)
    # A thousandth of a share is below what anybody waits for, and above what floats lose.
    wait = starts - now - (rate.period - rate.interval)
    if wait > rate.interval / 1000:
        return AttemptVerdict(starts, wait)
    return AttemptVerdict(starts + rate.interval, 0.0)
