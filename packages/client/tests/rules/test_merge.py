"""Merging two texts with a common ancestor."""

from collections.abc import Iterable
from string import ascii_lowercase
from typing import NamedTuple

import pytest
from hypothesis import given
from hypothesis import strategies as st
from octavo_rules.difference import words_of
from octavo_rules.merge import MergeConflict, merge, merged, shared

TEXTS = st.text(st.characters(exclude_categories=["Cs"]), max_size=60)


@pytest.mark.parametrize(
    ("base", "mine", "theirs", "both"),
    [
        ("one two three", "ONE two three", "one two THREE", "ONE two THREE"),
        ("one\ntwo\nthree\n", "one\nthree\n", "one\ntwo\nthree\nfour\n", "one\nthree\nfour\n"),
        ("", "mine", "theirs", "theirsmine"),
        ("gone", "", "gone", ""),
        ("one two three", "one 2 three four", "zero one 2 three", "zero one 2 three four"),
        ("one aXb two", "one a1X2b two", "one ab two", "one a12b two"),
        ("one aXb two", "one ab two", "one a1X2b two", "one a12b two"),
        ("the cat sat", "the 1cat2 sat", "the 3cat4 sat", "the 31cat42 sat"),
        ("a\nb\n", "a\nnew\nb\nmine\n", "theirs\na\nnew\nb\n", "theirs\na\nnew\nb\nmine\n"),
        ("a tall red house\n", "eleven goats fled\n", "", "eleven goats fled\n"),
        (
            "a\nan old boat\n",
            "a\nno gold at all\n",
            "a\nan old boat\nb\n",
            "a\nno gold at all\nb\n",
        ),
        ("Zoë 🦉 sings", "Zoë 🦉 sings loudly", "Ben 🦉 sings", "Ben 🦉 sings loudly"),
    ],
)
def test_edits_of_both_sides_are_kept(base: str, mine: str, theirs: str, both: str) -> None:
    assert merged(base, mine, theirs) == both


@given(base=TEXTS, mine=TEXTS)
def test_unchanged_side_leaves_the_other_unchanged(base: str, mine: str) -> None:
    assert merged(base, mine, base) == mine
    assert merged(base, base, mine) == mine


@given(base=TEXTS, both=TEXTS)
def test_same_text_on_both_sides_is_that_text(base: str, both: str) -> None:
    assert merged(base, both, both) == both


@given(before=TEXTS, base=st.just("\n----------------\n"), behind=TEXTS, mine=TEXTS, theirs=TEXTS)
def test_edits_in_different_places_are_all_kept(
    before: str, base: str, behind: str, mine: str, theirs: str
) -> None:
    both = merged(before + base + behind, before + base + mine, theirs + base + behind)
    assert sorted(both) == sorted(theirs + base + mine)


# Enough of the line is kept that it counts as changed, not as replaced.
KEPT = "-" * 200
MINE, THEIRS, BOTH = "0123456789", "ABCDEFGHIJ", "!?\n"


class Sides(NamedTuple):
    """A base of unique letters, and what two sides make of it."""

    base: str
    mine: str
    theirs: str


@st.composite
def sides(draw: st.DrawFn) -> Sides:
    """Let each side delete letters, and insert its own, or both the same."""
    base = draw(st.lists(st.sampled_from(ascii_lowercase), unique=True).map("".join))
    mine = theirs = KEPT
    behind_kept = True
    for letter in [*base, ""]:
        # Next to a letter that one side deleted, it would be part of a different edit.
        both = draw(st.text(BOTH, max_size=2)) if behind_kept else ""
        mine += both or draw(st.text(MINE, max_size=2))
        theirs += both or draw(st.text(THEIRS, max_size=2))
        kept = (True, True) if both else draw(st.tuples(st.booleans(), st.booleans()))
        mine += letter * kept[0]
        theirs += letter * kept[1]
        behind_kept = all(kept)
    return Sides(KEPT + base, mine, theirs)


def only(text: str, kept: Iterable[str]) -> str:
    return "".join(each for each in text if each in kept)


def without(text: str, gone: Iterable[str]) -> str:
    return "".join(each for each in text if each not in gone)


@given(sides())
def test_deletions_of_either_side_are_applied_and_nothing_else_is_lost(made: Sides) -> None:
    left = only(only(made.base, made.mine), made.theirs)
    assert only(merged(*made), made.base) == left


@given(sides())
def test_insertions_of_either_side_appear_once_in_place(made: Sides) -> None:
    base, mine, theirs = made
    result = merged(*made)
    assert without(result, THEIRS) == without(mine, set(base) - set(theirs))
    assert without(result, MINE) == without(theirs, set(base) - set(mine))


@given(sides())
def test_identical_insertions_of_both_sides_happen_once(made: Sides) -> None:
    assert only(merged(*made), BOTH) == only(made.mine, BOTH)


@pytest.mark.parametrize(
    ("first", "second", "both"),
    [
        ("a\nb\nc\n", "a\nc\nd\n", "a\nc\n"),
        ("the cat sat\n", "the cow sat\n", "the  sat\n"),
        ("one", "two", ""),
        ("same", "same", "same"),
    ],
)
def test_shared_parts_are_the_lines_and_words_of_both(first: str, second: str, both: str) -> None:
    assert shared(first, second) == both


