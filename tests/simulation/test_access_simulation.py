"""Access ends in time in every process, and listeners are told, under any faults."""

from collections import Counter

from greenroom.testing.plugin import Explore

from tests.simulation.access_service import ALL_CROWD_TURNS, simulate_access
from tests.simulation.test_simulation import CI_SEEDS, SEEDS

SHARE = 0.6
"""Of the schedules of other simulations: one takes longer here."""
SIGHTS: dict[str, float] = {
    "served": 0.4,
    "refused": 0.4,
    "stream opened": 2.0,
    "stream refused": 0.2,
    "stream closed with 1008": 0.3,
    "sent subscribed": 3.0,
    "sent changed": 2.0,
    "sent gone deleted": 0.03,
    "sent gone not_found": 0.5,
    "sent unsubscribe": 0.2,
    "gap": 0.2,
    **dict.fromkeys(("connection lost", "connection vanished", "server restarted"), 0.1),
    "crash at store.after_commit": 0.02,
    "delay at store.before_commit": 0.1,
    **{f"{name}: acknowledged": 0.03 for name in ("remove", "delete", "end others", "join")},
    **{f"revoke {kind}: acknowledged": 0.05 for kind in ("session", "key")},
    **{f"decide {state}: acknowledged": 0.1 for state in ("disabled", "locked", "enabled")},
    **{f"{name}: unknown": 0.02 for name in ("write", "leave", "change role")},
    **{f"{end} of {number}": 0.02 for end in ("stop", "cut", "power") for number in (1, 2)},
}
"""How often something has to occur in a schedule, or the simulation tests less than it claims."""


def test_access_ends_and_notices_arrive_in_time_under_any_faults(explore: Explore) -> None:
    sighted: Counter[str] = Counter()
    exploration = explore(
        lambda turns: simulate_access(turns, lambda sight: sighted.update([sight])),
        schedules=int(SEEDS * SHARE),
        steps=ALL_CROWD_TURNS,
        # It asserts how long something takes.
        early_time=False,
    )
    shares = {sight: sighted[sight] / exploration.schedules for sight in SIGHTS}
    missing = {sight: share for sight, share in shares.items() if share < SIGHTS[sight]}
    assert exploration.schedules < int(CI_SEEDS * SHARE) or not missing, missing
