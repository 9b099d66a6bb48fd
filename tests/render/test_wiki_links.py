"""Wiki links and embeds; `test_note` compares them with the index of links."""

import pytest

from octavo.render.obsidian import SizedText, WikiLink, read_wiki_link, sized
from octavo.render.parser import parse


@pytest.mark.parametrize(
    ("inside", "link"),
    [
        ("a", WikiLink("a", "", "")),
        (" a b ", WikiLink("a b", "", "")),
        ("a|b|c", WikiLink("a", "", "b|c")),
        ("a#b", WikiLink("a", "b", "")),
        ("a#b#c", WikiLink("a", "b#c", "")),
        ("#b", WikiLink("", "b", "")),
        (r"a\|b", WikiLink("a", "", "b")),
        ("a|", WikiLink("a", "", "")),
    ],
)
def test_wiki_link_has_a_target_a_heading_and_a_label(inside: str, link: WikiLink) -> None:
    assert read_wiki_link(inside) == link


def test_without_a_label_the_target_and_the_headings_are_shown() -> None:
    assert [WikiLink("a", "b#c", label).shown for label in ("", "d")] == ["a > b > c", "d"]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("a|30", SizedText("a", 30, 0)),
        ("30x40", SizedText("", 30, 40)),
        ("a|b|30", SizedText("a|b", 30, 0)),
        ("a", SizedText("a", 0, 0)),
        ("a|b", SizedText("a|b", 0, 0)),
        (r"a\|30", SizedText("a", 30, 0)),
        ("123456", SizedText("123456", 0, 0)),
    ],
)
def test_size_is_at_the_end_of_the_text_of_an_image(text: str, expected: SizedText) -> None:
    assert sized(text) == expected


def test_tokens_have_the_link_and_its_label() -> None:
    [_, paragraph, _] = parse("[[a|b]] ![[c]]")
    assert paragraph.children is not None
    link, _, embed = paragraph.children
    assert (link.type, link.content, link.meta["link"].target) == ("wiki_link", "b", "a")
    assert (embed.type, embed.content) == ("embed", "")
