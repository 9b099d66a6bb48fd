"""The ids of blocks, such as ``^evening`` at the end of a paragraph, and links to them.

They are Obsidian's: ``[[note#^evening]]`` leads to the block. An id is not shown. On a page, its
sign distinguishes it from the anchors of headings.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING
from urllib.parse import quote

if TYPE_CHECKING:
    # Not loaded by the pages that only link to blocks: they do without the parser.
    from markdown_it.rules_core import StateCore

META = "block"
"""The name of the id in ``meta`` of the token of a block's text."""
_SIGN = "^"
_ID = re.compile(r"(?:(?<=\s)|\A)\^([A-Za-z0-9-]{1,100})[ \t]*\Z")


def find_block_ids(state: StateCore) -> None:
    """Take the ids from the ends of paragraphs and items, before inline content is parsed.

    The token of the text has the id, with its sign, in ``meta``; of equal ids, the first one.
    """
    found: set[str] = set()
    for at, token in enumerate(state.tokens):
        if token.type != "inline" or state.tokens[at - 1].type != "paragraph_open":
            continue
        written = _ID.search(token.content)
        if written is None:
            continue
        token.content = token.content[: written.start()].rstrip()
        if written[1] not in found:
            found.add(written[1])
            token.meta[META] = f"{_SIGN}{written[1]}"


def block_fragment(heading: str) -> str | None:
    """Return the encoded fragment of a link to a block; None for a link to a heading.

    ``heading`` is what follows the first number sign of the link.
    """
    last = heading.rpartition("#")[2].strip()
    return quote(last, safe="") if last.startswith(_SIGN) else None
