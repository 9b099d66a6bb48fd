"""A published note as HTML, with what else its page shows; and pages that are not notes."""

import re
from collections.abc import Mapping, Sequence
from urllib.parse import quote

from markdown_it.token import Token

from octavo.model.links.headings import title_of, unique_anchors
from octavo.render.allowed import clean, clean_placed
from octavo.render.front_matter import split_front_matter
from octavo.render.limits import check_renderable
from octavo.render.obsidian import without_comments
from octavo.render.parser import parse
from octavo.render.references import LinkAddress, place_references
from octavo.render.rendered_note import RenderedNote
from octavo.render.renderer import Renderer, first_words, plain_text

FRAME_IDS = ("main",)
"""The ids of the page around a note. Those of footnotes have a sign that no anchor has."""


def add_anchors(tokens: Sequence[Token]) -> dict[str, str]:
    """Give each heading its anchor, as the attribute ``id``.

    Returns:
        For each anchor that `octavo.model.links.headings.headings_of` returns, the one on the page:
        they differ where the page around the note has the same id.
    """
    at = [index for index, token in enumerate(tokens) if token.type == "heading_open"]
    titles = [_title(tokens[index], tokens[index + 1]) for index in at]
    anchors = list(unique_anchors(titles, FRAME_IDS))
    for index, anchor in zip(at, anchors, strict=True):
        tokens[index].attrs["id"] = anchor
    return dict(zip(unique_anchors(titles), anchors, strict=True))


def _title(opening: Token, inline: Token) -> str:
    # The parser has removed closing signs after leading ones; underlined headings keep them.
    return title_of(inline.content, closed=not opening.markup.startswith("#"))


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


LONGEST_DESCRIPTION = 200
"""Characters of a description."""
# The form of the tags that people write; whether a language exists is not checked (RFC 5646).
_LANGUAGE = re.compile(r"[A-Za-z]{2,3}(?:-[A-Za-z0-9]{1,8}){0,7}")


def render_note(text: str) -> RenderedNote:
    """Return a note as the parts of its page. Equal texts give equal notes.

    The title is that of the front matter, else the first heading if the text begins with one of the
    first level. A heading that is the title is not in the HTML; if there are others of the first
    level, all headings are one level lower, so that the page has one of the first level.

    This may hold the interpreter for seconds: a server must call it in a separate process.

    Raises:
        UnrenderableNote: if the text exceeds a limit of the grammar.
    """
    check_renderable(text)
    front_matter = split_front_matter(_encodable(text))
    tokens = parse(without_comments(front_matter.body))
    anchors = add_anchors(tokens)
    title = " ".join(front_matter.entries.get("title", "").split())
    heading = _leading_heading(tokens)
    body: Sequence[Token] = tokens
    if heading is not None and title in ("", heading):
        title = heading
        body = tokens[3:]
    has_others = any(token.tag == "h1" for token in body)
    renderer = Renderer(anchors, int(has_others))
    html = clean(renderer.render(body))
    return RenderedNote(
        html,
        renderer.references,
        tuple(renderer.outline),
        title,
        _language(front_matter.entries),
        _description(body),
        renderer.words,
    )


def _encodable(text: str) -> str:
    """Return ``text`` without lone surrogates, which no encoding has."""
    if text.isascii():
        return text
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")


def _leading_heading(tokens: Sequence[Token]) -> str | None:
    if not tokens or tokens[0].tag != "h1":
        return None
    return plain_text(tokens[1].children or ()) or None


def _language(entries: Mapping[str, str]) -> str | None:
    tag = entries.get("lang") or entries.get("language") or ""
    return tag if _LANGUAGE.fullmatch(tag) else None


def _description(tokens: Sequence[Token]) -> str:
    """Return the beginning of the first paragraph that is in no other block."""
    for at, token in enumerate(tokens):
        if token.type == "paragraph_open" and token.level == 0:
            text = plain_text(tokens[at + 1].children or ())
            if text:
                return first_words(text, LONGEST_DESCRIPTION)
    return ""
