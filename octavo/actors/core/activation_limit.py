"""Who is awake: at most so many, the one idle for longest leaves first.

Pure bookkeeping over actors, without I/O or tasks: it says whom to wake and
whom to send away; the directory does it. When every awake actor is busy, those
who want to be woken stand in line, and the one awake for longest hands over its
place after its present batch; what still waits for it waits in its mailbox,
and it goes to the end of the line.
"""

from __future__ import annotations

from collections import OrderedDict
from typing import Generic, TypeVar

R = TypeVar("R")


class ActivationLimit(Generic[R]):
    """The places for awake actors, the line before them, and the order to leave.

    Args:
        number: how many may be awake at once.
    """

    def __init__(self, number: int) -> None:
        """Start with everybody asleep."""
        self._number = number
        self._line: OrderedDict[R, None] = OrderedDict()
        self._staying: OrderedDict[R, None] = OrderedDict()
        self._leaving: set[R] = set()
        self._leaving_idle: set[R] = set()  # of these, those that had nothing to do: soon gone
        self._idle: OrderedDict[R, float] = OrderedDict()

    # What changes

    def admit_beyond(self, actor: R) -> None:
        """Give ``actor``, who stands in line, a place even if none is free."""
        del self._line[actor]
        self._staying[actor] = None

    def line_up(self, actor: R) -> None:
        """Let ``actor`` wait for a place."""
        self._line[actor] = None

    def leave_line(self, actor: R) -> None:
        """Let it wait no longer; no error if it did not."""
        self._line.pop(actor, None)

    def admit(self) -> R | None:
        """Give a free place to the first in line; None if there is none or nobody."""
        if not self._line or self.awake >= self._number:
            return None
        actor, _ = self._line.popitem(last=False)
        self._staying[actor] = None
        return actor

    def fell_idle(self, actor: R, now: float) -> None:
        """Note that an awake actor has nothing to do since ``now``, if not noted before."""
        if actor in self._staying and actor not in self._idle:
            self._idle[actor] = now

    def got_busy(self, actor: R) -> None:
        """Note that it has something to do again: it is the last to go now."""
        if self._idle.pop(actor, None) is not None:
            self._staying.move_to_end(actor)

    def send_away(self) -> R | None:
        """Choose one to leave for the sake of the line; None if nobody has to.

        As many idle ones leave as stand in line, the longest idle first. Without them busy ones
        are told to go after what they do; since one of them may take for ever, they don't keep
        an idle one from being sent.
        """
        if self._idle and len(self._leaving_idle) < len(self._line):
            actor = next(iter(self._idle))
            self.leave(actor)
            self._leaving_idle.add(actor)
            return actor
        if self._idle or len(self._leaving) >= len(self._line):
            return None
        busy = next(iter(self._staying), None)
        if busy is not None:
            self.leave(busy)
        return busy

    def idle_for(self, seconds: float, now: float) -> R | None:
        """Choose one that has been idle for ``seconds`` at ``now`` to leave."""
        first = next(iter(self._idle.items()), None)
        # The same sum as whoever waits for that moment makes: no other rounding.
        if first is None or first[1] + seconds > now:
            return None
        self.leave(first[0])
        return first[0]

    def leave(self, actor: R) -> None:
        """Note that an awake actor was told to go; its place is still taken."""
        self._idle.pop(actor, None)
        if self._staying.pop(actor, ...) is None:
            self._leaving.add(actor)

    def gone(self, actor: R) -> None:
        """Note that it is no longer awake: its place is free."""
        self._idle.pop(actor, None)
        self._staying.pop(actor, None)
        self._leaving.discard(actor)
        self._leaving_idle.discard(actor)

    # What is

    @property
    def awake(self) -> int:
        """How many places are taken."""
        return len(self._staying) + len(self._leaving)

    @property
    def idle(self) -> int:
        """How many awake actors have nothing to do."""
        return len(self._idle)

    @property
    def in_line(self) -> int:
        """How many wait for a place."""
        return len(self._line)

    @property
    def idle_for_longest(self) -> float | None:
        """Since when the next one to leave has been idle."""
        return next(iter(self._idle.values()), None)

    def staying(self) -> list[R]:
        """Those awake and not told to leave."""
        return list(self._staying)
