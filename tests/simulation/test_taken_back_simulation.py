"""A history is taken back at any moment."""

from greenroom.testing.plugin import Explore

from tests.simulation.taken_back_service import ALL_TURNS, simulate_taken_back
from tests.simulation.test_simulation import CI_SEEDS, SEEDS

SIGHTS = {
    *("created", "updated", "deleted", "purged", "cursor unknown"),
    *(f"put back with {number}" for number in (1, 2)),
}
"""What has to occur under this many schedules, or the simulation tests less than it claims."""


def test_nothing_of_a_lost_history_is_taken_for_known(explore: Explore) -> None:
    sighted: set[str] = set()
    exploration = explore(
        lambda turns: simulate_taken_back(turns, sighted.add), schedules=SEEDS, steps=ALL_TURNS
    )
    assert exploration.schedules < CI_SEEDS or sighted >= SIGHTS, SIGHTS - sighted
