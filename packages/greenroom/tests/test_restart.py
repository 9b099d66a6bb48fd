"""Which children restart together, and when a supervisor gives up."""

from __future__ import annotations

from typing import get_args

from greenroom.restart import (
    Backoff,
    CrashRecord,
    Intensity,
    QuarantineRule,
    RestartWindow,
    Strategy,
    affected,
)
from hypothesis import given
from hypothesis import strategies as st

seconds = st.floats(min_value=0, max_value=1000)


@given(gaps=st.lists(seconds, max_size=30), allowed=st.integers(0, 5), period=st.floats(0.1, 50))
def test_a_window_counts_the_restarts_of_the_last_period(
    gaps: list[float], allowed: int, period: float
) -> None:
    window = RestartWindow(Intensity(restarts=allowed, period=period))
    times: list[float] = []
    for gap in gaps:
        times.append((times[-1] if times else 0.0) + gap)
        recent = [time for time in times if time > times[-1] - period]
        assert window.exceeded_by(times[-1]) == (len(recent) > allowed)


def test_a_restart_that_is_a_period_old_is_not_counted() -> None:
    window = RestartWindow(Intensity(restarts=1, period=5))
    assert [window.exceeded_by(time) for time in (0.0, 5.0, 9.0, 14.0)] == [
        False,
        False,
        True,
        False,
    ]


@given(count=st.integers(1, 8), data=st.data())
def test_a_restart_includes_what_the_strategy_selects_in_start_order(
    count: int, data: st.DataObject
) -> None:
    children = list(range(count))
    ended = data.draw(st.sampled_from(children))
    down = data.draw(st.lists(st.sampled_from(children), unique=True))
    for strategy in get_args(Strategy):
        group = affected(strategy, children, ended, down)
        assert group == sorted(group)
        assert ended in group
        assert set(down) <= set(group)
        if strategy == "rest_for_one":
            assert group == children[min([ended, *down]) :]
        elif strategy == "all_for_one":
            assert group == children
        else:
            assert set(group) == {ended, *down}


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


@given(gaps=st.lists(seconds, min_size=1, max_size=40), crashes=st.integers(1, 5))
def test_a_key_is_quarantined_exactly_when_its_crashes_are_too_dense(
    gaps: list[float], crashes: int
) -> None:
    rule = QuarantineRule(crashes=crashes, period=60, first=5, maximum=50)
    record = CrashRecord()
    now, times, expected = 0.0, [], 5.0
    for gap in gaps:
        now += gap
        times.append(now)
        recent = [time for time in times if time > now - rule.period]
        quarantine = record.crashed(now, rule)
        if quarantine is None:
            assert len(recent) < crashes
            continue
        assert quarantine == expected
        assert record.quarantined(now)
        assert record.quarantined(now + quarantine) is False
        expected = min(expected * 2, rule.maximum)


def test_a_record_is_kept_for_the_longest_quarantine_after_the_last_one() -> None:
    rule = QuarantineRule(crashes=2, period=60, first=5, maximum=300)
    record = CrashRecord()
    record.crashed(0.0, rule)
    assert record.expires(rule) == 60
    record.crashed(10.0, rule)
    assert record.expires(rule) == 15 + 300


def test_a_recovered_key_starts_afresh() -> None:
    rule = QuarantineRule(crashes=2, first=5)
    record = CrashRecord()
    assert record.crashed(0, rule) is None
    assert record.crashed(1, rule) == 5
    record.recovered()
    assert not record.on_probation
    assert record.crashed(2, rule) is None
    assert record.crashed(3, rule) == 5
