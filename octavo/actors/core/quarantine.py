"""When a virtual actor that keeps crashing is set aside, and for how long.

Pure: the times come from the caller.
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass

from octavo.actors.core.options import require_positive_count, require_seconds


@dataclass(frozen=True, slots=True, kw_only=True)
class QuarantineRule:
    """The rule of quarantine.

    Args:
        crashes: so many crashes within ``period`` lead to quarantine.
        period: seconds.
        first: seconds of the first quarantine; each further one that follows a
            failed probe is twice as long.
        most: the longest quarantine, in seconds.

    Raises:
        ValueError: an argument is out of its range.
    """

    crashes: int = 3
    period: float = 60.0
    first: float = 5.0
    most: float = 300.0

    def __post_init__(self) -> None:
        """Check the ranges."""
        require_positive_count("QuarantineRule.crashes", self.crashes)
        require_seconds("QuarantineRule.period", self.period)
        require_seconds("QuarantineRule.first", self.first)
        require_seconds("QuarantineRule.most", self.most)
        if self.most < self.first:
            raise ValueError(
                f"QuarantineRule.most ({self.most:g}) must not be less than first ({self.first:g})"
            )


class CrashRecord:
    """What is remembered of one key's crashes, and its quarantine."""

    __slots__ = ("_failed_probes", "_times", "until")

    def __init__(self) -> None:
        """Start with no crash."""
        self._times: deque[float] = deque()
        self._failed_probes = 0
        self.until: float | None = None

    @property
    def recent(self) -> int:
        """Crashes counted within the period, as of the last one."""
        return len(self._times)

    def quarantined(self, now: float) -> bool:
        """Whether messages are refused at ``now``."""
        return self.until is not None and now < self.until

    @property
    def on_probation(self) -> bool:
        """Whether a quarantine was imposed and not yet lifted by a good probe."""
        return self.until is not None

    def crashed(self, now: float, rule: QuarantineRule) -> float | None:
        """Count a crash; returns the seconds of quarantine that follow, or None."""
        self._times.append(now)
        while self._times[0] <= now - rule.period:
            self._times.popleft()
        if not self.on_probation and len(self._times) < rule.crashes:
            return None
        seconds: float = min(rule.first * 2.0 ** min(self._failed_probes, 60), rule.most)
        self._failed_probes += 1
        self.until = now + seconds
        return seconds

    def recovered(self) -> None:
        """A probe succeeded: forget the crashes."""
        self._times.clear()
        self._failed_probes = 0
        self.until = None

    def expires(self, rule: QuarantineRule) -> float:
        """When the record can be forgotten if nothing else happens."""
        last = self._times[-1] if self._times else float("-inf")
        return max(last + rule.period, (self.until or float("-inf")) + rule.most)
