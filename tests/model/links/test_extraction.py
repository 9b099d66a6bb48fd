"""Links are found where CommonMark defines them, and nowhere else."""

import time
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from octavo.model.links.extraction import Link, links_of

MIB = 1 << 20


def described(text: str) -> list[str]:
    """Each link in one line: target, heading after #, ``!`` before an embed, [] for a wiki link."""
    lines = []
    for link in links_of(text):
        line = f"{'!' * link.embed}{link.target}{'#' * bool(link.heading)}{link.heading}"
        lines.append(f"[{line}]" if link.kind == "wiki" else line)
    return lines


@pytest.mark.parametrize(
    ("text", "links"),
    [
        ("[a](b.md)", ["b.md"]),
        ("[a]( b.md )", ["b.md"]),
        ('[a](b.md "title")', ["b.md"]),
        ("[a](b.md 'ti\ntle')", ["b.md"]),
        ("[a](b.md (title))", ["b.md"]),
        ("[a](b.md title)", []),
        ('[a](b.md "ti\n\ntle")', []),
        ("[a](b.md 'title)", []),
        ("[a](b c.md)", []),
        ("[a](<b c.md>)", ["b c.md"]),
        ("[a](<b\nc.md>)", []),
        ("[a](<b.md)", []),
        ("[a](b%20c.md#d%20e)", ["b c.md#d e"]),
        ("[a](b\\(c.md)", ["b(c.md"]),
        ("[a](b(c)d.md)", ["b(c)d.md"]),
        ("[a](b(c.md)", []),
        ("[a](b&amp;c.md)", ["b&c.md"]),
        ("[a](b&#35;c.md)", ["b#c.md"]),
        ("[a](b&copy.md)", ["b&copy.md"]),
        ("[a](b%zz.md)", ["b%zz.md"]),
        ("[a](b.md?c#d)", ["b.md#d"]),
        ("[a](#b)", ["#b"]),
        ("[a]()", []),
        ("[a](\nb.md)", ["b.md"]),
        ("[a][b](c.md)", ["c.md"]),
        ("[a [b] c](d.md)", ["d.md"]),
        ("[a [b](c.md) d](e.md)", ["c.md"]),
        ("[![a](b.png)](c.md)", ["!b.png", "c.md"]),
        ("![a [b](c.md)](d.png)", ["c.md", "!d.png"]),
        ("[a] (b.md)", []),
        ("\\[a](b.md)", []),
        ("[a\\](b.md)", []),
        ("!\\[a](b.md)", []),
        ("\\![a](b.md)", ["b.md"]),
        ("[a](b.md)[c](d.md)", ["b.md", "d.md"]),
        ("[a](http://b)", []),
        ("[a](//b/c)", []),
        ("[a](mailto:b@c)", []),
        ("[a](b:c)", []),
        ("<http://a](b)>", []),
        ('[a <b c="](d.md)">](e.md)', ["e.md"]),
        ("[Grüße](Grüße%C3%A9.md)", ["Grüßeé.md"]),
    ],
)
def test_inline_link_is_found_as_commonmark_reads_it(text: str, links: list[str]) -> None:
    assert described(text) == links


@pytest.mark.parametrize(
    ("text", "links"),
    [
        ("[[a]]", ["[a]"]),
        ("[[ a b ]]", ["[a b]"]),
        ("[[a|b]]", ["[a]"]),
        ("[[a\\|b]]", ["[a]"]),
        ("[[a#b]]", ["[a#b]"]),
        ("[[a#b|c]]", ["[a#b]"]),
        ("[[a#b#c]]", ["[a#b#c]"]),
        ("[[#b]]", ["[#b]"]),
        ("[[a/b.md]]", ["[a/b.md]"]),
        ("![[a.png]]", ["[!a.png]"]),
        ("![[a.png|100]]", ["[!a.png]"]),
        ("[[a%20b]]", ["[a%20b]"]),
        ("[[]]", []),
        ("[[|a]]", []),
        ("[[a]", []),
        ("[[a\nb]]", []),
        ("[[[a]]]", ["[a]"]),
        ("[[a[[b]]", ["[b]"]),
        ("\\[[a]]", []),
        ("[[1]](a.md)", ["a.md"]),
        ("[[a]] [[b]]", ["[a]", "[b]"]),
    ],
)
def test_wiki_link_is_found(text: str, links: list[str]) -> None:
    assert described(text) == links


