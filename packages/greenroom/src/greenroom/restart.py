"""The rules of supervision, pure: what is restarted and when, and when to give up.

The caller passes the times. What gives up is a supervisor after too many restarts, or a directory,
which quarantines a key whose actor keeps crashing.
"""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal, TypeVar, assert_never, get_args

from greenroom.options import require_positive_count, require_seconds

Restart = Literal["permanent", "transient", "temporary"]
"""When a child that ended is restarted.

``permanent``: always. ``transient``: after a crash, not after a normal end.
``temporary``: never.
"""

Strategy = Literal["one_for_one", "rest_for_one", "all_for_one"]
"""Which children are restarted together.

``one_for_one``: only the one that ended. ``rest_for_one``: also those started after it.
``all_for_one``: all.
"""

T = TypeVar("T")


def require_restart(value: str) -> None:
    """Raise ValueError for an unknown restart policy, naming the known ones."""
    _require_one_of("restart policy", value, get_args(Restart))


def require_strategy(value: str) -> None:
    """Raise ValueError for an unknown restart strategy, naming the known ones."""
    _require_one_of("restart strategy", value, get_args(Strategy))


def _require_one_of(what: str, value: str, known: Sequence[str]) -> None:
    if value not in known:
        raise ValueError(f"unknown {what} {value!r}; use one of {', '.join(known)}")


def is_restarted(policy: Restart, *, crashed: bool) -> bool:
    """Return whether a child with ``policy`` that ended by itself is restarted."""
    match policy:
        case "permanent":
            return True
        case "transient":
            return crashed
        case "temporary":
            return False
        case _:
            assert_never(policy)


def affected(strategy: Strategy, children: Sequence[T], ended: T, down: Sequence[T]) -> list[T]:
    """Return the children to restart, in order of start.

    Args:
        strategy: the supervisor's strategy.
        children: all children in order of start.
        ended: the child that ended.
        down: the children that an earlier, unfinished restart has yet to start.
    """
    match strategy:
        case "one_for_one":
            return [child for child in children if child is ended or child in down]
        case "rest_for_one":
            first = min(index for index, child in enumerate(children) if child in (ended, *down))
            return list(children[first:])
        case "all_for_one":
            return list(children)
        case _:
            assert_never(strategy)


@dataclass(frozen=True, slots=True, kw_only=True)
class Intensity:
    """The limit of restarts; a supervisor that exceeds it gives up and escalates.

    Args:
        restarts: restarts allowed within ``period``; 0 escalates at the first end.
        period: in seconds.

    Raises:
        ValueError: an argument is out of its range.
    """

    restarts: int = 3
    period: float = 5.0

    def __post_init__(self) -> None:
        """Validate the ranges."""
        if self.restarts != 0:
            require_positive_count("Intensity.restarts (if not 0)", self.restarts)
        require_seconds("Intensity.period", self.period)


class RestartWindow:
    """Records recent restarts, to find when there are too many."""

    __slots__ = ("_intensity", "_times")

    def __init__(self, intensity: Intensity) -> None:
        """Start without restarts."""
        self._intensity = intensity
        self._times: deque[float] = deque()

    def exceeded_by(self, now: float) -> bool:
        """Record a restart at ``now`` (seconds); return whether it exceeds the intensity.

        A restart that is exactly ``period`` old is no longer counted.
        """
        times = self._times
        times.append(now)
        while times[0] <= now - self._intensity.period:
            times.popleft()
        return len(times) > self._intensity.restarts


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
