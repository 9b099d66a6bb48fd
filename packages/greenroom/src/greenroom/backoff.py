"""Exponential backoff before restarts, with jitter from an injected source."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

from greenroom.options import require_seconds


@dataclass(frozen=True, slots=True, kw_only=True)
class Backoff:
    """The delays between the crashes of one child and its restarts.

    The ``n``-th consecutive restart is delayed by ``min(first * factor**n, maximum)`` seconds,
    varied by ``± jitter`` of itself, so that children that failed together do not restart together.

    Args:
        first: seconds before the first restart.
        factor: growth from one restart to the next, at least 1.
        maximum: the longest delay in seconds, before jitter.
        jitter: the fraction of the delay by which it may vary, within 0..1.
        reset_after: seconds without a crash after which counting starts over.

    Raises:
        ValueError: an argument is out of its range.
    """

    first: float = 0.05
    factor: float = 2.0
    maximum: float = 30.0
    jitter: float = 0.2
    reset_after: float = 60.0

    def __post_init__(self) -> None:
        """Validate the ranges."""
        require_seconds("Backoff.first", self.first, zero=True)
        require_seconds("Backoff.maximum", self.maximum, zero=True)
        require_seconds("Backoff.reset_after", self.reset_after, zero=True)
        if not 1.0 <= self.factor < math.inf:
            raise ValueError(f"Backoff.factor must be at least 1 and finite, not {self.factor!r}")
        if self.first == math.inf or self.maximum == math.inf:
            raise ValueError("Backoff.first and Backoff.maximum must be finite")
        if not 0.0 <= self.jitter <= 1.0:
            raise ValueError(f"Backoff.jitter must be within 0..1, not {self.jitter!r}")

    def delay(self, restarts: int, random: Callable[[], float]) -> float:
        """Return the seconds to wait before the next restart.

        Args:
            restarts: the number of consecutive restarts before it.
            random: returns numbers within [0, 1); 0.5 means no variation.
        """
        try:
            wait = min(self.first * self.factor**restarts, self.maximum)
        except OverflowError:
            wait = self.maximum if self.first else 0.0
        return wait * (1.0 + self.jitter * (2.0 * random() - 1.0))
