"""The examples of the CommonMark specification 0.31.2: our HTML is theirs, as far as it is allowed.

`commonmark_0_31_2.json` has the examples, by John MacFarlane, under CC-BY-SA 4.0.
"""

import json
import re
from pathlib import Path
from urllib.parse import unquote

import pytest

from octavo.render.allowed import clean, clean_placed
from octavo.render.note import add_anchors
from octavo.render.parser import parse
from octavo.render.references import ImageAddress, LinkAddress, place_references
from octavo.render.renderer import Renderer

EXAMPLES: list[tuple[int, str, str]] = json.loads(
    Path(__file__).with_name("commonmark_0_31_2.json").read_text()
)["examples"]
# A browser continues an element that is not closed in the next block; ours ends with its block.
UNCLOSED = {187, 344, 476, 477, 494, 630, 631, 642, 643}
DIFFERENT = {
    191: "code in a table is shown after the table, where browsers show it before",
    **dict.fromkeys(UNCLOSED, "an element that is not closed ends with its block"),
}
EXTENDED = {
    548: "wiki links in brackets",
    559: "a wiki link",
    590: "an embed",
}


def html_of(text: str, *, extended: bool) -> str:
    """The HTML of a text, with its references at the addresses that it has."""
    tokens = parse(text, extended=extended)
    renderer = Renderer(add_anchors(tokens), 0)
    html = clean(renderer.render(tokens))
    assert clean(html) == html

    def address_of(number: int) -> LinkAddress | ImageAddress:
        reference = renderer.references[number]
        address = reference.target + f"#{reference.heading}" * bool(reference.heading)
        return ImageAddress(address, 0, 0) if reference.embed else LinkAddress(address)

    placed = place_references(html, address_of)
    assert clean_placed(placed) == placed
    return placed


def normal(html: str) -> str:
    """HTML without what the specification leaves open, or a page does in its own way."""
    html = re.sub(r'</?span[^>]*>| (?:id|loading|class)="[^"]*"', "", html)
    html = re.sub(r' (href|src)="([^"]*)"', address, html)
    # An address that is not allowed leaves a link that leads nowhere; we write its text.
    html = re.sub(r'<a rel="noopener noreferrer">(.*?)</a>', r"\1", html, flags=re.DOTALL)
    html = re.sub(r"\s+", " ", html.replace("<p></p>", "").replace(' alt=""', ""))
    return html.replace("> <", "><").strip()


def address(found: re.Match[str]) -> str:
    # No address leads to the page itself, as does an empty fragment.
    return f' {found[1]}="{unquote(found[2]) or "#"}"'.replace("&quot;", '"').replace(
        "\xa0", "&nbsp;"
    )


@pytest.mark.parametrize(("number", "text", "html"), EXAMPLES, ids=lambda each: str(each)[:9])
def test_example_has_the_html_of_the_specification(number: int, text: str, html: str) -> None:
    same = normal(html_of(text, extended=False)) == normal(clean_placed(html))
    assert same == (number not in DIFFERENT)


@pytest.mark.parametrize(("number", "text", "html"), EXAMPLES, ids=lambda each: str(each)[:9])
def test_extensions_change_a_few_examples(number: int, text: str, html: str) -> None:
    same = normal(html_of(text, extended=True)) == normal(clean_placed(html))
    assert same == (number not in DIFFERENT | EXTENDED)


def test_all_examples_are_here() -> None:
    assert [number for number, _, _ in EXAMPLES] == list(range(1, 653))
