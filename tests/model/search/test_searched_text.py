"""A text as searches need it: its title, and its parts folded."""

import pytest

from octavo.model.search.searched_text import MAX_HEADINGS, SearchedText, title_of


@pytest.mark.parametrize(
    ("text", "title"),
    [
        ("# One\n# Two", "One"),
        ("text\n## Two ##\n", "Two"),
        ("#no", None),
        ("   # One", "One"),
        ("    # no\n   # One", "One"),
        ("a # no", None),
        ("####### no", None),
        ("#  ", None),
        ("", None),
    ],
)
def test_title_is_the_first_heading(text: str, title: str | None) -> None:
    assert title_of(text) == title
    assert SearchedText.of(text).title == title


def test_parts_are_folded_and_the_text_stays_as_written() -> None:
    text = "# Grüße\n\nÉtudes, A-B\n\n## Näher\n### Ende ##\n"
    found = SearchedText.of(text)
    assert found.text == text
    assert found.title == "Grüße"
    assert found.folded_title == "grusse"
    assert found.headings.split() == ["naher", "ende"]
    assert found.body.split() == ["grusse", "etudes", "a", "b", "naher", "ende"]


def test_headings_after_many_are_not_looked_at() -> None:
    text = "".join(f"# h{number}\n" for number in range(MAX_HEADINGS + 1))
    found = SearchedText.of(text).headings.split()
    assert (found[0], found[-1], len(found)) == ("h1", f"h{MAX_HEADINGS - 1}", MAX_HEADINGS - 1)


def test_parts_of_the_path_are_folded() -> None:
    found = SearchedText.of("", "Größe/Tea & Co/Über A.md")
    assert (found.folder.split(), found.name.split()) == (
        ["grosse", "tea", "co"],
        ["uber", "a", "md"],
    )


def test_text_without_words_has_no_parts() -> None:
    found = SearchedText.of("")
    assert (found.body, found.title, found.folded_title, found.headings) == ("", None, "", "")
