"""The whole service keeps its guarantees under faults."""

import os
from collections import Counter
from collections.abc import Sequence

import pytest
from greenroom.testing.plugin import Explore

from tests.simulation.coincidences import COINCIDENCES, SHARE
from tests.simulation.service import ALL_TURNS, Turn, simulate
from tests.simulation.weather import BLOBS, CRASHES

CI_SEEDS = 60
"""The default number of schedules of a simulation."""
SEEDS = int(os.environ.get("OCTAVO_SIMULATION_SEEDS", CI_SEEDS))
CI_SCHEDULES = 240
"""The default number of schedules of the whole service, with notes, documents and images."""
SCHEDULES = int(os.environ.get("OCTAVO_SIMULATION_SCHEDULES", CI_SCHEDULES))
SHARDS = 2
"""The parts in which they run, so that several processes share them."""

SIGHTS = {
    *("created", "updated", "unchanged", "deleted", "restored", "purged"),
    *("file_exists", "file_live", "file_purged", "head_moved", "mutation_reused", "not_found"),
    *("path_conflict", "invalid_graph"),
    *("merged", "epoch_mismatch", "unrenderable_note", "document_malformed"),
    *("shed", "carried over", "rewritten", "links queried"),
    *(f"{status} {asked}" for status in ("not-executed", "unknown") for asked in ("Sent", "Look")),
    *(f"{kind} at {point}" for kind in ("crash", "delay") for point in CRASHES),
    *("cancel at ask.sending", "cancel at ask.replied"),
    *(f"{end} of {number}" for end in ("stop", "cut", "power") for number in (1, 2)),
}
"""What has to occur under this many schedules, or the simulation tests less than it claims."""
SIGHTS_OF_IMAGES = {
    *("uploaded", "attached 1", "attached 2", "image read", "image purged", "upload gone"),
    *("blobs deleted", "cancel at blobs.renamed"),
    *(f"{kind} at {point}" for kind in ("crash", "delay") for point in BLOBS),
}
"""The same, of runs with images."""


@pytest.mark.parametrize("shard", range(SHARDS))
def test_service_keeps_its_guarantees_under_any_faults(shard: int, explore: Explore) -> None:
    runs = Counter[str]()

    async def run(turns: Sequence[Turn]) -> None:
        sighted: set[str] = set()
        await simulate(turns, sighted.add)
        runs.update(sighted)

    exploration = explore(run, schedules=-(-SCHEDULES // SHARDS), seed=shard, steps=ALL_TURNS)
    if exploration.schedules >= CI_SEEDS:
        assert runs.keys() >= SIGHTS, SIGHTS - runs.keys()
        shares = {each: runs[each] / exploration.schedules for each in COINCIDENCES}
        assert min(shares.values()) >= SHARE, shares


def test_service_keeps_its_images_under_any_faults(explore: Explore) -> None:
    sighted: set[str] = set()
    exploration = explore(
        lambda turns: simulate(turns, sighted.add, together=False, images=True),
        schedules=SEEDS,
        steps=ALL_TURNS,
    )
    unseen = SIGHTS_OF_IMAGES - sighted
    assert exploration.schedules < CI_SEEDS or not unseen, unseen
