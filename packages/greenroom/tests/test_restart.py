"""Which children restart together, and when a supervisor gives up."""

from __future__ import annotations

from typing import get_args

from greenroom.restart import Intensity, RestartWindow, Strategy, affected
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
