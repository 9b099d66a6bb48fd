"""Counts are lost for some seconds only, under any faults; proof that broken ones are caught."""

from collections.abc import Callable

import pytest
import trio
from greenroom.testing import ScheduleFailure
from greenroom.testing.plugin import Explore

from octavo.features.usage import sql as usage
from octavo.features.usage.meter import UsageCounters, UsageMeter
from octavo.model.usage import NOTHING
from tests.simulation.test_simulation import CI_SEEDS, SEEDS
from tests.simulation.usage_service import ALL_READS, simulate_usage

SIGHTS = {
    *("account-download-bytes", "not counted", "lost", "1 months", "2 months"),
    *(f"{end} of {number}" for end in ("stop", "cut") for number in (1, 2)),
    *("crash at storage.after_commit", "crash at store.after_commit"),
}
"""What has to occur under this many schedules, or the simulation tests less than it claims."""


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


BROKEN: dict[Callable[[pytest.MonkeyPatch], None], str] = {
    add_again: "are stored of",
    drop_unknown_batches: "are stored of|has lost counts",
    forget_the_month_before: "are stored of",
    store_rarely: "older than some seconds",
    hold_nothing_on_its_way: "were read with a limit",
}


def test_usage_is_counted_under_any_faults(explore: Explore) -> None:
    sighted: set[str] = set()
    exploration = explore(
        lambda reads: simulate_usage(reads, sighted.add), schedules=SEEDS, steps=ALL_READS
    )
    assert exploration.schedules < CI_SEEDS or sighted >= SIGHTS, SIGHTS - sighted


@pytest.mark.parametrize(
    ("broken", "message"),
    [pytest.param(each, message, id=each.__name__) for each, message in BROKEN.items()],
)
def test_broken_count_is_caught(
    broken: Callable[[pytest.MonkeyPatch], None],
    message: str,
    explore: Explore,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    broken(monkeypatch)
    with pytest.raises(ScheduleFailure, match=message):
        explore(simulate_usage, schedules=CI_SEEDS)