@pytest.mark.parametrize(
    ("text", "links"),
    [
        ("[a]: b.md", ["b.md"]),
        ("[a]:\n  b.md 'c'", ["b.md"]),
        ("[a]: <b c.md>\n'd'\n[e]: f.md", ["b c.md", "f.md"]),
        ("   [a]: b.md#c", ["b.md#c"]),
        ("[a]: b.md c", []),
        ("text\n[a]: b.md", []),
        ("[a]: b(c.md", ["b(c.md"]),
        ("[a]: b.md\n[c](d.md)", ["b.md", "d.md"]),
        ("[^a]: b.md", []),
        ("[ ]: b.md", []),
        ("[a]: http://b", []),
        ("> [a]: b.md\n> [c]: d.md", ["b.md", "d.md"]),
    ],
)
def test_definition_is_found_where_a_paragraph_begins(text: str, links: list[str]) -> None:
    assert described(text) == links


@pytest.mark.parametrize(
    "text",
    [
        "`[a](b.md)`",
        "``[a](b.md)` [[c]]``",
        "[a`](b.md)`",
        "```\n[a](b.md)\n```",
        "~~~ x\n[a](b.md)\n```\n[[c]]",
        "```\n[[a]]\n``\n[[b]]\n`````",
        "    [a](b.md)",
        "\t[a](b.md)",
        "text\n\n    [a](b.md)",
        "- a\n\n      [a](b.md)",
        "> ```\n> [a](b.md)",
        "- ```\n  [a](b.md)\n\n  [[c]]\n  ```",
        ">     [a](b.md)",
        "<!-- [a](b.md)\n\n[[c]] -->",
        "text <!-- [a](b.md) --> text",
        "1. \n\n    [a](b.md)",
        "-       \n\n    [a](b.md)",
    ],
)
def test_link_in_code_or_in_a_comment_is_ignored(text: str) -> None:
    assert described(text) == []


@pytest.mark.parametrize(
    "text",
    [
        "`a [[b]]",
        "``a` [[b]]",
        "`a\n\n[[b]] `",
        "\\`[[b]]`",
        "```\n```\n[[b]]",
        "> ```\n[[b]]",
        "- ```\n\n[[b]]",
        "text\n    [[b]]",
        "- a\n\n    [[b]]",
        "1. a\n   - c\n\n     [[b]]",
        "> a\n[[b]]",
        "# [[b]]",
        "[[b]]\n===",
        "- [ ] [[b]]",
        "| a |\n|---|\n| [[b]] |",
        "```a`b\n[[b]]",
        "<!-- a -->\n[[b]]",
        "<!-- a\n-->\n\n[[b]]",
        "a\r\n\r\n- [[b]]\r\n",
        "a <!-- [[b]]",
        "> - a\n> \n>   [[b]]",
        "> 1. a\n>\n\n[[b]]",
        "- \n  [[b]]",
        "- a `\n===\n [[b]]",
    ],
)
def test_link_next_to_code_is_found(text: str) -> None:
    assert described(text) == ["[b]"]


@given(st.text(alphabet="[]()!<>`\\|#: \n-a.&%\"'", max_size=60))
def test_spans_are_those_of_the_targets_in_order(text: str) -> None:
    found = links_of(text)
    for link in found:
        assert link.whole[0] <= link.start <= link.end <= link.whole[1]
        if link.kind == "wiki":
            assert text[link.start : link.end] == link.target
            assert text[slice(*link.whole)].lstrip("!").startswith("[[")
    for one, other in pairwise(found):
        assert one.end <= other.start


def test_link_has_the_location_of_its_target() -> None:
    text = "![x](<a b.png#c>) ![[ d#e|f]]"
    assert links_of(text) == [
        Link("standard", True, "a b.png", "c", 6, 13, (6, 13)),
        Link("wiki", True, "d", "e", 22, 23, (18, 29)),
    ]


@pytest.mark.parametrize(
    "unit",
    [
        "[", "[[", "![", "[](", "[a](b", "[a](()", "[a](<", '[a](b "', "[a](b (", "[a]: ",
        "[a]: b\n", "[[a", "](", "`", "` `` ", "<!--", "<a ", "> ", "- ", "\\", "&", "~~~\n",
        "a\n=\n", "- \n", "\n", "[a](\n", "\t",
    ],
)  # fmt: skip
def test_hostile_text_takes_linear_time(unit: str) -> None:
    text = f"{unit * (MIB // 4 // len(unit))}](x) [[a]] ]: x"
    begun = time.process_time()
    links_of(text)
    # Quadratic time would be minutes, at the least.
    assert time.process_time() - begun < 5


def test_code_spans_of_every_length_take_linear_time() -> None:
    text = " ".join("`" * length for length in range(1, 1400)) + "[[a]]"
    begun = time.process_time()
    assert described(text) == ["[a]"]
    assert time.process_time() - begun < 16
