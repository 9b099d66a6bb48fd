"""Rate limits of attempts, and which clients are counted together."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from octavo.model.access.rate import Rate, admit

rates = st.builds(Rate, st.integers(1, 100), st.floats(0.1, 10_000))
pauses = st.lists(st.floats(0, 1_000), min_size=1, max_size=80)


def passed(rate: Rate, times: list[float]) -> list[float]:
    """The ``times`` at which an attempt is accepted."""
    paid_at: float | None = None
    found = []
    for time in times:
        paid_at, retry_after = admit(paid_at, time, rate)
        if not retry_after:
            found.append(time)
    return found


@pytest.mark.parametrize("count", [1, 2, 10, 60])
def test_attempts_in_a_burst_pass_up_to_the_count(count: int) -> None:
    assert len(passed(Rate(count, 300.0), [1e9] * 200)) == count


def test_attempts_recover_one_per_share_of_the_period() -> None:
    times = [0.0] * 10 + [29.0, 30.0, 31.0, 59.9, 60.0]
    assert passed(Rate(10, 300.0), times)[10:] == [30.0, 60.0]


@given(rates, pauses)
def test_attempts_in_any_window_are_limited_by_count_and_rate(
    rate: Rate, pauses: list[float]
) -> None:
    times = [sum(pauses[:at]) for at in range(len(pauses))]
    found = passed(rate, times)
    for first, start in enumerate(found):
        for last in range(first, len(found)):
            within = found[last] - start
            assert last - first + 1 <= rate.count + within / rate.interval + 0.01


@given(rates, pauses)
def test_attempt_after_the_retry_time_passes_and_not_much_earlier(
    rate: Rate, pauses: list[float]
) -> None:
    paid_at: float | None = None
    now = 0.0
    for pause in pauses:
        now += pause
        paid_at, retry_after = admit(paid_at, now, rate)
        if retry_after:
            assert not admit(paid_at, now + retry_after, rate).retry_after
            assert admit(paid_at, now + retry_after * 0.9, rate).retry_after or (
                retry_after < rate.interval / 50
            )


@given(rates, st.floats(0, 1e9), st.floats(0, 1e5))
def test_refused_attempt_costs_nothing(rate: Rate, now: float, ahead: float) -> None:
    paid_at = now + rate.period + ahead
    refused = admit(paid_at, now, rate)
    assert refused.retry_after
    assert refused.paid_at == paid_at


@given(rates, st.floats(0, 1e9))
def test_first_attempt_passes(rate: Rate, now: float) -> None:
    assert admit(None, now, rate).retry_after == 0


@pytest.mark.parametrize(("count", "period"), [(0, 1.0), (-1, 1.0), (1, 0.0), (1, float("nan"))])
def test_invalid_rate_is_refused(count: int, period: float) -> None:
    with pytest.raises(ValueError, match="is not a rate"):
        Rate(count, period)
