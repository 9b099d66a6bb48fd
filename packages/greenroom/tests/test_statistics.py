"""Quantiles of a histogram."""

from __future__ import annotations

import math

import pytest
from greenroom.statistics import BUCKETS, Histogram, upper_bound
from hypothesis import given
from hypothesis import strategies as st


@given(durations=st.lists(st.floats(0, 200), min_size=1, max_size=200), fraction=st.floats(0, 1))
def test_a_quantile_is_at_most_twice_too_high(durations: list[float], fraction: float) -> None:
    histogram = Histogram()
    for duration in durations:
        histogram.record(duration)
    snapshot = histogram.snapshot()
    exact = sorted(durations)[max(math.ceil(fraction * len(durations)) - 1, 0)]
    estimate = snapshot.quantile(fraction)
    assert exact <= estimate * (1 + 1e-9) + 1e-6
    if upper_bound(0) < exact < upper_bound(BUCKETS - 2):
        assert estimate <= 2 * exact + 1e-6
    assert snapshot.count == len(durations)
    assert snapshot.total == pytest.approx(sum(durations))
    assert snapshot.longest == max(durations)


def test_the_median_of_two_durations_is_the_first() -> None:
    histogram = Histogram()
    histogram.record(1e-3)
    histogram.record(1.0)
    assert 1e-3 <= histogram.snapshot().quantile(0.5) <= 2e-3


def test_a_duration_may_be_counted_several_times() -> None:
    histogram = Histogram()
    histogram.record(0.5, 3)
    histogram.record(-1.0, 2)
    snapshot = histogram.snapshot()
    assert (snapshot.count, snapshot.total, snapshot.longest) == (5, 1.5, 0.5)


def test_a_quantile_outside_of_its_range_is_refused() -> None:
    with pytest.raises(ValueError, match=r"0\.\.1"):
        Histogram().snapshot().quantile(1.5)
