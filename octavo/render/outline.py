"""The headings of a note: their anchors, and the levels that they have on a page."""

from collections.abc import Sequence

from markdown_it.token import Token

from octavo.model.links.headings import title_of, unique_anchors

FRAME_IDS = ("main",)
"""The ids of the page around a note. Those of footnotes have a sign that no anchor has."""


def add_anchors(tokens: Sequence[Token]) -> dict[str, str]:
    """Give each heading its anchor, as the attribute ``id``.

    Returns:
        For each anchor as `octavo.model.links.headings_of` makes it, the one on the page: they
        differ where the page around the note has the same id.
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
