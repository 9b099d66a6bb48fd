"""Markdown as tokens: CommonMark with tables and strikethrough, and no HTML.

The parser is markdown-it-py, which follows CommonMark 0.31.2; tables and strikethrough are those of
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
# A list takes two levels, its own and that of its item. What is deeper would be left out.
_DEEPEST_BLOCK = 2 * LIMITS["nesting"] + 2
# What is deeper stays text. Each bracket costs up to so many looks at what follows.
_DEEPEST_INLINE = 20


def parse(text: str) -> list[Token]:
    """Parse the Markdown of a note; the tokens of a paragraph are the children of its token.

    HTML in it is text. Holds the interpreter for up to seconds: it runs in a process of its own
    wherever others wait. The same text gives equal tokens.

    Raises `UnrenderableNote` for a text past a limit of the grammar
    (`octavo.render.limits.check_renderable`), before any of the work.
    """
    check_renderable(text)
    return _grammar().parse(text)


@cache
def _grammar() -> MarkdownIt:
    # One parser has one depth for both, so each kind has a parser of its own.
    blocks = MarkdownIt("zero", {"maxNesting": _DEEPEST_BLOCK}).enable(_BLOCKS)
    inlines = MarkdownIt("zero", {"maxNesting": _DEEPEST_INLINE}).enable(_INLINES)

    def parse_inlines(state: StateCore) -> None:
        for token in state.tokens:
            if token.type == "inline":
                token.children = inlines.inline.parse(token.content, inlines, state.env, [])

    blocks.core.ruler.at("inline", parse_inlines)
    return blocks
