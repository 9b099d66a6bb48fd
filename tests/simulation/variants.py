"""Services that are broken on purpose, and the seeds by which their faults are found at once.

``python -m tests.simulation.variants`` tells how many schedules find each; ``--renew`` writes
the seeds anew of those that the first schedule does not find any more. Arguments select variants by
parts of their names.
"""

import argparse
import json
import re
import statistics
import sys
import time
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from importlib import import_module
from importlib.util import find_spec
from itertools import chain
from pathlib import Path
from typing import NamedTuple

import pytest
from greenroom.testing import ScheduleFailure, explore

from octavo.service.features import FEATURES
from tests.fakes import readable_ids
from tests.simulation.access_broken import ACCESS_BROKEN
from tests.simulation.access_service import simulate_access
from tests.simulation.broken import BROKEN
from tests.simulation.broken_at_random import BROKEN_AT_RANDOM
from tests.simulation.broken_coincidences import BROKEN_COINCIDENCES
from tests.simulation.broken_comparisons import BROKEN_COMPARISONS
from tests.simulation.broken_documents import BROKEN_DOCUMENTS
from tests.simulation.housekeeping_broken import HOUSEKEEPING_BROKEN
from tests.simulation.housekeeping_service import simulate_housekeeping
from tests.simulation.service import simulate
from tests.simulation.simulation import Break, Broken, Simulation
from tests.simulation.taken_back_service import simulate_taken_back

MOST_ANEW = 1_000
"""The schedules within which each is found, whatever the seed."""
SEEDS_FILE = Path(__file__).parent / "seeds.json"
SEEDS: dict[str, int] = json.loads(SEEDS_FILE.read_text())


class Variant(NamedTuple):
    """A broken service, the simulation that shows it, and the message of its failure."""

    name: str
    broken: Break
    message: str
    simulation: Simulation

    @property
    def seed(self) -> int:
        """The seed of the search; others find the fault too, and later."""
        return SEEDS.get(self.name, 0)

    def search(self, explore: Callable[..., object], most: int, seed: int) -> ScheduleFailure:
        """Return the failure of the first schedule that finds the fault."""
        with pytest.MonkeyPatch.context() as patch:
            self.broken(patch)
            with pytest.raises(ScheduleFailure, match=self.message) as caught:
                explore(
                    self.simulation.scenario,
                    schedules=most,
                    seed=seed,
                    early_time=self.simulation.early_time,
                )
        return caught.value


_NOTES = Simulation(partial(simulate, together=False, images=False), 600)
_DOCUMENTS = Simulation(partial(simulate, together=True, images=False), 600)
_ACCESS = Simulation(simulate_access, 600, early_time=False)
_HOUSEKEEPING = Simulation(simulate_housekeeping, 200, early_time=False)


def _of_features() -> Iterator[Broken]:
    for feature in FEATURES:
        name = f"tests.features.{feature.name}.simulation"
        if find_spec(name) is not None:
            yield import_module(f"{name}.broken").BROKEN


VARIANTS = {
    broken: Variant(f"{name}-{broken.__name__}", broken, message, simulation)
    for name, simulation, messages in (
        Broken("service", _NOTES, BROKEN),
        Broken("service", _DOCUMENTS, BROKEN_DOCUMENTS),
        Broken("service", _NOTES, BROKEN_COINCIDENCES),
        Broken("service", _DOCUMENTS, BROKEN_AT_RANDOM),
        Broken("access", _ACCESS, ACCESS_BROKEN),
        Broken("housekeeping", _HOUSEKEEPING, HOUSEKEEPING_BROKEN),
        Broken("taken_back", Simulation(simulate_taken_back, 600), BROKEN_COMPARISONS),
        *_of_features(),
    )
    for broken, message in messages.items()
}


class Found(NamedTuple):
    """The number of the schedule that found a variant, and the processor time of the search."""

    schedule: int
    seconds: float
    message: str


def search(variant: Variant, seed: int, most: int) -> Found | None:
    """Run schedules until one fails, ``most`` at most; count them."""
    begun = time.process_time()
    try:
        failure = variant.search(explore, most, seed)
    except (pytest.fail.Exception, AssertionError):
        return None
    found = re.search(r"by schedule (\d+) of", str(failure))
    assert found is not None
    return Found(int(found[1]), time.process_time() - begun, str(failure.__cause__))


def table(variants: Iterable[Variant], anew: int | None) -> Iterator[str]:
    """Yield one line for each variant, and a summary.

    ``anew`` is the seed of all searches, of up to `MOST_ANEW` schedules each; None stands for the
    stored ones.
    """
    numbers: list[float] = []
    for variant in variants:
        if anew is None:
            found = search(variant, variant.seed, variant.simulation.most)
        else:
            found = search(variant, anew, MOST_ANEW)
        if found is None:
            yield f"{variant.name:60} not found"
            continue
        numbers.append(found.schedule)
        message = " ".join(found.message.splitlines()[:2])[:110]
        yield f"{variant.name:60}{found.schedule:>7}{found.seconds:8.1f} s  {message}"
    if numbers:
        median, maximum = statistics.median(numbers), max(numbers)
        yield f"{len(numbers)} variants, median {median:g}, maximum {maximum:g}"


def renewed(variant: Variant) -> int:
    """Return a seed whose first schedule finds the fault, or one of the next."""
    for seed in chain((variant.seed,), range(200)):
        if search(variant, seed, 1):
            return seed
    # What needs few changes of priorities, or that time passes early, is found by later schedules.
    found = {seed: each for seed in range(20) if (each := search(variant, seed, 50))}
    return min(found, key=lambda seed: found[seed].schedule, default=0)


def main() -> None:
    """Print the table, or write the seeds anew."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="*", help="parts of names; all of them by default")
    parser.add_argument("--renew", action="store_true", help="write the seeds anew")
    parser.add_argument("--anew", type=int, metavar="SEED", help="search from one seed for all")
    given = parser.parse_args()
    readable_ids.install()
    chosen = [
        each
        for each in VARIANTS.values()
        if not given.names or any(name in each.name for name in given.names)
    ]
    if not chosen:
        parser.error(f"no broken service has {' or '.join(given.names)} in its name")
    if given.renew:
        # Those of variants that are gone go, too.
        seeds = {variant.name: variant.seed for variant in VARIANTS.values()}
        for variant in chosen:
            seeds[variant.name] = renewed(variant)
            SEEDS_FILE.write_text(json.dumps(seeds, indent=2, sort_keys=True) + "\n")
        return
    for line in table(chosen, given.anew):
        sys.stdout.write(f"{line}\n")
        sys.stdout.flush()


if __name__ == "__main__":
    main()
