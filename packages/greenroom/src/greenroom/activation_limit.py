"""The limit on active virtual actors: who is activated next, and who is passivated for it.

Pure bookkeeping without I/O or tasks: it decides, and the directory acts. At most a fixed number of
actors are active. The one that has been idle longest is passivated first. While every active actor
is busy, keys wait in a queue, and the actor that has been active longest is passivated after its
current batch. Messages that still wait for it stay in its mailbox, and its key joins the queue.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable
from typing import Generic, TypeVar

T = TypeVar("T")


class ActivationLimit(Generic[T]):
    """The active actors, the queue of those to activate, and the order of passivation.

    Args:
        number: how many actors may be active at the same time.
        in_use: returns whether an idle actor has given answers since the last call; then it gets a
            second chance.
    """

    def __init__(self, number: int, in_use: Callable[[T], bool] = lambda _: False) -> None:
        """Start without active actors."""
        self._number = number
        self._in_use = in_use
        self._queue: OrderedDict[T, None] = OrderedDict()
        self._staying: OrderedDict[T, None] = OrderedDict()
        self._leaving: set[T] = set()
        self._leaving_idle: set[T] = set()  # those of them that were idle and so end soon
        self._idle: OrderedDict[T, float] = OrderedDict()

    # Transitions

    def activate_over_limit(self, actor: T) -> None:
        """Activate ``actor``, which is in the queue, even if the limit is reached."""
        del self._queue[actor]
        self._staying[actor] = None

    def enqueue(self, actor: T) -> None:
        """Add ``actor`` to the queue."""
        self._queue[actor] = None

    def dequeue(self, actor: T) -> None:
        """Remove ``actor`` from the queue, if it is there."""
        self._queue.pop(actor, None)

    def activate_next(self) -> T | None:
        """Activate and return the first of the queue; None if it is empty or the limit is hit."""
        if not self._queue or self.active >= self._number:
            return None
        actor, _ = self._queue.popitem(last=False)
        self._staying[actor] = None
        return actor

    def became_idle(self, actor: T, now: float) -> None:
        """Record that an active actor is idle since ``now``, unless that is recorded already."""
        if actor in self._staying and actor not in self._idle:
            self._idle[actor] = now

    def became_busy(self, actor: T) -> None:
        """Record that an actor is no longer idle; it moves to the end of the passivation order."""
        if self._idle.pop(actor, None) is not None:
            self._staying.move_to_end(actor)

    def passivate_for_queue(self) -> T | None:
        """Choose an actor to passivate in favor of the queue; None if that is not needed.

        As many idle actors are passivated as keys are queued, the longest idle first. Without idle
        actors, busy ones are asked to end after their current batch. Since a busy one may never
        end, those do not count when an idle one is available.
        """
        if self._idle and len(self._leaving_idle) < len(self._queue):
            actor = self._longest_idle()
            self.leave(actor)
            self._leaving_idle.add(actor)
            return actor
        if self._idle or len(self._leaving) >= len(self._queue):
            return None
        busy = next(iter(self._staying), None)
        if busy is not None:
            self.leave(busy)
        return busy

    def passivate_idle(self, seconds: float, now: float) -> T | None:
        """Choose an actor to passivate that has been idle for ``seconds`` at ``now``."""
        while self._idle:
            actor, since = next(iter(self._idle.items()))
            # The directory computes the moment by the same sum, so rounding can't differ.
            if since + seconds > now:
                return None
            if not self._in_use(actor):
                self.leave(actor)
                return actor
            # It has given answers meanwhile, at an unknown time.
            del self._idle[actor]
            self._idle[actor] = now
        return None

    def _longest_idle(self) -> T:
        """Return the actor that has been idle longest; one that is in use gets a second chance."""
        for actor in [*self._idle]:
            if not self._in_use(actor):
                return actor
            self._idle.move_to_end(actor)
        return next(iter(self._idle))

    def leave(self, actor: T) -> None:
        """Record that an active actor was asked to end; it still counts as active."""
        self._idle.pop(actor, None)
        if self._staying.pop(actor, ...) is None:
            self._leaving.add(actor)

    def ended(self, actor: T) -> None:
        """Record that an actor is no longer active."""
        self._idle.pop(actor, None)
        self._staying.pop(actor, None)
        self._leaving.discard(actor)
        self._leaving_idle.discard(actor)

    # State

    @property
    def active(self) -> int:
        """The number of active actors, including those asked to end."""
        return len(self._staying) + len(self._leaving)

    @property
    def idle(self) -> int:
        """The number of active actors that are idle."""
        return len(self._idle)

    @property
    def queued(self) -> int:
        """The number of keys in the queue."""
        return len(self._queue)

    @property
    def idle_since(self) -> float | None:
        """Since when the actor that is idle longest has been idle."""
        return next(iter(self._idle.values()), None)

    def staying(self) -> list[T]:
        """Return the active actors that were not asked to end."""
        return list(self._staying)
