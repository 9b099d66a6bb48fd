"""Archives are imported once under any faults."""

from greenroom.testing.plugin import Explore

from tests.features.archives.simulation.service import ALL_WRITES, simulate_imports
from tests.simulation.test_simulation import CI_SEEDS, SEEDS

SIGHTS = {
    *("imported", "refused", "renamed", "aborted", "part refused", "part replaced"),
    *("ImportIncomplete", "ArchiveJobRunning", "JobStopped", "BlobsUnavailable", "Unsettled"),
    *(f"{end} of {number}" for end in ("stop", "cut") for number in (1, 2)),
    *(f"crash at {point}" for point in ("workspace.committed", "store.after_commit")),
    *(f"crash at {point}" for point in ("blobs.before_put", "blobs.stored")),
}
"""What has to occur under this many schedules, or the simulation tests less than it claims."""


def test_archive_is_imported_once_under_any_faults(explore: Explore) -> None:
    sighted: set[str] = set()
    # With early time, every request of many steps would exceed any deadline.
    exploration = explore(
        lambda writes: simulate_imports(writes, sighted.add),
        schedules=SEEDS,
        steps=ALL_WRITES,
        early_time=False,
    )
    assert exploration.schedules < CI_SEEDS or sighted >= SIGHTS, SIGHTS - sighted
