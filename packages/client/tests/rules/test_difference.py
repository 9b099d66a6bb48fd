"""Differences of texts: ranges that hold all that differs, at the finest unit's boundaries."""

import re
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st
from octavo_rules import difference
from octavo_rules.difference import (
    WORD_GRAMMAR,
    DiffRange,
    Unit,
    common_prefix,
    common_suffix,
    diff_ranges,
    lines_of,
    words_of,
)

TEXTS = st.text(st.sampled_from("ab c\n"), max_size=60) | st.text(max_size=60)
UNITS = st.sampled_from(
    list[tuple[Unit, ...]]([("line",), ("line", "word"), ("line", "word", "character")])
)


def whole(old: str, new: str) -> DiffRange:
    return DiffRange(0, len(old), 0, len(new))


def cuts(text: str, unit: Unit) -> set[int]:
    """The offsets at which a range may begin and end."""
    if unit == "character":
        return set(range(len(text) + 1))
    places, at = {0}, 0
    # Words are split within a line, so that a run of spaces ends with it.
    for piece in lines_of(text) if unit == "line" else words_of(text):
        at += len(piece)
        places.add(at)
    return places


@given(TEXTS, TEXTS, UNITS)
def test_text_between_ranges_is_the_same_in_both_texts(
    old: str, new: str, units: tuple[Unit, ...]
) -> None:
    old_done = new_done = 0
    for each in diff_ranges(old, new, whole(old, new), units):
        assert old[old_done : each.old_start] == new[new_done : each.new_start]
        old_done, new_done = each.old_end, each.new_end
    assert old[old_done:] == new[new_done:]


@given(TEXTS, TEXTS, UNITS)
def test_ranges_are_in_order_disjoint_and_not_empty(
    old: str, new: str, units: tuple[Unit, ...]
) -> None:
    found = diff_ranges(old, new, whole(old, new), units)
    assert all(each.old_start < each.old_end or each.new_start < each.new_end for each in found)
    assert all(before.old_end < after.old_start for before, after in pairwise(found))
    assert all(before.new_end < after.new_start for before, after in pairwise(found))


@given(TEXTS, TEXTS, UNITS)
def test_ranges_begin_and_end_between_units(old: str, new: str, units: tuple[Unit, ...]) -> None:
    for each in diff_ranges(old, new, whole(old, new), units):
        assert {each.old_start, each.old_end} <= cuts(old, units[-1])
        assert {each.new_start, each.new_end} <= cuts(new, units[-1])


@given(st.text(), st.text(), st.text(max_size=2), st.text(max_size=2), st.integers(1, 400))
def test_common_prefix_and_suffix_are_found_to_the_character(
    before: str, after: str, old: str, new: str, times: int
) -> None:
    first, second = before * times + old + after * times, before * times + new + after * times
    prefix = common_prefix(first, second)
    assert first[:prefix] == second[:prefix]
    assert first[prefix : prefix + 1] != second[prefix : prefix + 1] or first == second
    suffix = common_suffix(first, second, prefix)
    old_rest, new_rest = first[prefix:], second[prefix:]
    assert suffix <= min(len(old_rest), len(new_rest))
    assert old_rest[len(old_rest) - suffix :] == new_rest[len(new_rest) - suffix :]
    left, right = old_rest[: len(old_rest) - suffix], new_rest[: len(new_rest) - suffix]
    assert not left or not right or left[-1] != right[-1]


def test_unique_lines_are_anchors_where_too_many_lines_differ(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(difference, "MAX_AT_ONCE", 0)
    old = [f"{number}\n" if number % 2 else "\n" for number in range(4000)]
    new = [*old[:1000], "more\n", *old[1000:3000], *old[3010:]]
    found = diff_ranges("".join(old), "".join(new), whole("".join(old), "".join(new)), ("line",))
    assert ["".join(new)[each.new_start : each.new_end] for each in found] == ["more\n", ""]
    assert "".join(old)[found[1].old_start : found[1].old_end] == "".join(old[3000:3010])


@given(
    st.text(st.sampled_from(" \t\r\n%&;#x0fAz_-.!~`[]\\漢か\u0300\u200d\ufe0f😀ß\x00\x7f\u3000"))
)
def test_words_of_are_what_the_grammar_splits_into(text: str) -> None:
    assert words_of(text) == re.findall(WORD_GRAMMAR, text)
