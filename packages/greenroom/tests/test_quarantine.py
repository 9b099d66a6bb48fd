"""When a key is quarantined, and when it has recovered."""

from __future__ import annotations

from greenroom.quarantine import CrashRecord, QuarantineRule
from hypothesis import given
from hypothesis import strategies as st

seconds = st.floats(min_value=0, max_value=1000)


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


def test_a_recovered_key_starts_afresh() -> None:
    rule = QuarantineRule(crashes=2, first=5)
    record = CrashRecord()
    assert record.crashed(0, rule) is None
    assert record.crashed(1, rule) == 5
    record.recovered()
    assert not record.on_probation
    assert record.crashed(2, rule) is None
    assert record.crashed(3, rule) == 5
