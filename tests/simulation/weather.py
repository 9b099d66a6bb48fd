"""The fault schedule of a run: what may go wrong, and how often."""

import math
from collections.abc import Iterator
from contextlib import AbstractContextManager
from random import Random

import trio
from greenroom.testing import Fault, FaultPlan, InjectedCrash

CRASHES = (
    "workspace.planned",
    "workspace.committed",
    "workspace.followed",
    "storage.before_commit",
    "storage.after_commit",
    "store.before_commit",
    "store.after_commit",
    "actor.taken",
    "actor.handled",
)
PUTS = ("blobs.before_put", "blobs.renamed", "blobs.stored")
DELETIONS = ("blobs.before_delete", "blobs.unlinked", "blobs.deleted")
BLOBS = (*PUTS, *DELETIONS)
ASKED = "*/workspaces/*"
"""The subjects of requests from devices; the other ones come from actors."""


class FaultSchedule:
    """The faults of a run, until they are switched off.

    Attributes:
        armed: whether anything goes wrong.
        harm: how many faults may have had a request fail.
        storms: how often the database fails, within 0..1.
    """

    def __init__(self, random: Random) -> None:
        crash, delay, leave, self.storms = (
            random.choice([0.0, 0.01, 0.05]),
            random.choice([0.0, 0.05, 0.2]),
            random.choice([0.0, 0.03]),
            random.choice([0.0, 0.02, 0.05]),
        )
        self.armed = False
        self.harm = 0
        self._plan = FaultPlan(
            random.getrandbits(32),
            [
                *(Fault("crash", point, probability=crash) for point in CRASHES),
                *(Fault("crash", point, probability=crash) for point in PUTS),
                # They are passed less often.
                *(Fault("crash", point, probability=4 * crash) for point in DELETIONS),
                Fault("crash", "actor.starting", ASKED, probability=crash),
                Fault("cancel", "blobs.*", "upload", probability=leave),
                Fault("cancel", "ask.*", ASKED, probability=leave),
                *(
                    Fault("delay", p, probability=delay, delay=0.2)
                    for p in (*CRASHES, *BLOBS, "ask.*")
                ),
            ],
        )

    def cancellable(
        self, deadline: float = math.inf
    ) -> AbstractContextManager[trio.CancelScope, bool]:
        """A block that is cancelled when its device loses the connection, and at a time."""
        return self._plan.cancellable(deadline)

    @property
    def injected(self) -> Iterator[str]:
        """The faults injected so far and their points, in words."""
        return (f"{kind} at {point}" for kind, point, _ in self._plan.injected)

    async def reach(self, point: str, subject: str) -> None:
        if not self.armed:
            return
        try:
            await self._plan.reach(point, subject)
        except InjectedCrash:
            self.harm += 1
            raise

    def loses_reply(self, subject: str) -> bool:
        return self.armed and self._plan.loses_reply(subject)

    def strikes(self, random: Random) -> bool:
        """Return whether the database or the disk of blobs fails now."""
        failed = self.armed and random.random() < self.storms
        self.harm += failed
        return failed
