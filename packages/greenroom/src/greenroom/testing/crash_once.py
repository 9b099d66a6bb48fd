"""One injected crash at one of the fault points that a run passes.

The kit makes a `CrashOnce` the faults of every `Runtime` of a run that names no others, and a
`FaultPlan` passes its points on to it. So a scenario needs no preparation.
"""

from __future__ import annotations

from greenroom.runtime import ambient_faults
from greenroom.testing.journal import note_fault
from greenroom.waiting import current_waiter

ASKER_POINTS = ("ask.sending", "ask.replied")
"""The points that the asker passes; they count only if the asker is an actor."""


class InjectedCrash(Exception):
    """The crash that a fault injects."""


class CrashOnce:
    """Counts the fault points that a run passes, and crashes at one of them.

    Args:
        at: the number of the pass at which to crash, from 0; None only counts.

    Attributes:
        passes: how many points have been passed.
        injected: where the crash was injected, as ``point of path``; None before that.
    """

    def __init__(self, at: int | None) -> None:
        """Start counting."""
        self._at = at
        self.passes = 0
        self.injected: str | None = None

    async def reach(self, point: str, subject: str) -> None:
        """Pass a point.

        Raises:
            InjectedCrash: it is the chosen one.
        """
        __tracebackhide__ = True
        if point in ASKER_POINTS and current_waiter() is None:
            return  # a client of the actors, not one of them
        number = self.passes
        self.passes += 1
        if number == self._at:
            self.injected = f"{point} of {subject}"
            note_fault(f"crash at {self.injected}")
            raise InjectedCrash(f"injected at {self.injected}")

    def loses_reply(self, subject: str) -> bool:
        """Return False: crashes are all it injects."""
        return False


async def reach_crash_once(point: str, subject: str) -> None:
    """Pass a point of the run's `CrashOnce`, if it has one.

    Raises:
        InjectedCrash: it is the chosen point.
    """
    faults = ambient_faults.get()
    if faults is not None:
        await faults.reach(point, subject)
