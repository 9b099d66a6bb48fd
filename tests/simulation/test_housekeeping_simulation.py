"""Jobs remove what has passed, in time, and nothing else, under any faults."""

from collections import Counter

from greenroom.testing.plugin import Explore

from tests.simulation.housekeeping_rows import KINDS
from tests.simulation.housekeeping_service import ALL_USES, simulate_housekeeping
from tests.simulation.test_simulation import CI_SEEDS, SEEDS

SHARE = 0.6
"""Of the schedules of other simulations: one takes longer here."""
SIGHTS: dict[str, float] = {
    **{f"{kind.table} removed": 0.5 for kind in KINDS},
    **dict.fromkeys(("use", "delete"), 1.0),
    "account removed": 0.2,
    "revision pruned": 0.5,
    **{
        f"crash at {where}.{when}_commit": 0.2
        for where in ("storage", "store")
        for when in ("before", "after")
    },
    **{f"{end} of {number}": 0.05 for end in ("stop", "cut", "power") for number in (1, 2)},
}
"""How often something has to occur in a schedule, or the simulation tests less than it claims."""


def test_jobs_remove_what_has_passed_under_any_faults(explore: Explore) -> None:
    sighted: Counter[str] = Counter()
    exploration = explore(
        lambda uses: simulate_housekeeping(uses, lambda sight: sighted.update([sight])),
        schedules=int(SEEDS * SHARE),
        steps=ALL_USES,
        # It asserts how long something takes.
        early_time=False,
    )
    shares = {sight: sighted[sight] / exploration.schedules for sight in SIGHTS}
    missing = {sight: share for sight, share in shares.items() if share < SIGHTS[sight]}
    assert exploration.schedules < int(CI_SEEDS * SHARE) or not missing, missing
