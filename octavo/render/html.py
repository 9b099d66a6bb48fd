"""Markdown as sanitised HTML, for pages without scripts.

The parser treats HTML in a text as text. What it produces is sanitised as the last step all the
same, so that a fault of the parser or of the renderer does not become one of the pages.
"""

from functools import cache

import nh3
from markdown_it import MarkdownIt
from markdown_it.token import Token

from octavo.model.links.headings import unique_anchors
from octavo.render.front_matter import split_front_matter
from octavo.render.parser import parse

_HEADINGS = frozenset({"h1", "h2", "h3", "h4", "h5", "h6"})
_TAGS = _HEADINGS | {
    *("a", "blockquote", "br", "code", "del", "em", "hr", "li", "ol", "p", "pre", "s", "strong"),
    *("table", "tbody", "td", "th", "thead", "tr", "ul"),
}
_ATTRIBUTES = {"a": {"href", "title"}, "ol": {"start"}, **{tag: {"id"} for tag in _HEADINGS}}
_SCHEMES = {"http", "https", "mailto"}
_FRAME_IDS = ("main",)
"""The ids of the page around the HTML."""


def to_html(text: str) -> str:
    """Return a Markdown text as HTML that is safe to include in a page.

    Headings have ids, as GitHub makes them; front matter and images are left out. Links lead to
    ``http``, ``https`` and ``mailto`` addresses, or are relative. Equal texts give equal HTML.

    Raises `UnrenderableNote` if the text exceeds a limit of the grammar; up to these limits, this
    may hold the interpreter for seconds.
    """
    tokens = parse(split_front_matter(text).body)
    _add_ids(tokens)
    renderer = _renderer()
    html = renderer.renderer.render(tokens, renderer.options, {})
    return nh3.clean(str(html), tags=set(_TAGS), attributes=_ATTRIBUTES, url_schemes=_SCHEMES)


def _add_ids(tokens: list[Token]) -> None:
    headings = [at for at, token in enumerate(tokens) if token.type == "heading_open"]
    titles = (_plain(tokens[at + 1].children or []) for at in headings)
    for at, anchor in zip(headings, unique_anchors(titles, _FRAME_IDS), strict=True):
        tokens[at].attrSet("id", anchor)


def _plain(inlines: list[Token]) -> str:
    """Return the text of a heading without its markup."""
    return " ".join("".join(_texts(inlines)).split())


def _texts(inlines: list[Token]) -> list[str]:
    return [" " if token.type in ("softbreak", "hardbreak") else token.content for token in inlines]


@cache
def _renderer() -> MarkdownIt:
    return MarkdownIt("zero")
