"""Schedules as a hypothesis strategy, so that a failing example shrinks steps and schedule alike.

The one module of the package that needs hypothesis::

    @given(steps=lists(...), schedule=schedules())
    def test_...(steps, schedule):
        run_deterministic(scenario, steps, seed=schedule)
"""

from hypothesis import strategies as st

from octavo.actors.testing.schedules import Schedule


def schedules(
    *, max_depth: int = 4, max_estimated_steps: int = 500, early_time: bool = True
) -> st.SearchStrategy[Schedule]:
    """Draw schedules of every kind; they shrink towards ``random:0``.

    Args:
        max_depth: the greatest depth of PCT.
        max_estimated_steps: about how many steps the scenario takes at most.
        early_time: whether time may pass while tasks are runnable.
    """
    seeds = st.integers(0, 2**32 - 1)
    early = st.booleans() if early_time else st.just(value=False)
    walks = st.builds(Schedule.random, seeds, early_time=early)
    depths, steps = st.integers(1, max_depth), st.integers(1, max_estimated_steps)
    changes = st.builds(Schedule.pct, depths, steps, seeds, early_time=early)
    # By way of its token, since that is how a failing example ought to print.
    return (walks | changes).map(str).map(Schedule.parse)
