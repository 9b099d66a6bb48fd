"""Contents that were used last: within a limit, and no longer than their files."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from octavo.store.content_cache import ContentCache


def cache(max_bytes: int = 10) -> ContentCache[str, str]:
    return ContentCache(len, max_bytes)


def test_contents_that_were_used_longest_ago_make_room() -> None:
    held = cache()
    for key in "abc":
        held.keep(key, "xxx", held.generation)
    assert held.get("a") == "xxx"
    held.keep("d", "xx", held.generation)
    assert [*held.contents] == ["c", "a", "d"]
    held.keep("e", "x" * 11, held.generation)
    assert [*held.contents] == []


def test_content_replaces_an_older_one() -> None:
    held = cache()
    held.keep("a", "x" * 9, held.generation)
    held.keep("a", "y", held.generation)
    held.keep("b", "x" * 9, held.generation)
    assert dict(held.contents) == {"a": "y", "b": "x" * 9}


def test_what_was_read_before_it_was_cleared_does_not_come_back() -> None:
    held = cache()
    begun = held.generation
    held.keep("a", "x", begun)
    held.clear()
    held.keep("b", "x", begun)
    assert held.get("a") is held.get("b") is None
    held.keep("c", "x" * 10, held.generation)
    assert held.get("c") == "x" * 10


def test_content_that_grows_afterwards_makes_no_room_for_more() -> None:
    held: ContentCache[str, list[str]] = ContentCache(len, 10)
    grown = []
    for number in range(20):
        grown.append(["x"] * 5)
        held.keep(str(number), grown[-1], held.generation)
        grown[-1] += "y"
        assert len(held.contents) <= 2
    held.keep("18", ["x"] * 5, held.generation)
    held.keep("a", ["x"] * 5, held.generation)
    assert [*held.contents] == ["18", "a"]


def test_what_was_not_used_between_two_rounds_is_dropped() -> None:
    held = cache()
    for key in "abc":
        held.keep(key, "xxx", held.generation)
    held.drop_unused()
    assert held.get("a") == "xxx"
    held.keep("b", "yy", held.generation)
    held.drop_unused()
    assert dict(held.contents) == {"a": "xxx", "b": "yy"}
    held.drop_unused()
    assert dict(held.contents) == {}
    # It has room again.
    held.keep("d", "x" * 10, held.generation)
    assert held.get("d") == "x" * 10


def test_nothing_is_held_without_room() -> None:
    held = cache(0)
    held.keep("a", "", held.generation)
    assert held.get("a") is None


@given(st.lists(st.tuples(st.sampled_from("abcd"), st.integers(0, 12))), st.integers(1, 30))
@pytest.mark.parametrize("clears", [False, True])
def test_what_is_held_is_the_newest_of_what_fits(
    clears: bool, kept: list[tuple[str, int]], most: int
) -> None:
    held = cache(most)
    for number, (key, size) in enumerate(kept):
        if clears and number % 5 == 4:
            held.clear()
        held.keep(key, "x" * size, held.generation)
        assert sum(map(len, held.contents.values())) <= most
        assert held.contents.get(key, "x" * size) == "x" * size
        assert (key in held.contents) == (size <= most)
