"""Shrinking: the result still fails, and needs each of its items."""

from collections.abc import Callable

from greenroom.testing.shrink import shrink
from hypothesis import given
from hypothesis import strategies as st

lists = st.lists(st.integers(0, 9), max_size=25)


@given(items=lists, needed=st.sets(st.integers(0, 24)))
def test_result_contains_exactly_what_a_fixed_failure_needs(
    items: list[int], needed: set[int]
) -> None:
    numbered = list(enumerate(items))
    necessary = [item for item in numbered if item[0] in needed]
    assert shrink(numbered, lambda part: set(necessary) <= set(part)) == necessary


@given(items=lists, modulus=st.integers(1, 7), fewest=st.integers(0, 5))
def test_result_fails_and_is_minimal_for_any_failure(
    items: list[int], modulus: int, fewest: int
) -> None:
    def fails(part: list[int]) -> bool:
        return part == items or (len(part) >= fewest and sum(part) % modulus == 0)

    result = shrink(items, fails)
    assert fails(result)
    for index in range(len(result)):
        assert not fails(result[:index] + result[index + 1 :])


@given(items=lists)
def test_order_is_kept(items: list[int]) -> None:
    numbered = list(enumerate(items))
    result = shrink(numbered, lambda part: sum(value for _, value in part) > 9)
    assert result == sorted(result)


def counted(fails: Callable[[list[int]], bool]) -> tuple[Callable[[list[int]], bool], list[int]]:
    calls: list[int] = []

    def counting(part: list[int]) -> bool:
        calls.append(len(part))
        return fails(part)

    return counting, calls


def test_two_items_among_a_thousand_are_found_in_few_attempts() -> None:
    fails, calls = counted(lambda part: {17, 801} <= set(part))
    assert shrink(range(1000), fails) == [17, 801]
    assert len(calls) < 60


def test_failure_that_needs_nothing_takes_one_attempt() -> None:
    fails, calls = counted(lambda _: True)
    assert shrink(range(1000), fails) == []
    assert len(calls) == 1
