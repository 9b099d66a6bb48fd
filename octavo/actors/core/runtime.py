"""What a tree of actors is given from outside: randomness, observers, faults.

The core reads time only from trio's clock, has no other source of
non-determinism, and keeps no state in a module.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Protocol

_log = logging.getLogger("octavo.actors")


class Observer:
    """Hears what happens in a tree; derive from it to feed metrics or traces.

    The methods are called in the loop, must return fast, and must not raise:
    an exception is logged and dropped, so that watching can't break what is
    watched. Paths are ``"root/child"``. The defaults log what an operator has
    to know; the rest does nothing.
    """

    def started(self, path: str) -> None:
        """An incarnation reported readiness."""

    def ended(self, path: str, reason: str) -> None:
        """An incarnation ended without a crash."""

    def crashed(self, path: str, error: BaseException) -> None:
        """An incarnation ended with an error."""
        _log.error("%s crashed", path, exc_info=error)

    def restarting(self, path: str, delay: float) -> None:
        """A child will be started again in ``delay`` seconds."""
        _log.warning("%s is started again in %.3f s", path, delay)

    def escalated(self, path: str, error: BaseException) -> None:
        """A supervisor gave up."""
        _log.error("%s gave up: %s", path, error)

    def quarantined(self, path: str, retry_after: float) -> None:
        """A virtual actor crashed too often and rests for ``retry_after`` seconds."""
        _log.error("%s is quarantined for %.3f s", path, retry_after)

    def recovered(self, path: str) -> None:
        """A quarantined virtual actor handled its probe and is back."""
        _log.warning("%s is back from quarantine", path)

    def unheard_refusal(self, path: str, message: object, error: BaseException) -> None:
        """A told message was refused: no asker hears it."""
        _log.warning("%s refused %s that was told: %s", path, type(message).__name__, error)

    def handled(self, path: str, message: object, wait: float, handling: float) -> None:
        """A message was handled; ``wait`` and ``handling`` are in seconds.

        Called only when overridden: it is on the way of every message.
        """


class Faults(Protocol):
    """Named points at which a test may make something go wrong."""

    async def reach(self, point: str, subject: str) -> None:
        """Pass ``point``; may raise, wait, or cancel."""

    def loses_reply(self, subject: str) -> bool:
        """Whether the answer about to be given by ``subject`` gets lost."""


def _no_jitter() -> float:
    return 0.5


@dataclass(frozen=True, slots=True)
class Runtime:
    """What every part of one tree shares.

    Args:
        random: numbers within [0, 1) for jitter; by default none is applied.
        observer: hears what happens.
        faults: fault points; None outside tests.
    """

    random: Callable[[], float] = _no_jitter
    observer: Observer = field(default_factory=Observer)
    faults: Faults | None = None

    def notify(self, event: Callable[..., None], *args: object) -> None:
        """Call an observer's method; log and drop what it raises."""
        try:
            event(*args)
        except Exception:  # noqa: BLE001 - watching must not break what is watched
            _log.exception("an observer failed; it must not raise")
