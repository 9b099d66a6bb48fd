"""Schedules as a hypothesis strategy, so that a failing example shrinks both steps and schedule.

The only module of the package that needs hypothesis::

    @given(steps=lists(...), schedule=schedules())
    def test_...(steps, schedule):
        run_deterministic(scenario, steps, seed=schedule)
"""

from hypothesis import strategies as st

from greenroom.testing.schedules import Schedule


def schedules(
    *, max_depth: int = 4, max_estimated_steps: int = 500, early_time: bool = True
) -> st.SearchStrategy[Schedule]:
    """Return a strategy for schedules of every kind; they shrink towards ``random:0``.

    Args:
        max_depth: the maximum depth of PCT.
        max_estimated_steps: the approximate maximum number of steps of the scenario.
        early_time: whether time may pass while tasks are runnable.
    """
    seeds = st.integers(0, 2**32 - 1)
    early = st.booleans() if early_time else st.just(value=False)
    walks = st.builds(Schedule.random, seeds, early_time=early)
    depths, steps = st.integers(1, max_depth), st.integers(1, max_estimated_steps)
    changes = st.builds(Schedule.pct, depths, steps, seeds, early_time=early)
    # Through the token, so that a failing example prints it.
    return (walks | changes).map(str).map(Schedule.parse)
