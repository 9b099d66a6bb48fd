"""Comments of Obsidian, which nobody reads."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from octavo.render.obsidian import without_comments


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("a %%b%% c", "a  c"),
        ("a %%b\nc%% d %%e%%", "a  d "),
        ("a %%b\n\n# c\n\n- d %% e", "a  e"),
        ("%%\na\n\nb\n%%\nc", "\nc"),
        ("a\n%%b", "a\n"),
        ("> %%b", "> "),
        ("1. %%b", "1. "),
        ("a %%b", "a %%b"),
        ("100%% and 50%", "100%% and 50%"),
        ("`%%` a `%%`", "`%%` a `%%`"),
        ("``%% ` %%`` a", "``%% ` %%`` a"),
        ("`a %%b%%", "`a "),
        (r"\%% a", r"\%% a"),
        ("```\n%%a%%\n```", "```\n%%a%%\n```"),
        ("    %%a%%", "    %%a%%"),
        ("%%a%%%%b%%c", "c"),
        ("a", "a"),
    ],
)
def test_comments_are_removed_outside_code(text: str, expected: str) -> None:
    assert without_comments(text) == expected


@given(st.text("a%`\\\n> -", max_size=40))
def test_the_rest_of_a_text_stays(text: str) -> None:
    rest = iter(text)
    assert all(letter in rest for letter in without_comments(text))