@given(first=TEXTS, second=TEXTS)
def test_texts_merged_by_shared_parts_hold_all_of_both(first: str, second: str) -> None:
    text = merged(shared(first, second), first, second, exact=True)
    for each in (first, second):
        left = iter(text)
        assert all(letter in left for letter in each)


@pytest.mark.parametrize(
    ("mine", "theirs", "found"),
    [
        ("a B c\n", "a b c\n", []),
        ("a B c\n", "a b C\n", []),
        ("a B c\n", "a B c\n", []),
        ("a X c\n", "a Y c\n", [("X", "Y")]),
        ("a c\n", "a Y c\n", [("", "Y ")]),
        ("a b c\nmine\n", "a b c\ntheirs\n", [("mine\n", "theirs\n")]),
        ("a X c\nmine\n", "a Y c\n", [("X", "Y")]),
    ],
)
def test_conflict_is_where_both_sides_changed_and_not_alike(
    mine: str, theirs: str, found: list[tuple[str, str]]
) -> None:
    assert [(each.mine, each.theirs) for each in merge("a b c\n", mine, theirs).conflicts] == found


@given(st.text("ab \n", max_size=12), st.text("ab \n", max_size=12), st.text("ab \n", max_size=12))
def test_without_a_conflict_each_side_is_alone_in_its_places(
    base: str, mine: str, theirs: str
) -> None:
    if mine in (base, theirs) or theirs == base:
        assert merge(base, mine, theirs).conflicts == []
    there = [
        MergeConflict(each.theirs, each.mine, each.base, each.at_theirs, each.at_mine)
        for each in merge(base, mine, theirs).conflicts
    ]
    assert merge(base, theirs, mine).conflicts == there


@given(st.text("ab \n", max_size=12), st.text("ab \n", max_size=12), st.text("ab \n", max_size=12))
def test_conflict_says_where_it_is_in_both_texts(base: str, mine: str, theirs: str) -> None:
    for each in merge(base, mine, theirs).conflicts:
        assert mine.startswith(each.mine, each.at_mine)
        assert theirs.startswith(each.theirs, each.at_theirs)
        assert each.base in base


@pytest.mark.parametrize(
    ("mine", "theirs", "both"),
    [
        ("we meet on Tuesday at nine\n", "we meet on Thursday at nine\n", "on Thursday Tuesday at"),
        ("we meet on Monday at ten\n", "we meet on Friday at nine\n", "we meet on Friday at ten\n"),
        ("we meet on  at nine\n", "we meet on Friday at nine\n", "we meet on Friday at nine\n"),
        ("nobody comes\n", "it rains today\n", "it rains today\nnobody comes\n"),
        ("nobody comes", "it rains", "it rains\nnobody comes"),
        ("", "we meet on Friday at nine\n", "we meet on Friday at nine\n"),
        ("we meet on Monday at nine\nme\n", "we meet on Monday at nine\nyou\n", "nine\nyou\nme\n"),
    ],
)
def test_both_texts_of_a_conflict_are_there_whole(mine: str, theirs: str, both: str) -> None:
    assert both in merge("we meet on Monday at nine\n", mine, theirs).text


SENTENCES = st.lists(
    st.sampled_from(["tea", "Monday", "100", " ", "\n", ".", "é", "茶"]), max_size=14
)


@given(*[SENTENCES.map("".join)] * 3)
def test_no_word_of_a_merged_text_is_made_of_parts_of_two(
    base: str, mine: str, theirs: str
) -> None:
    known = {*words_of(mine), *words_of(theirs), " ", "\n"}
    assert known.issuperset(words_of(merge(base, mine, theirs).text))


@given(*[SENTENCES.map("".join)] * 3)
def test_text_of_each_side_of_a_conflict_is_in_the_merged_text(
    base: str, mine: str, theirs: str
) -> None:
    found = merge(base, mine, theirs)
    for each in found.conflicts:
        assert each.mine.strip() in found.text
        assert each.theirs.strip() in found.text


@given(base=TEXTS, mine=TEXTS)
def test_side_without_changes_contradicts_nothing(base: str, mine: str) -> None:
    assert merge(base, mine, base) == merge(base, base, mine) == (mine, [])
    assert merge(base, mine, mine) == (mine, [])


@given(st.lists(st.tuples(st.booleans(), st.sampled_from(["add", "remove", "edit"])), min_size=1))
def test_changes_of_different_lines_are_merged_without_a_conflict(
    changes: list[tuple[bool, str]],
) -> None:
    base = mine = theirs = both = ""
    for number, (is_mine, kind) in enumerate(changes):
        line = f"an ordinary line with the number {number}\n"
        changed = {"add": f"{line}new {number}\n", "remove": "", "edit": f"now {line}"}[kind]
        # A line that nobody changes is between two changes.
        kept = f"kept {number}\n"
        base, both = base + line + kept, both + changed + kept
        mine += (changed if is_mine else line) + kept
        theirs += (line if is_mine else changed) + kept
    assert merge(base, mine, theirs) == (both, [])


def test_change_within_what_the_other_side_replaced_is_one_conflict() -> None:
    base, mine, theirs = "one two three four\n", "entirely else\n", "one two 3 four\n"
    assert merge(base, mine, theirs) == (
        f"{theirs}{mine}",
        [MergeConflict(mine, theirs, base, 0, 0)],
    )
