"""Markdown as tokens: the grammar, and complete parsing of what the limits accept."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from markdown_it import MarkdownIt
from markdown_it.token import Token

from octavo.model.refusal import UnrenderableNote
from octavo.render.limits import LIMITS
from octavo.render.parser import parse
from tests.fakes.pathological_notes import PATHOLOGICAL, limit_of, nested, readmes, table

SIGNS = st.text(st.sampled_from("ab \n\t>-*+1.)[]()|`~_:#=\r&;<!\\\"'é"), max_size=60)
SHAPES = st.builds(
    lambda parts, times: "".join(part * count for part, count in zip(parts, times, strict=False)),
    st.lists(SIGNS, max_size=4),
    st.lists(st.integers(1, 60), min_size=4, max_size=4),
)


def spelled(tokens: list[Token]) -> list[str]:
    """The types of the tokens, those of a paragraph with its inline ones."""
    kinds: list[str] = []
    for token in tokens:
        kinds.append(token.type)
        kinds += (child.type for child in token.children or ())
    return kinds


def content(tokens: list[Token]) -> str:
    return "".join(token.content for token in tokens if token.type in ("inline", "fence"))


@pytest.mark.parametrize(
    ("text", "types"),
    [
        ("*a*", ["em_open", "text", "em_close"]),
        ("~~a~~", ["s_open", "text", "s_close"]),
        ("[a](b)", ["link_open", "text", "link_close"]),
        ("![a](b)", ["image"]),
        ("<http://a.b>", ["link_open", "text", "link_close"]),
        ("a  \nb", ["text", "hardbreak", "text"]),
        ("`a`", ["code_inline"]),
        ("<b>a</b>", ["html_inline", "text", "html_inline"]),
        ("==a==", ["mark_open", "text", "mark_close"]),
        ("[[a]]", ["wiki_link"]),
        ("![[a]]", ["embed"]),
        ("$a$", ["formula"]),
        ("a $$b$$", ["text", "formula_display"]),
        ("^[a", ["text"]),
        ("http://a.b", ["text"]),
        ("(c) -- ...", ["text"]),
    ],
)
def test_text_of_a_paragraph_is_in_its_tokens(text: str, types: list[str]) -> None:
    assert spelled(parse(text)) == ["paragraph_open", "inline", *types, "paragraph_close"]


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("# a", "heading_open"),
        ("a\n=", "heading_open"),
        ("> a", "blockquote_open"),
        ("- a", "bullet_list_open"),
        ("1. a", "ordered_list_open"),
        ("```\na", "fence"),
        ("    a", "code_block"),
        ("***", "hr"),
        ("|a|\n|-|", "table_open"),
        ("<div>", "html_block"),
        ("$$\na\n$$", "formula_block"),
        ("> [!tip] a", "callout_open"),
        ("- [ ] a", "bullet_list_open"),
    ],
)
def test_block_has_its_token(text: str, kind: str) -> None:
    assert parse(text)[0].type == kind


def test_reference_is_resolved_wherever_it_is_defined() -> None:
    [_, paragraph, *_] = parse("[a][B]\n\n> [b]: /c 'd'\n")
    assert paragraph.children is not None
    assert paragraph.children[0].attrs == {"href": "/c", "title": "d"}


def test_link_with_a_script_is_text() -> None:
    assert spelled(parse("[a](javascript:b)"))[2:-1] == ["text"]


def test_note_over_a_limit_is_refused_before_it_is_parsed() -> None:
    with pytest.raises(UnrenderableNote):
        parse("[" * 30_000)


@pytest.mark.parametrize(
    "text",
    [">" * LIMITS["nesting"] + "deep", nested(LIMITS["nesting"]) + "deep", "1. > " * 12 + "deep"],
)
def test_deepest_accepted_nesting_loses_no_text(text: str) -> None:
    assert content(parse(text)).endswith("deep")


def test_cells_that_rows_omit_are_limited() -> None:
    tokens = parse(table(100, 590))
    assert spelled(tokens).count("td_open") == 59_000 < LIMITS["table_cells"]


@given(SHAPES)
def test_accepted_text_is_parsed(text: str) -> None:
    if limit_of(text) is None:
        parse(text)


@given(SHAPES)
def test_containers_are_never_deeper_than_estimated(text: str) -> None:
    if limit_of(text) is None:
        deepest = max((token.level for token in parse(text)), default=0)
        assert deepest <= 2 * LIMITS["nesting"] + 1


@given(SHAPES)
def test_depth_of_blocks_does_not_change_the_content_of_paragraphs(text: str) -> None:
    plain = AddressesAsWritten("commonmark", {"maxNesting": 100})
    if limit_of(text) is None and text.count("[") < 10:
        ours = plain.renderer.render(parse(text, extended=False), plain.options, {})
        assert ours == plain.render(text)


class AddressesAsWritten(MarkdownIt):
    def normalizeLink(self, url: str) -> str:  # noqa: N802
        return url

    def normalizeLinkText(self, link: str) -> str:  # noqa: N802
        return link


@pytest.mark.parametrize("unit", PATHOLOGICAL, ids=repr)
def test_pathological_text_is_parsed_or_refused(unit: str) -> None:
    text = unit * (4000 // len(unit))
    if limit_of(text) is None:
        assert isinstance(parse(text), list)


@pytest.mark.parametrize(
    ("before", "after"),
    [("[", "]"), ("![", "](b)"), ("[", "](b)"), ("*a ", " a*"), ("**a ", " a**")],
)
def test_nested_text_is_parsed_however_deep(before: str, after: str) -> None:
    assert "b" in content(parse(before * 600 + "b" + after * 600))


def test_readmes_of_the_installed_packages_are_parsed() -> None:
    for text in readmes():
        assert parse(text) or not text.strip()
