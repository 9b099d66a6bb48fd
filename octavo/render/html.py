"""Markdown as sanitised HTML, for pages that are not notes, such as terms of use."""

from urllib.parse import quote

from octavo.render.allowed import clean_placed
from octavo.render.front_matter import split_front_matter
from octavo.render.obsidian import without_comments
from octavo.render.outline import add_anchors
from octavo.render.parser import parse
from octavo.render.references import LinkAddress, place_references
from octavo.render.renderer import Renderer


def to_html(text: str) -> str:
    """Return a Markdown text as HTML that is safe to include in a page.

    Headings have ids, as GitHub makes them, and front matter is left out. Links lead to ``http``,
    ``https`` and ``mailto`` addresses, or are relative. Of images, and of wiki links, the text is
    shown. Equal texts give equal HTML.

    Raises `UnrenderableNote` if the text exceeds a limit of the grammar; up to these limits, this
    may hold the interpreter for seconds.
    """
    tokens = parse(without_comments(split_front_matter(text).body))
    renderer = Renderer(add_anchors(tokens), 0)
    html = renderer.render(tokens)
    references = renderer.references

    def address_of(number: int) -> LinkAddress | None:
        reference = references[number] if number < len(references) else None
        if reference is None or reference.kind == "wiki" or reference.embed:
            return None
        fragment = f"#{quote(reference.heading)}" if reference.heading else ""
        return LinkAddress(f"{quote(reference.target)}{fragment}")

    return clean_placed(place_references(html, address_of))
