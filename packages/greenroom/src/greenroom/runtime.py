"""The dependencies of a tree of actors: randomness, an observer, and faults for tests.

The core reads time only from trio's clock and has no other source of non-determinism.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import Protocol

_log = logging.getLogger("greenroom")


class Observer:
    """Receives the events of a tree; derive from it to feed metrics or traces.

    The methods are called synchronously, must return quickly, and must not raise: an exception is
    logged and dropped. Paths look like ``"root/child"``. By default the events that concern an
    operator are logged; the other methods do nothing.
    """

    def started(self, path: str) -> None:
        """Handle that an incarnation reported readiness."""

    def ended(self, path: str, reason: str) -> None:
        """Handle that an incarnation ended without a crash."""

    def crashed(self, path: str, error: BaseException) -> None:
        """Handle that an incarnation ended with an error."""
        _log.error("%s crashed", path, exc_info=error)

    def restarting(self, path: str, delay: float) -> None:
        """Handle that a child will be restarted in ``delay`` seconds."""
        _log.warning("%s restarts in %.3f s", path, delay)

    def escalated(self, path: str, error: BaseException) -> None:
        """Handle that a supervisor gave up."""
        _log.error("%s gave up: %s", path, error)

    def quarantined(self, path: str, retry_after: float) -> None:
        """Handle that a virtual actor is quarantined for ``retry_after`` seconds."""
        _log.error("%s is quarantined for %.3f s", path, retry_after)

    def recovered(self, path: str) -> None:
        """Handle that a virtual actor handled its probe; its quarantine is over."""
        _log.warning("%s recovered from quarantine", path)

    def tell_refused(self, path: str, message: object, error: BaseException) -> None:
        """Handle that a told message was refused; there is no asker to raise the refusal."""
        _log.warning("%s refused %s, which was told: %s", path, type(message).__name__, error)

    def handled(self, path: str, message: object, wait: float, handling: float) -> None:
        """Handle that a message was handled; ``wait`` and ``handling`` are in seconds.

        Called only if overridden, because it would delay every message.
        """


class Faults(Protocol):
    """Faults that a test injects at named points."""

    async def reach(self, point: str, subject: str) -> None:
        """Pass ``point``; may raise, wait, or cancel."""

    def loses_reply(self, subject: str) -> bool:
        """Return whether the reply that ``subject`` is about to give gets lost."""


ambient_faults: ContextVar[Faults | None] = ContextVar("greenroom_faults", default=None)
"""The faults of every `Runtime` that names none; the testing kit sets them for one run."""


@dataclass(frozen=True, slots=True)
class Runtime:
    """The dependencies that every part of one tree shares.

    Args:
        random: returns numbers within [0, 1) for jitter; by default there is no jitter.
        observer: receives the events.
        faults: the faults to inject; None outside tests.
    """

    random: Callable[[], float] = lambda: 0.5
    observer: Observer = field(default_factory=Observer)
    faults: Faults | None = field(default_factory=ambient_faults.get)

    def notify(self, event: Callable[..., None], *args: object) -> None:
        """Call a method of an observer; log and drop what it raises."""
        try:
            event(*args)
        except Exception:  # noqa: BLE001 - an observer must not break what it observes
            _log.exception("an observer failed; it must not raise")
