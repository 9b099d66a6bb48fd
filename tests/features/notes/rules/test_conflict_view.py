"""Conflicts are shown with the text around them."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from octavo_rules.merge import merge

from octavo.features.notes.pages.differences import (
    LONGEST_AROUND,
    LONGEST_SIDE,
    MOST_SHOWN,
    ConflictSide,
    ConflictView,
    conflict_views,
    text_after,
    text_before,
)

TEXTS = st.text("ab# \n", max_size=24)


def views(base: str, mine: str, theirs: str) -> list[ConflictView]:
    return conflict_views(mine, theirs, merge(base, mine, theirs).conflicts)


def written(side: ConflictSide) -> str:
    """What a side has there, with its changes in brackets."""
    marks = {"equal": "{}", "removed": "[-{}-]", "added": "[+{}+]"}
    changed = "".join(marks[each.kind].format(each.text) for each in side.pieces)
    return f"{side.before}{changed}{side.after}"


@pytest.mark.parametrize(
    ("base", "mine", "theirs", "heading", "shown_of_mine", "shown_of_theirs"),
    [
        (
            "# Tea\n\nBoil.\nSteep 3 minutes.\n",
            "# Tea\n\nBoil.\nSteep 4 minutes.\n",
            "# Tea\n\nBoil.\nSteep 2 minutes.\n",
            "Tea",
            "Steep [-3-][+4+] minutes.",
            "Steep [-3-][+2+] minutes.",
        ),
        (
            "Boil.\n\nPour.\n",
            "Boil.\n\nmine\nPour.\n",
            "Boil.\n\ntheirs\nPour.\n",
            "",
            "Boil.\n\n[+mine\n+]Pour.",
            "Boil.\n\n[+theirs\n+]Pour.",
        ),
        (
            "the tea is hot now\n",
            "the tea is now\n",
            "the tea is very hot now\n",
            "",
            "the tea is [-hot -]now",
            "the tea is [+very +]hot now",
        ),
        (
            "# A\n\n```\n# no heading\n```\n\nx 1 y\n\n# B\n",
            "# A\n\n```\n# no heading\n```\n\nx 2 y\n\n# B\n",
            "# A\n\n```\n# no heading\n```\n\nx 3 y\n\n# B\n",
            "A",
            "x [-1-][+2+] y",
            "x [-1-][+3+] y",
        ),
        ("1", "2", "3", "", "[-1-][+2+]", "[-1-][+3+]"),
    ],
)
def test_conflict_is_shown_in_its_lines_under_its_heading(
    base: str, mine: str, theirs: str, heading: str, shown_of_mine: str, shown_of_theirs: str
) -> None:
    [found] = views(base, mine, theirs)
    assert (found.heading, written(found.mine)) == (heading, shown_of_mine)
    assert written(found.theirs) == shown_of_theirs


@given(TEXTS, TEXTS, TEXTS)
def test_what_is_shown_of_a_side_is_in_its_text(base: str, mine: str, theirs: str) -> None:
    for each in views(base, mine, theirs):
        for side, text in ((each.mine, mine), (each.theirs, theirs)):
            kept = "".join(piece.text for piece in side.pieces if piece.kind != "removed")
            assert f"{side.before}{kept}{side.after}" in text


@given(TEXTS, st.integers(0, 24))
def test_text_around_a_place_has_one_line_with_text_on_each_side(text: str, at: int) -> None:
    before, after = text_before(text, at), text_after(text, at)
    assert text[:at].endswith(before)
    assert text[at:].startswith(after)
    for near, whole in ((before, text[:at]), (after, text[at:])):
        assert bool(near) == bool(whole.strip())
        assert near == "" or len(near.strip().splitlines()) == 1


def test_long_lines_are_cut_around_the_place() -> None:
    text = "a" * 1000 + "|" + "b" * 1000
    assert text_before(text, 1000) == "…" + "a" * LONGEST_AROUND
    assert text_after(text, 1001) == "b" * LONGEST_AROUND + "…"


def test_long_sides_are_cut_in_the_middle() -> None:
    [found] = views("x\n", "m" * 5000 + "\n", "t" * 5000 + "\n")
    for side in (found.mine, found.theirs):
        assert sum(len(piece.text) for piece in side.pieces) < LONGEST_SIDE + 20


def test_many_conflicts_are_not_all_shown() -> None:
    base, mine, theirs = (
        "".join(f"line {number} is {word} here\n" for number in range(50)) for word in "abc"
    )
    assert len(merge(base, mine, theirs).conflicts) == 50
    assert len(views(base, mine, theirs)) == MOST_SHOWN
