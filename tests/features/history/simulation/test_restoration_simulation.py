"""Workspaces return exactly under any faults."""

from greenroom.testing.plugin import Explore

from tests.features.history.simulation.service import ALL_WRITES, simulate_restorations
from tests.simulation.test_simulation import CI_SEEDS, SEEDS

SIGHTS = {
    *("answered done", "answered running", "left", "written between"),
    *("stopped", "continued"),
    *("1 changesets", "2 changesets", "3 changesets", "changed_since", "path_taken"),
    *("still_deleted", "former path"),
    *(f"{end} of {number}" for end in ("stop", "cut") for number in (1, 2)),
    *(f"crash at {point}" for point in ("workspace.committed", "store.after_commit")),
}
"""What has to occur under this many schedules, or the simulation tests less than it claims."""


def test_workspace_is_restored_under_any_faults(explore: Explore) -> None:
    sighted: set[str] = set()
    exploration = explore(
        lambda writes: simulate_restorations(writes, sighted.add),
        schedules=SEEDS,
        steps=ALL_WRITES,
        early_time=False,
    )
    assert exploration.schedules < CI_SEEDS or sighted >= SIGHTS, SIGHTS - sighted
