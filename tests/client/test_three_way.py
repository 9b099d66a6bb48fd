"""Two texts made of one are brought together."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from octavo.client.three_way import merged

TEXTS = st.text(st.characters(exclude_categories=["Cs"]), max_size=60)


@pytest.mark.parametrize(
    ("base", "mine", "theirs", "both"),
    [
        ("one two three", "ONE two three", "one two THREE", "ONE two THREE"),
        ("one\ntwo\nthree\n", "one\nthree\n", "one\ntwo\nthree\nfour\n", "one\nthree\nfour\n"),
        ("", "mine", "theirs", "theirsmine"),
        ("gone", "", "gone", ""),
        ("Zoë 🦉 sings", "Zoë 🦉 sings loudly", "Ben 🦉 sings", "Ben 🦉 sings loudly"),
    ],
)
def test_edits_of_both_sides_are_kept(base: str, mine: str, theirs: str, both: str) -> None:
    assert merged(base, mine, theirs) == both


@given(base=TEXTS, mine=TEXTS)
def test_side_that_did_nothing_leaves_the_other_as_it_is(base: str, mine: str) -> None:
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
