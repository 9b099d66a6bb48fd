"""When a virtual actor that keeps crashing is quarantined, and for how long.

Pure: the caller passes the times.
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass

from greenroom.options import require_positive_count, require_seconds


@dataclass(frozen=True, slots=True, kw_only=True)
class QuarantineRule:
    """When to quarantine a key.

    Args:
        crashes: the number of crashes within ``period`` that leads to quarantine.
        period: in seconds.
        first: seconds of the first quarantine; each one that follows a failed probe is twice as
            long.
        maximum: the longest quarantine, in seconds.

    Raises:
        ValueError: an argument is out of its range.
    """

    crashes: int = 3
    period: float = 60.0
    first: float = 5.0
    maximum: float = 300.0

    def __post_init__(self) -> None:
        """Validate the ranges."""
        require_positive_count("QuarantineRule.crashes", self.crashes)
        require_seconds("QuarantineRule.period", self.period)
        require_seconds("QuarantineRule.first", self.first)
        require_seconds("QuarantineRule.maximum", self.maximum)
        if self.maximum < self.first:
            raise ValueError(
                f"QuarantineRule.maximum ({self.maximum:g}) must not be less than "
                f"first ({self.first:g})"
            )


class CrashRecord:
    """The recent crashes of one key, and its quarantine."""

    __slots__ = ("_failed_probes", "_times", "until")

    def __init__(self) -> None:
        """Start without crashes."""
        self._times: deque[float] = deque()
        self._failed_probes = 0
        self.until: float | None = None

    @property
    def recent(self) -> int:
        """The number of crashes within the period, as of the last one."""
        return len(self._times)

    def quarantined(self, now: float) -> bool:
        """Return whether messages are refused at ``now``."""
        return self.until is not None and now < self.until

    @property
    def on_probation(self) -> bool:
        """Whether a quarantine was imposed and not yet ended by a successful probe."""
        return self.until is not None

    def crashed(self, now: float, rule: QuarantineRule) -> float | None:
        """Record a crash; return the seconds of quarantine that follow, or None."""
        self._times.append(now)
        while self._times[0] <= now - rule.period:
            self._times.popleft()
        if not self.on_probation and len(self._times) < rule.crashes:
            return None
        seconds: float = min(rule.first * 2.0 ** min(self._failed_probes, 60), rule.maximum)
        self._failed_probes += 1
        self.until = now + seconds
        return seconds

    def recovered(self) -> None:
        """Clear the record after a successful probe."""
        self._times.clear()
        self._failed_probes = 0
        self.until = None

    def expires(self, rule: QuarantineRule) -> float:
        """Return when the record can be dropped if nothing else happens."""
        last = self._times[-1] if self._times else float("-inf")
        return max(last + rule.period, (self.until or float("-inf")) + rule.maximum)
