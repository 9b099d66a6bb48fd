"""Counts of usage that are broken on purpose."""

import pytest
import trio

from octavo.features.usage import sql as usage
from octavo.features.usage.meter import UsageCounters, UsageMeter
from octavo.model.usage import NOTHING
from tests.features.usage.simulation.service import simulate_usage
from tests.simulation.simulation import Broken, Simulation


def add_again(patch: pytest.MonkeyPatch) -> None:
    """A batch of unknown outcome is added again, whether or not it was added before."""
    patch.setattr(usage, "_BEGIN_BATCH", usage._BEGIN_BATCH.replace(".batch < ", ".batch <= "))


def drop_unknown_batches(patch: pytest.MonkeyPatch) -> None:
    """A batch of unknown outcome is taken for added."""
    next_batch = UsageCounters.next_batch

    def next_one(self: UsageCounters) -> usage.UsageBatch | None:
        self.batch = None
        return next_batch(self)

    patch.setattr(UsageCounters, "next_batch", next_one)


def forget_the_month_before(patch: pytest.MonkeyPatch) -> None:
    """What was not stored when the month ends is lost."""
    enter = UsageCounters.enter

    def enter_with_nothing(self: UsageCounters, now: float) -> None:
        month = self.month
        enter(self, now)
        if month != self.month:
            self._past.clear()
            self._past_installation.clear()

    patch.setattr(UsageCounters, "enter", enter_with_nothing)


def store_rarely(patch: pytest.MonkeyPatch) -> None:
    """Batches are stored long after they could be."""

    async def run(self: UsageMeter) -> None:
        await trio.sleep(60)

    patch.setattr(UsageMeter, "run", run)


def hold_nothing_on_its_way(patch: pytest.MonkeyPatch) -> None:
    """What is on its way to the database counts against no limit."""
    next_batch = UsageCounters.next_batch

    def next_one(self: UsageCounters) -> usage.UsageBatch | None:
        batch = next_batch(self)
        for counter in (*self.accounts.values(), self.installation):
            counter.sending = NOTHING
        return batch

    patch.setattr(UsageCounters, "next_batch", next_one)


BROKEN = Broken(
    "usage",
    Simulation(simulate_usage, 200),
    {
        add_again: "are stored of",
        drop_unknown_batches: "are stored of|has lost counts",
        forget_the_month_before: "are stored of",
        store_rarely: "older than some seconds",
        hold_nothing_on_its_way: "were read with a limit",
    },
)
"""What is left out, and the message of the first failing schedule."""
