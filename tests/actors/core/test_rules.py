"""The pure rules: backoff, intensity, strategies, quarantine, places, histograms."""

from __future__ import annotations

import math
from typing import get_args

import pytest
from hypothesis import given
from hypothesis import strategies as st

from octavo.actors.core.activation_limit import ActivationLimit
from octavo.actors.core.backoff import Backoff
from octavo.actors.core.errors import is_crash, unwrap
from octavo.actors.core.quarantine import CrashRecord, QuarantineRule
from octavo.actors.core.restart import Intensity, RestartWindow, Strategy, affected
from octavo.actors.core.statistics import BUCKETS, Histogram, upper_bound

seconds = st.floats(min_value=0, max_value=1000)


@given(
    first=st.floats(0.001, 10),
    factor=st.floats(1, 10),
    most=st.floats(0.001, 100),
    jitter=st.floats(0, 1),
    restarts=st.integers(0, 5000),
    random=st.floats(0, 1, exclude_max=True),
)
def test_a_backoff_stays_within_its_bounds(
    first: float, factor: float, most: float, jitter: float, restarts: int, random: float
) -> None:
    backoff = Backoff(first=first, factor=factor, most=most, jitter=jitter)
    delay = backoff.delay(restarts, lambda: random)
    assert 0 <= delay <= most * (1 + jitter) * (1 + 1e-9)
    assert backoff.delay(restarts, lambda: 0.5) <= backoff.delay(restarts + 1, lambda: 0.5)
    at_once = Backoff(first=0, factor=factor, most=most, jitter=jitter)
    assert at_once.delay(restarts, lambda: random) == 0


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


@given(count=st.integers(1, 8), data=st.data())
def test_a_restart_takes_along_what_the_strategy_says_in_order_of_start(
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


@given(gaps=st.lists(seconds, min_size=1, max_size=40), crashes=st.integers(1, 5))
def test_a_key_is_quarantined_exactly_when_its_crashes_are_too_dense(
    gaps: list[float], crashes: int
) -> None:
    rule = QuarantineRule(crashes=crashes, period=60, first=5, most=50)
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
        expected = min(expected * 2, rule.most)


def test_a_recovered_key_starts_afresh() -> None:
    rule = QuarantineRule(crashes=2, first=5)
    record = CrashRecord()
    assert record.crashed(0, rule) is None
    assert record.crashed(1, rule) == 5
    record.recovered()
    assert not record.on_probation
    assert record.crashed(2, rule) is None
    assert record.crashed(3, rule) == 5


@given(
    number=st.integers(1, 4),
    steps=st.lists(
        st.tuples(st.sampled_from(["want", "idle", "busy", "gone"]), st.integers(0, 7)),
        max_size=80,
    ),
)
def test_places_never_exceed_their_number_and_strand_nobody(
    number: int, steps: list[tuple[str, int]]
) -> None:
    limit: ActivationLimit[int] = ActivationLimit(number)
    awake: set[int] = set()
    leaving: set[int] = set()
    line: list[int] = []
    idle: list[int] = []
    for now, (step, who) in enumerate(steps):
        if step == "want" and who not in awake and who not in line:
            limit.enqueue(who)
            line.append(who)
        elif step == "idle" and who in awake - leaving and who not in idle:
            limit.became_idle(who, now)
            idle.append(who)
        elif step == "busy" and who in idle:
            limit.became_busy(who)
            idle.remove(who)
        elif step == "gone" and who in awake:
            limit.ended(who)
            awake.discard(who)
            leaving.discard(who)
            if who in idle:
                idle.remove(who)
        while (admitted := limit.activate_next()) is not None:
            assert admitted == line.pop(0), "first come, first served"
            awake.add(admitted)
        while (sent := limit.passivate_for_queue()) is not None:
            assert sent in awake
            assert sent not in leaving
            if idle:
                assert sent == idle.pop(0), "the one idle for longest goes first"
            leaving.add(sent)
            assert line, "nobody leaves for nobody"
        assert len(awake) <= number
        assert (limit.active, limit.queued, limit.idle) == (len(awake), len(line), len(idle))
        if line:
            assert len(awake) == number
            assert len(leaving) >= min(len(line), len(awake)) or not idle
            assert not idle or len(leaving) >= len(line)


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


def test_a_quantile_outside_of_its_range_is_refused() -> None:
    with pytest.raises(ValueError, match=r"0\.\.1"):
        Histogram().snapshot().quantile(1.5)


def test_groups_of_one_are_unwrapped_and_larger_ones_kept() -> None:
    inner = ValueError("x")
    assert unwrap(ExceptionGroup("a", [ExceptionGroup("b", [inner])])) is inner
    pair = ExceptionGroup("two", [inner, KeyError()])
    assert unwrap(pair) is pair


@pytest.mark.parametrize("error", [KeyboardInterrupt(), SystemExit(), GeneratorExit()])
def test_what_ends_programs_is_no_crash(error: BaseException) -> None:
    assert not is_crash(error)
    assert not is_crash(BaseExceptionGroup("mixed", [ValueError(), error]))
    assert is_crash(ExceptionGroup("two", [ValueError(), KeyError()]))
