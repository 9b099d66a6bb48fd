"""Links are found as a complete CommonMark parser finds them."""

import random
from collections.abc import Iterator, Sequence
from urllib.parse import unquote

import pytest
from markdown_it import MarkdownIt
from markdown_it.token import Token

from octavo.model.links.extraction import links_of

PIECES = [
    *("[a](b{}.md)", "![i](c{}.png)", "[l](<d{}>)", "text", " ", "\n", "\n\n", '"t"', "\\"),
    *("`", "``", "```\n", "~~~\n", "    ", "  ", "- ", "> ", "1. ", "# ", "---\n", "===\n"),
    *("* * *\n", "(", ")", "[", "]"),
]


def led(tokens: Sequence[Token]) -> Iterator[str]:
    for token in tokens:
        address = token.attrs.get("href") or token.attrs.get("src")
        if address:
            yield unquote(str(address))
        yield from led(token.children or ())


@pytest.mark.parametrize("seed", range(5))
def test_links_of_any_text_are_those_of_the_parser(seed: int) -> None:
    parser = MarkdownIt("commonmark", {"html": False})
    chance = random.Random(seed)
    for _ in range(2000):
        pieces = chance.choices(PIECES, k=chance.randint(2, 14))
        text = "".join(piece.format(chance.randint(0, 9)) for piece in pieces)
        # CommonMark has no wiki links, and there a definition is a link where it is used.
        if "[[" not in text and "]:" not in text:
            found = sorted(link.target for link in links_of(text) if link.target)
            assert found == sorted(led(parser.parse(text))), text
