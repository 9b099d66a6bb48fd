"""The rules of supervision as pure functions: who is restarted, and when to give up."""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, TypeVar, assert_never, get_args

from octavo.actors.core.options import require_positive_count, require_seconds

Restart = Literal["permanent", "transient", "temporary"]
"""When a child that ended is started again.

``permanent``: always. ``transient``: after a crash, not after a normal end.
``temporary``: never.
"""

Strategy = Literal["one_for_one", "rest_for_one", "all_for_one"]
"""Which children a restart takes along.

``one_for_one``: only the one that ended. ``rest_for_one``: also all that were
started after it. ``all_for_one``: all.
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
        raise ValueError(f"unknown {what} {value!r}; known are {', '.join(known)}")


def is_restarted(policy: Restart, *, crashed: bool) -> bool:
    """Whether a child with ``policy`` that ended by itself is started again."""
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
    """The children to stop and start again, in order of start.

    Args:
        strategy: the supervisor's.
        children: all children in order of start.
        ended: the one that ended.
        down: those that an earlier, unfinished restart has still to start.
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
    """How many restarts are borne before the failure escalates.

    Args:
        restarts: restarts allowed within ``period``; 0 escalates at the first.
        period: seconds.

    Raises:
        ValueError: an argument is out of its range.
    """

    restarts: int = 3
    period: float = 5.0

    def __post_init__(self) -> None:
        """Check the ranges."""
        if self.restarts != 0:
            require_positive_count("Intensity.restarts (if not 0)", self.restarts)
        require_seconds("Intensity.period", self.period)


class RestartWindow:
    """Remembers recent restarts and says when there are too many."""

    __slots__ = ("_intensity", "_times")

    def __init__(self, intensity: Intensity) -> None:
        """Start with no restart remembered."""
        self._intensity = intensity
        self._times: deque[float] = deque()

    def exceeded_by(self, now: float) -> bool:
        """Count a restart at ``now`` (seconds); True when it is one too many.

        A restart that is exactly ``period`` old is no longer counted.
        """
        times = self._times
        times.append(now)
        while times[0] <= now - self._intensity.period:
            times.popleft()
        return len(times) > self._intensity.restarts
