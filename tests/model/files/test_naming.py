"""Names for notes that a person did not name."""

from itertools import islice

import pytest
from hypothesis import given
from hypothesis import strategies as st

from octavo.model.files.path import check_path, name_from_text, numbered_paths, written_path


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("# Earl Grey\n\nSteep.", "Earl Grey"),
        ("\n\n- [ ] Call Ben: soon?", "Call Ben soon"),
        ("> **Bold** `words`", "Bold words"),
        ("---\n***\nLast", "Last"),
        ("a/b\\c", "a b c"),
        ("con\nOther", "Other"),
        ("日本の茶", "日本の茶"),
        ("", None),
        ("…", None),
        ("x" * 200, "x" * 80),
        ("x" * 79 + " yz", "x" * 79),
        ("\U00020000" * 63, "\U00020000" * 63),
        ("\U00020000" * 64, None),
    ],
)
def test_name_is_the_first_line_with_a_word(text: str, name: str | None) -> None:
    assert name_from_text(text) == name


@given(st.text(max_size=120))
def test_name_is_valid_in_a_path(text: str) -> None:
    name = name_from_text(text)
    if name is not None:
        check_path(f"{name}.md")


@pytest.mark.parametrize(
    ("path", "folder", "found"),
    [
        ("Tea", "", "Tea.md"),
        (" /Kitchen/Tea.md ", "", "Kitchen/Tea.md"),
        ("Tea.MD", "", "Tea.MD"),
        ("Tea", "Kitchen", "Kitchen/Tea.md"),
        ("Garden/Tea", "Kitchen", "Garden/Tea.md"),
        ("", "Kitchen", ""),
        ("e\u0301", "", "\u00e9.md"),
    ],
)
def test_path_is_completed(path: str, folder: str, found: str) -> None:
    assert written_path(path, folder) == found


@pytest.mark.parametrize(
    ("path", "following"),
    [
        ("Tea.md", ["Tea.md", "Tea 2.md", "Tea 3.md"]),
        ("a.b/cup", ["a.b/cup", "a.b/cup 2", "a.b/cup 3"]),
        ("a/.png", ["a/.png", "a/.png 2", "a/.png 3"]),
    ],
)
def test_number_follows_the_name(path: str, following: list[str]) -> None:
    assert [*islice(numbered_paths(path), 3)] == following
