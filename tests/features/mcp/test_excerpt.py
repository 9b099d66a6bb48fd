"""Parts of long texts."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from octavo.features.mcp.reading_tools import Excerpt, excerpt

TEXT = "one\ntwo\nthree\n"


def test_short_text_is_whole() -> None:
    assert excerpt(TEXT) == Excerpt(TEXT, 1, 3, 0, 14, 3, 14, None)
    assert excerpt("") == Excerpt("", 1, 1, 0, 0, 1, 0, None)


@pytest.mark.parametrize(
    ("first", "last", "part", "lines", "following"),
    [
        (1, 1, "one\n", (1, 1), 4),
        (2, None, "two\nthree\n", (2, 3), None),
        (2, 2, "two\n", (2, 2), 8),
        (3, 99, "three\n", (3, 3), None),
        (None, 2, "one\ntwo\n", (1, 2), 8),
    ],
)
def test_lines_are_chosen(
    first: int | None, last: int | None, part: str, lines: tuple[int, int], following: int | None
) -> None:
    found = excerpt(TEXT, first_line=first, last_line=last)
    assert (found.text, (found.first_line, found.last_line)) == (part, lines)
    assert found.next == following


@pytest.mark.parametrize(
    ("choice", "message"),
    [
        ({"first_line": 4}, "ends at line 3"),
        ({"first_line": 2, "last_line": 1}, "must not be before"),
        ({"start": 15}, "ends at character 14:"),
        ({"first_line": 1, "start": 3}, "not both"),
    ],
)
def test_part_outside_of_the_text_is_refused(choice: dict[str, int], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        excerpt(TEXT, **choice)


def test_long_part_ends_with_a_whole_line() -> None:
    found = excerpt(TEXT, limit=9)
    assert (found.text, found.last_line, found.next) == ("one\ntwo\n", 2, 8)
    found = excerpt("abcdef", limit=4)
    assert (found.text, found.next) == ("abcd", 4)


@given(st.text(alphabet="ab\n", max_size=60), st.integers(1, 20))
def test_parts_make_the_whole_text(text: str, limit: int) -> None:
    parts: list[Excerpt] = []
    at: int | None = 0
    while at is not None:
        parts.append(excerpt(text, start=at, limit=limit))
        assert parts[-1].start_character == at
        assert len(parts[-1].text) <= limit
        at = parts[-1].next
    assert "".join(each.text for each in parts) == text
    assert {each.total_lines for each in parts} == {excerpt(text).total_lines}


@given(st.text(alphabet="ab\n", max_size=60), st.integers(1, 9), st.integers(1, 9))
def test_chosen_lines_are_those_of_the_text(text: str, first: int, last: int) -> None:
    lines = text.splitlines(keepends=True) or [""]
    try:
        found = excerpt(text, first_line=first, last_line=last)
    except ValueError:
        assert first > len(lines) or last < first
        return
    assert found.text == "".join(lines[first - 1 : last])
    assert (found.first_line, found.last_line) == (first, min(last, len(lines)))
