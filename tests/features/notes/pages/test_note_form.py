"""The fields of the form of a note."""

import pytest

from octavo.features.notes.pages.editing import (
    MIXED,
    line_end_of,
    path_of_new,
    relative_link,
    with_line_ends,
)


@pytest.mark.parametrize(
    ("text", "lines"),
    [("a\r\nb\r\n", "crlf"), ("a\r\nb\n", MIXED), ("a\n", ""), ("", ""), ("a\r", MIXED)],
)
def test_line_ends_are_those_of_every_line(text: str, lines: str) -> None:
    assert line_end_of(text) == lines
    if lines == "crlf":
        assert with_line_ends(text.replace("\r\n", "\n"), lines) == text


@pytest.mark.parametrize(
    ("path", "text", "expected"),
    [
        ("Tea", "", ("Tea.md", True)),
        (" Kitchen/Tea.md ", "", ("Kitchen/Tea.md", True)),
        ("Kitchen/", "# Green tea", ("Kitchen/Green tea.md", False)),
        ("/", "Green", ("Green.md", False)),
        ("", "Green", ("Inbox/Green.md", False)),
        ("", "", ("Inbox/Note.md", False)),
    ],
)
def test_path_is_that_of_the_form_or_named_after_the_text(
    path: str, text: str, expected: tuple[str, bool]
) -> None:
    assert path_of_new({"path": path, "text": text}) == expected


def test_link_leads_from_the_folder_of_the_note() -> None:
    assert relative_link("a/b/Note.md", "attachments/Tea cup.png") == (
        "../../attachments/Tea%20cup.png"
    )
