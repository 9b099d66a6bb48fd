"""Steps and schedule shrink together under hypothesis."""

import pytest
import trio
from greenroom.testing.deterministic import run_deterministic
from greenroom.testing.hypothesis_schedules import schedules
from greenroom.testing.schedules import Schedule
from hypothesis import find, given, settings
from hypothesis import strategies as st


async def total_of(amounts: list[int]) -> int:
    """Return the sum, except for updates lost at a checkpoint between read and write."""
    total = 0

    async def add(amount: int) -> None:
        nonlocal total
        read = total
        await trio.lowlevel.checkpoint()
        total = read + amount

    async with trio.open_nursery() as nursery:
        for amount in amounts:
            nursery.start_soon(add, amount)
    return total


def test_least_steps_and_least_schedule_are_found() -> None:
    amounts, schedule = find(
        st.tuples(st.lists(st.integers(0, 100)), schedules()),
        lambda case: run_deterministic(total_of, case[0], seed=case[1]).value != sum(case[0]),
        settings=settings(database=None, derandomize=True, max_examples=500),
    )
    assert sorted(amounts) == [0, 1]
    assert str(schedule).startswith("random:")


def test_failing_example_names_steps_and_token() -> None:
    @settings(database=None, derandomize=True, deadline=None)
    @given(amounts=st.lists(st.integers(0, 100)), schedule=schedules())
    def property_of_total(amounts: list[int], schedule: Schedule) -> None:
        assert run_deterministic(total_of, amounts, seed=schedule).value == sum(amounts)

    with pytest.raises(AssertionError) as caught:
        property_of_total()
    notes = "\n".join(getattr(caught.value, "__notes__", ()))
    assert "amounts=[" in notes
    assert "schedule=parse('random:" in notes


@given(schedule=schedules(max_depth=2, max_estimated_steps=9, early_time=False))
def test_bounds_are_kept(schedule: Schedule) -> None:
    assert schedule.depth <= 2
    assert schedule.estimated_steps <= 9
    assert not schedule.early_time
