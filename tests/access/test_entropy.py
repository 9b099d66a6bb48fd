"""The sources of time, identifiers and randomness."""

import time
from uuid import UUID

from octavo.access.entropy import new_id


def test_identifiers_have_the_time_and_sort_by_it() -> None:
    before = time.time_ns() // 1_000_000
    made = [new_id() for _ in range(2000)]
    after = time.time_ns() // 1_000_000
    times = [UUID(identifier).int >> 80 for identifier in made]
    assert times == sorted(times)
    assert before <= times[0] <= times[-1] <= after
    assert len({*made}) == len(made)
