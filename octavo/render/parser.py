"""Markdown as tokens: CommonMark with tables and strikethrough, without HTML.

The parser is markdown-it-py, which implements CommonMark 0.31.2; tables and strikethrough follow
GitHub (GFM 0.29).
"""

from functools import cache

from markdown_it import MarkdownIt
from markdown_it.rules_core import StateCore
from markdown_it.token import Token

from octavo.render.limits import LIMITS, check_renderable

_BLOCKS = (
    *("blockquote", "code", "fence", "heading", "hr", "lheading", "list", "reference", "table"),
    "text_join",
)
_INLINES = (
    *("autolink", "backticks", "emphasis", "entity", "escape", "image", "link", "newline"),
    *("strikethrough", "balance_pairs", "fragments_join"),
)
# A list takes two levels, its own and its item's. The parser omits blocks below this depth.
_DEEPEST_BLOCK = 2 * LIMITS["nesting"] + 2
# Deeper markup remains text. Each bracket causes up to this many scans of the rest.
_DEEPEST_INLINE = 20


def parse(text: str) -> list[Token]:
    """Parse the Markdown of a note; a paragraph's tokens are the children of its token.

    HTML is treated as text. Equal texts give equal tokens. Parsing may hold the interpreter for
    seconds; a server must run it in a separate process.

    Raises `UnrenderableNote` before parsing if the text exceeds a limit of the grammar
    (`octavo.render.limits.check_renderable`).
    """
    check_renderable(text)
    return _grammar().parse(text)


@cache
def _grammar() -> MarkdownIt:
    # A parser has one depth limit for both, so blocks and inlines each have a parser.
    blocks = MarkdownIt("zero", {"maxNesting": _DEEPEST_BLOCK}).enable(_BLOCKS)
    inlines = MarkdownIt("zero", {"maxNesting": _DEEPEST_INLINE}).enable(_INLINES)

    def parse_inlines(state: StateCore) -> None:
        for token in state.tokens:
            if token.type == "inline":
                token.children = inlines.inline.parse(token.content, inlines, state.env, [])

    blocks.core.ruler.at("inline", parse_inlines)
    return blocks
