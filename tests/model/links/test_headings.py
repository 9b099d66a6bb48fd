"""Headings, and the anchors that lead to them."""

import pytest

from octavo.model.links.headings import has_heading, headings_of


@pytest.mark.parametrize(
    ("text", "headings"),
    [
        ("# One\n## Two ##\n", [("One", "one"), ("Two", "two")]),
        ("One\nand half\n===\n\nTwo\n---", [("One and half", "one-and-half"), ("Two", "two")]),
        ("#no\n####### no\n\\# no", []),
        ("```\n# no\n```\n    # no", []),
        ("> # Quoted\n- # Listed", [("Quoted", "quoted"), ("Listed", "listed")]),
        ("# A\n# A\n# A-1\n# A", [("A", "a"), ("A", "a-1"), ("A-1", "a-1-1"), ("A", "a-2")]),
        ("# What's *new* in `v1.2`?", [("What's new in v1.2?", "whats-new-in-v12")]),
        ("# A [link](b.md) and [[c|d]]", [("A link and d", "a-link-and-d")]),
        ("# Über & uns", [("Über & uns", "über--uns")]),
        ("# snake_case _and_ more", [("snake_case and more", "snake_case-and-more")]),
        ("# 日本語 見出し", [("日本語 見出し", "日本語-見出し")]),
        ("# R&amp;D", [("R&D", "rd")]),
        ("#", [("", "")]),
    ],
)
def test_headings_have_anchors(text: str, headings: list[tuple[str, str]]) -> None:
    assert [tuple(each) for each in headings_of(text)] == headings


@pytest.mark.parametrize(
    ("fragment", "found"),
    [
        ("one-two", True),
        ("One two", True),
        ("Top#One two", True),
        ("one  two", False),
        ("three", False),
    ],
)
def test_fragment_finds_its_heading(fragment: str, found: bool) -> None:
    anchors = {each.anchor for each in headings_of("# Top\n## One two")}
    assert has_heading(anchors, fragment) is found


def test_spaces_in_a_heading_are_read_once() -> None:
    spaces = " " * 500_000
    assert headings_of(f"One{spaces}two\n===")[0].text == "One two"


class Counted:
    """Anchors that can be looked up, but not iterated over."""

    def __init__(self, *anchors: str) -> None:
        self._anchors = anchors
        self.asked: list[object] = []

    def __contains__(self, anchor: object) -> bool:
        self.asked.append(anchor)
        return anchor in self._anchors


def test_heading_is_looked_up_among_any_number() -> None:
    anchors = Counted("one-two")
    assert has_heading(anchors, "One two")
    assert anchors.asked == ["One two", "one-two"]
