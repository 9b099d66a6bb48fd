"""Death watch: hear when an actor goes down, and whether it is for good."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from types import TracebackType
from typing import Literal

import trio

StopReason = Literal["finished", "drained", "restarted", "passivated", "crashed", "cancelled"]
"""Why an incarnation of an actor ended.

``finished``: it asked for it. ``drained``: shut down after handling what
waited. ``restarted``: taken along by the restart of a sibling. ``passivated``:
put to sleep. ``crashed``: an error. ``cancelled``: stopped by force.
"""


@dataclass(frozen=True, slots=True)
class Down:
    """An actor went down.

    Attributes:
        path: which.
        reason: why its last incarnation ended.
        error: the crash, if it was one.
        final: whether it will not come back; no further notice follows.
    """

    path: str
    reason: StopReason
    error: BaseException | None
    final: bool


class Watchers:
    """Those who want to hear of one actor's end."""

    __slots__ = ("_callbacks", "_final")

    def __init__(self) -> None:
        """Start with nobody watching."""
        self._callbacks: list[Callable[[Down], None]] = []
        self._final: Down | None = None

    @property
    def any(self) -> bool:
        """Whether anybody watches."""
        return bool(self._callbacks)

    def add(self, callback: Callable[[Down], None]) -> None:
        """Call ``callback`` at each end; at once if the final one is past."""
        if self._final is not None:
            callback(self._final)
        else:
            self._callbacks.append(callback)

    def remove(self, callback: Callable[[Down], None]) -> None:
        """Stop calling ``callback``; no error if it is not there."""
        if callback in self._callbacks:
            self._callbacks.remove(callback)

    def tell(self, down: Down) -> None:
        """Tell everybody; a final notice is told once and kept for latecomers."""
        if self._final is not None:
            return
        for callback in tuple(self._callbacks):
            callback(down)
        if down.final:
            self._final = down
            self._callbacks.clear()


class Monitor:
    """Receives the `Down` notices of one actor; made by ``ref.monitor()``.

    Use it as a context manager, so that it is detached, and iterate over it::

        with ref.monitor() as downs:
            async for down in downs:
                ...

    The iteration ends after the final notice. At most `KEPT` unread notices
    are kept, the newest; `missed` counts the others.
    """

    KEPT = 64

    def __init__(self, watchers: Watchers) -> None:
        """Attach to ``watchers``."""
        self._watchers = watchers
        self._notices: deque[Down] = deque()
        self._arrived = trio.Event()
        self._ended = False
        self.missed = 0
        watchers.add(self._notice)

    def _notice(self, down: Down) -> None:
        if len(self._notices) == self.KEPT:
            self._notices.popleft()
            self.missed += 1
        self._notices.append(down)
        self._arrived.set()

    def __enter__(self) -> Monitor:
        """Return self."""
        return self

    def __exit__(
        self,
        exc_type: type[BaseException] | None,
        exc_value: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        """Detach."""
        self.close()

    def close(self) -> None:
        """Detach; unread notices can still be read."""
        self._watchers.remove(self._notice)

    def __aiter__(self) -> Monitor:
        """Return self."""
        return self

    async def __anext__(self) -> Down:
        """The next notice; ends after the final one. Cancelled, none is lost."""
        if self._ended:
            raise StopAsyncIteration
        while not self._notices:
            self._arrived = trio.Event()
            await self._arrived.wait()
        down = self._notices.popleft()
        self._ended = down.final
        return down
