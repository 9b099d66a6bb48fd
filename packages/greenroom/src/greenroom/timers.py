"""Timers: messages that an actor sends to itself later, once or periodically.

A timer is not a task: the actor waits for its mailbox until the next timer is due, and then adds
the due messages itself. So timers cost nothing to an actor that has none, and can't outlive the
incarnation that set them.
"""

from __future__ import annotations

import heapq

import trio

from greenroom.mailbox import Envelope, Mailbox
from greenroom.message import Message
from greenroom.options import require_seconds


class Timer:
    """A scheduled message; returned by `ActorContext.schedule_once` and ``schedule_every``."""

    __slots__ = ("_cancelled", "due", "message", "period")

    def __init__(self, message: Message[None], due: float, period: float | None) -> None:
        """Create a timer for ``due`` (trio's clock, seconds)."""
        self.message = message
        self.due = due
        self.period = period
        self._cancelled = False

    def cancel(self) -> None:
        """Send no more messages. A message already in the mailbox is still handled."""
        self._cancelled = True

    @property
    def cancelled(self) -> bool:
        """Whether `cancel` was called."""
        return self._cancelled


class Timers:
    """The timers of one incarnation."""

    __slots__ = ("_heap", "_set")

    def __init__(self) -> None:
        """Create an empty set of timers."""
        self._heap: list[tuple[float, int, Timer]] = []
        self._set = 0

    def add(self, message: Message[None], delay: float, period: float | None) -> Timer:
        """Schedule ``message`` in ``delay`` seconds, then every ``period`` if given.

        Raises:
            ValueError: the delay is negative, or the period not positive.
        """
        require_seconds("a timer's delay", delay, zero=True)
        if period is not None:
            require_seconds("a timer's period", period)
        timer = Timer(message, trio.current_time() + delay, period)
        self._push(timer)
        return timer

    def _push(self, timer: Timer) -> None:
        self._set += 1
        heapq.heappush(self._heap, (timer.due, self._set, timer))

    def next_due(self) -> float | None:
        """Return when the first timer is due, or None without timers."""
        heap = self._heap
        while heap and heap[0][2].cancelled:
            heapq.heappop(heap)
        return heap[0][0] if heap else None

    def post_due(self, mailbox: Mailbox, now: float) -> None:
        """Add every due message to ``mailbox``, in order of due time.

        A periodic timer whose actor was busy for several periods sends one message and stays
        aligned to its period.
        """
        heap = self._heap
        while heap and (heap[0][0] <= now or heap[0][2].cancelled):
            timer = heapq.heappop(heap)[2]
            if timer.cancelled:
                continue
            mailbox.put_over_capacity(Envelope(timer.message, is_ask=False))
            if timer.period is not None:
                missed = (now - timer.due) // timer.period
                timer.due += (missed + 1) * timer.period
                if timer.due <= now:  # rounding, with periods near the clock's resolution
                    timer.due = now + timer.period
                self._push(timer)
