"""How long to wait before a restart: exponential, with jitter from outside."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

from octavo.actors.core.options import require_seconds


@dataclass(frozen=True, slots=True, kw_only=True)
class Backoff:
    """The waits between the crashes of one child and its restarts.

    The ``n``-th restart in a row waits ``min(first * factor**n, most)``
    seconds, spread by ``± jitter`` of itself so that many children that failed
    together do not return together.

    Args:
        first: seconds before the first restart.
        factor: growth from one restart to the next, at least 1.
        most: the longest wait in seconds, before jitter.
        jitter: share of the wait by which it may differ, within 0..1.
        reset_after: seconds of healthy life after which counting begins anew.

    Raises:
        ValueError: an argument is out of its range.
    """

    first: float = 0.05
    factor: float = 2.0
    most: float = 30.0
    jitter: float = 0.2
    reset_after: float = 60.0

    def __post_init__(self) -> None:
        """Check the ranges."""
        require_seconds("Backoff.first", self.first, zero=True)
        require_seconds("Backoff.most", self.most, zero=True)
        require_seconds("Backoff.reset_after", self.reset_after, zero=True)
        if not 1.0 <= self.factor < math.inf:
            raise ValueError(f"Backoff.factor must be at least 1, and finite, not {self.factor!r}")
        if self.first == math.inf or self.most == math.inf:
            raise ValueError("Backoff.first and Backoff.most must be finite")
        if not 0.0 <= self.jitter <= 1.0:
            raise ValueError(f"Backoff.jitter must be within 0..1, not {self.jitter!r}")

    def delay(self, restarts: int, random: Callable[[], float]) -> float:
        """Seconds to wait before the next restart.

        Args:
            restarts: how many restarts came before it in this row, from 0.
            random: gives numbers within [0, 1); 0.5 means no deviation.
        """
        try:
            wait = min(self.first * self.factor**restarts, self.most)
        except OverflowError:
            wait = self.most if self.first else 0.0
        return wait * (1.0 + self.jitter * (2.0 * random() - 1.0))
