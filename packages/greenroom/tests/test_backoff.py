"""The delays before restarts stay within their limits."""

from __future__ import annotations

from greenroom.restart import Backoff
from hypothesis import given
from hypothesis import strategies as st


@given(
    first=st.floats(0.001, 10),
    factor=st.floats(1, 10),
    maximum=st.floats(0.001, 100),
    jitter=st.floats(0, 1),
    restarts=st.integers(0, 5000),
    random=st.floats(0, 1, exclude_max=True),
)
def test_a_backoff_stays_within_its_bounds(
    first: float, factor: float, maximum: float, jitter: float, restarts: int, random: float
) -> None:
    backoff = Backoff(first=first, factor=factor, maximum=maximum, jitter=jitter)
    delay = backoff.delay(restarts, lambda: random)
    assert 0 <= delay <= maximum * (1 + jitter) * (1 + 1e-9)
    assert backoff.delay(restarts, lambda: 0.5) <= backoff.delay(restarts + 1, lambda: 0.5)
    at_once = Backoff(first=0, factor=factor, maximum=maximum, jitter=jitter)
    assert at_once.delay(restarts, lambda: random) == 0
