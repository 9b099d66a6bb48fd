"""Tell how many schedules find each broken service: ``python -m tests.simulation.variants``.

Arguments select variants by parts of their names; ``--most N`` ends the search for one after that
many schedules.
"""

import argparse
import math
import statistics
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Literal, NamedTuple

import pytest
from greenroom.testing import ScheduleFailure, explore

from tests.fakes import readable_ids
from tests.simulation.broken import BROKEN
from tests.simulation.broken_at_random import BROKEN_AT_RANDOM, BROKEN_UPLOADS
from tests.simulation.broken_coincidences import BROKEN_COINCIDENCES
from tests.simulation.broken_documents import BROKEN_DOCUMENTS
from tests.simulation.broken_images import BROKEN_IMAGES
from tests.simulation.service import simulate

Use = Literal["notes", "documents", "images"]
Break = Callable[[pytest.MonkeyPatch], None]
MOST = 1500


class Variant(NamedTuple):
    """A broken service, the use that shows it, and the message of the first failing schedule."""

    broken: Break
    message: str
    use: Use

    @property
    def name(self) -> str:
        return self.broken.__name__

    async def simulate(self) -> None:
        """Run the simulation with what the variant needs."""
        await simulate(together=self.use == "documents", images=self.use == "images")


_TABLES: tuple[tuple[Use, Mapping[Break, str]], ...] = (
    ("notes", BROKEN),
    ("documents", BROKEN_DOCUMENTS),
    ("images", BROKEN_IMAGES),
    ("notes", BROKEN_COINCIDENCES),
    ("documents", BROKEN_AT_RANDOM),
    ("images", BROKEN_UPLOADS),
)
VARIANTS = [
    Variant(broken, message, use) for use, table in _TABLES for broken, message in table.items()
]


class Found(NamedTuple):
    """The number of the schedule that found a variant; None if none did."""

    schedule: int | None
    seconds: float
    message: str


def search(variant: Variant, most: int) -> Found:
    """Run schedules until one fails, ``most`` at most; count them, and the processor time."""
    begun = time.process_time()
    runs = 0

    async def counted() -> None:
        nonlocal runs
        runs += 1
        await variant.simulate()

    with pytest.MonkeyPatch.context() as patch:
        variant.broken(patch)
        try:
            explore(counted, schedules=most)
        except ScheduleFailure as failure:
            # The failing schedule is run once more, to see that it repeats.
            seconds = time.process_time() - begun
            return Found(runs - 1, seconds, str(failure.__cause__))
    return Found(None, time.process_time() - begun, "")


def table(variants: Iterable[Variant], most: int) -> Iterator[str]:
    """Yield one line for each variant, and a summary."""
    numbers: list[float] = []
    for variant in variants:
        found = search(variant, most)
        numbers.append(math.inf if found.schedule is None else found.schedule)
        number = f"> {most}" if found.schedule is None else str(found.schedule)
        lines = found.message.splitlines()
        message = " ".join(lines[:2])[:110]
        yield f"{variant.name:48}{number:>7}{found.seconds:8.1f} s  {message}"
    if numbers:
        missed = numbers.count(math.inf)
        yield f"{len(numbers)} variants, median {statistics.median(numbers):g}, {missed} not found"


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="*", help="parts of names; all of them by default")
    parser.add_argument(
        "--most", type=int, default=MOST, help="schedules after which the search for one ends"
    )
    given = parser.parse_args()
    readable_ids.install()
    chosen = [
        each
        for each in VARIANTS
        if not given.names or any(name in each.name for name in given.names)
    ]
    if not chosen:
        parser.error(f"no broken service has {' or '.join(given.names)} in its name")
    for line in table(chosen, given.most):
        sys.stdout.write(f"{line}\n")
        sys.stdout.flush()


if __name__ == "__main__":
    main()
