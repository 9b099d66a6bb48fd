"""Links open what is published and nothing else, under any faults."""

from greenroom.testing.plugin import Explore

from tests.features.publishing.simulation.service import ALL_TURNS, simulate_publishing
from tests.simulation.test_simulation import CI_SEEDS, SEEDS

SIGHTS = {
    *("published note", "published folder", "too_many_links", "revoked", "reported"),
    *("taken down", "dismissed", "note", "list", "read with a ticket"),
    *("folder followed", "folder not followed", "changesets in one commit", "head_moved"),
    *(f"closed: {why}" for why in ("ended", "report closed", "expired", "password", "openings")),
    *(f"closed: {why}" for why in ("no ticket", "foreign ticket", "old ticket", "nothing there")),
    *(f"{end} of {number}" for end in ("stop", "cut") for number in (1, 2)),
    *(f"crash at {point}" for point in ("workspace.committed", "storage.after_commit")),
    *("crash at store.after_commit", "maps forgotten", "postponed"),
}
"""What has to occur under this many schedules, or the simulation tests less than it claims."""


def test_links_open_what_is_published_under_any_faults(explore: Explore) -> None:
    sighted: set[str] = set()
    exploration = explore(
        lambda turns: simulate_publishing(turns, sighted.add), schedules=SEEDS, steps=ALL_TURNS
    )
    assert exploration.schedules < CI_SEEDS or sighted >= SIGHTS, SIGHTS - sighted
