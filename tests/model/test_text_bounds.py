"""Bounds of texts, and the lines that an edit changed."""

from hypothesis import given
from hypothesis import strategies as st

from octavo.model.text_bounds import TextBounds, changed_lines

TEXTS = st.text(alphabet="ab\n", max_size=12)


def test_lines_that_an_edit_changed_are_whole() -> None:
    assert changed_lines("a\nb\nc\nd", "a\nb\nx\nd") == "\nx\n"
    assert changed_lines("a\nb\nc", "a\nbb\nc") == "\nbb\n"
    assert changed_lines("a", "ab") == "ab"
    assert changed_lines("a\nb\nc", "a\nc") == "\nc"
    assert changed_lines("", "") == ""


@given(TEXTS, TEXTS)
def test_every_new_line_is_among_the_changed_ones(old: str, new: str) -> None:
    found = changed_lines(old, new)
    assert found in new
    assert {*new.split("\n")} - {*old.split("\n")} <= {*found.split("\n")}


@given(TEXTS, TEXTS, TEXTS, TEXTS)
def test_lines_of_the_old_text_and_the_changed_ones_include_all(
    begin: str, removed: str, added: str, end: str
) -> None:
    """No line may occur more often than in both together: their counts are added."""
    old, new = begin + removed + end, begin + added + end
    left = [*old.split("\n"), *changed_lines(old, new).split("\n")]
    for line in new.split("\n"):
        left.remove(line)


def test_bounds_of_lines_together() -> None:
    joined = TextBounds(3, 5, 1, 4).joined(TextBounds(1, 2, 3, 0))
    assert joined == TextBounds(4, 7, 3, 4)
