"""Death watch: notices of an actor's ends, and whether the last one is final."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

import trio

StopReason = Literal["finished", "drained", "restarted", "passivated", "crashed", "cancelled"]
"""Why an incarnation of an actor ended.

``finished``: at its own request. ``drained``: shut down after handling the waiting messages.
``restarted``: because a sibling restarts. ``passivated``: to free resources. ``crashed``: an
error. ``cancelled``: by a cancellation, for example after the drain timeout.
"""


@dataclass(frozen=True, slots=True)
class Down:
    """An actor went down.

    Attributes:
        path: the actor's path.
        reason: why its last incarnation ended.
        error: the error of a crash.
        final: whether it is not started again; no further notice follows.
    """

    path: str
    reason: StopReason
    error: BaseException | None
    final: bool


class Watchers:
    """The callbacks for one actor's ends."""

    __slots__ = ("_callbacks", "_final")

    def __init__(self) -> None:
        """Start without callbacks."""
        self._callbacks: list[Callable[[Down], None]] = []
        self._final: Down | None = None

    @property
    def any(self) -> bool:
        """Whether there are callbacks."""
        return bool(self._callbacks)

    def add(self, callback: Callable[[Down], None]) -> None:
        """Call ``callback`` at each end; immediately if the final one is past."""
        if self._final is not None:
            callback(self._final)
        else:
            self._callbacks.append(callback)

    def remove(self, callback: Callable[[Down], None]) -> None:
        """Remove ``callback``, if it is there."""
        if callback in self._callbacks:
            self._callbacks.remove(callback)

    def notify(self, down: Down) -> None:
        """Call every callback; store a final notice for callbacks added later."""
        if self._final is not None:
            return
        for callback in tuple(self._callbacks):
            callback(down)
        if down.final:
            self._final = down
            self._callbacks.clear()


class Monitor:
    """Receives the `Down` notices of one actor; created by ``ref.monitor()``.

    Use it as a context manager, so that it is detached, and iterate over it::

        with ref.monitor() as downs:
            async for down in downs:
                ...

    The iteration ends after the final notice. At most `CAPACITY` unread notices are stored, the
    newest ones; `missed` counts the others.
    """

    CAPACITY = 64

    def __init__(self, watchers: Watchers) -> None:
        """Attach to ``watchers``."""
        self._watchers = watchers
        self._notices: deque[Down] = deque()
        self._arrived = trio.Event()
        self._ended = False
        self.missed = 0
        watchers.add(self._notice)

    def _notice(self, down: Down) -> None:
        if len(self._notices) == self.CAPACITY:
            self._notices.popleft()
            self.missed += 1
        self._notices.append(down)
        self._arrived.set()

    def __enter__(self) -> Monitor:
        """Return self."""
        return self

    def __exit__(self, *_: object) -> None:
        """Detach."""
        self.close()

    def close(self) -> None:
        """Detach; unread notices can still be read."""
        self._watchers.remove(self._notice)

    def __aiter__(self) -> Monitor:
        """Return self."""
        return self

    async def __anext__(self) -> Down:
        """Return the next notice; stop after the final one. If cancelled, no notice is lost."""
        if self._ended:
            raise StopAsyncIteration
        while not self._notices:
            self._arrived = trio.Event()
            await self._arrived.wait()
        down = self._notices.popleft()
        self._ended = down.final
        return down
