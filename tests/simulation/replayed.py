"""The steps of some schedules of each simulation, for comparison between processes.

``python -m tests.simulation.replayed COUNT JUNK`` writes a line for each of the first ``COUNT``
schedules: its token, and a digest of all its steps. ``JUNK`` objects are allocated before, so that
later ones have other addresses.
"""

import hashlib
import logging
import sys
from collections.abc import Awaitable, Callable, Iterator, Mapping
from functools import partial

from greenroom.testing import Schedule, run_deterministic

from tests.fakes import readable_ids
from tests.features.accounts.simulation.service import simulate_identity
from tests.features.archives.simulation.service import simulate_imports
from tests.features.history.simulation.service import simulate_restorations
from tests.features.publishing.simulation.service import simulate_publishing
from tests.features.usage.simulation.service import simulate_usage
from tests.simulation.service import simulate

SIMULATIONS: Mapping[str, tuple[Callable[[], Awaitable[None]], bool]] = {
    "notes": (partial(simulate, together=False, images=False), True),
    "documents": (partial(simulate, together=True, images=False), True),
    "images": (partial(simulate, together=False, images=True), True),
    "identity": (partial(simulate_identity, programs=False), True),
    "programs": (partial(simulate_identity, programs=True), True),
    "publishing": (simulate_publishing, True),
    "imports": (simulate_imports, False),
    "restorations": (simulate_restorations, False),
    "usage": (simulate_usage, True),
}
"""Each with whether time may pass early in it."""
KNOWN = {
    "images": (
        "random+time:1418186270",
        "pct:3:700:3371754448",
        "pct+time:2:700:1118805955",
        "pct:1:700:267488770",
    )
}
"""Schedules whose steps once depended on addresses."""


def replayed(count: int) -> Iterator[str]:
    """Run ``count`` schedules of each simulation, half of them random walks, and describe each."""
    for name, (scenario, early) in SIMULATIONS.items():
        for schedule in (*map(Schedule.parse, KNOWN.get(name, ())), *_drawn(count, early)):
            run = run_deterministic(scenario, seed=schedule)
            steps = repr([(each, run.tasks[each] if each >= 0 else "") for each in run.trace])
            yield f"{name} {schedule} {run.steps} {hashlib.sha256(steps.encode()).hexdigest()}"


def _drawn(count: int, early: bool) -> Iterator[Schedule]:
    for seed in range(count):
        early_time = early and seed % 4 < 2
        if seed % 2:
            yield Schedule.pct(3, 500, seed, early_time=early_time)
        else:
            yield Schedule.random(seed, early_time=early_time)


def main(count: int, junk: int) -> None:
    """Write a line for each schedule."""
    readable_ids.install()
    logging.disable()
    kept = [bytearray(17 * number % 3000) for number in range(junk)]
    del kept[::3]
    for line in replayed(count):
        sys.stdout.write(f"{line}\n")
    del kept


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
