"""Counts are lost for some seconds only, under any faults."""

from greenroom.testing.plugin import Explore

from tests.features.usage.simulation.service import ALL_READS, simulate_usage
from tests.simulation.test_simulation import CI_SEEDS, SEEDS

SIGHTS = {
    *("account-download-bytes", "not counted", "lost", "1 months", "2 months"),
    *(f"{end} of {number}" for end in ("stop", "cut") for number in (1, 2)),
    *("crash at storage.after_commit", "crash at store.after_commit"),
}
"""What has to occur under this many schedules, or the simulation tests less than it claims."""


def test_usage_is_counted_under_any_faults(explore: Explore) -> None:
    sighted: set[str] = set()
    exploration = explore(
        lambda reads: simulate_usage(reads, sighted.add), schedules=SEEDS, steps=ALL_READS
    )
    assert exploration.schedules < CI_SEEDS or sighted >= SIGHTS, SIGHTS - sighted
