"""The quarantines of a process, compared with their rule."""

from collections import defaultdict
from collections.abc import Callable

import trio
from greenroom import Observer, QuarantineRule


class QuarantineObserver(Observer):
    """Counts the crashes of each actor itself; it logs none, as they are injected.

    Attributes:
        rule: of the virtual actors; None for a process without one.
        violated: called with each quarantine that the rule does not want, or not so long.
    """

    def __init__(self) -> None:
        self.rule: QuarantineRule | None = None
        self.violated: Callable[[str], None] = lambda _: None
        self._crashes: dict[str, list[float]] = defaultdict(list)
        self._failed: dict[str, int] = defaultdict(int)
        self._longest: dict[str, float] = defaultdict(float)

    def crashed(self, path: str, error: BaseException) -> None:
        self._crashes[path].append(trio.current_time())

    def restarting(self, path: str, delay: float) -> None:
        pass

    def quarantined(self, path: str, retry_after: float) -> None:
        rule, now = self.rule, trio.current_time()
        if rule is None:
            return
        recent = [each for each in self._crashes[path] if each > now - rule.period]
        expected = min(rule.first * 2.0 ** self._failed[path], rule.maximum)
        self._failed[path] += 1
        self._longest[path] = max(self._longest[path], expected)
        if retry_after > expected or (expected == rule.first and len(recent) < rule.crashes):
            self.violated(f"{path} is quarantined for {retry_after} s after {len(recent)} crashes")

    def recovered(self, path: str) -> None:
        self._crashes[path].clear()
        self._failed[path] = 0

    def require_ended(self, path: str, retry_after: float) -> None:
        """Report a refusal because of a quarantine that has ended, or is too long."""
        longest = self._longest[path]
        if not 0 < retry_after < longest + 1e-6:
            self.violated(f"{path} stays in quarantine for {retry_after} s, and {longest} was told")
