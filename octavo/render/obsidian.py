"""The extensions of Obsidian: callouts, comments, wiki links and the ids of blocks.

`octavo.model.links.extraction` finds the same links. A comment, ``%%…%%``, is removed: readers must
not see it. The id of a block, such as ``^evening`` at the end of a paragraph, is not shown, and
``[[note#^evening]]`` leads to the block; on a page, its sign distinguishes it from the anchors of
headings.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, NamedTuple
from urllib.parse import quote

from octavo.model.links.blocks import leaves_of
from octavo.render.allowed import CALLOUTS

if TYPE_CHECKING:
    # Readers of published notes are served without the parser.
    from markdown_it.rules_core import StateCore
    from markdown_it.rules_inline import StateInline
    from markdown_it.token import Token

# After the opening brackets, as in the extraction of links.
_WIKI = re.compile(r"([^\[\]\n]++)\]\](?!\()")
_SIZE = re.compile(r"([0-9]{1,5})(?:x([0-9]{1,5}))?")


class WikiLink(NamedTuple):
    """A wiki link: its target, its heading, and its label; each may be empty."""

    target: str
    heading: str
    label: str

    @property
    def shown(self) -> str:
        """Return the label, or else the target and the headings."""
        parts = (self.target, *map(str.strip, self.heading.split("#")))
        return self.label or " > ".join(filter(None, parts))


class SizedText(NamedTuple):
    """The text of an image, with its width and height in pixels; 0 if they are not given."""

    text: str
    width: int
    height: int


def wiki_link(state: StateInline, silent: bool) -> bool:
    """Parse ``[[note#heading|label]]``, a rule of the inline grammar.

    Within the text of a standard link its brackets count as brackets, so that it does not end that
    link; hence it is not looked for there.
    """
    return not silent and _parse(state, state.pos, "wiki_link", silent)


def embed(state: StateInline, silent: bool) -> bool:
    """Parse ``![[image.png|300]]``, a rule of the inline grammar."""
    return _parse(state, state.pos + 1, "embed", silent)


def _parse(state: StateInline, brackets: int, kind: str, silent: bool) -> bool:
    begin = brackets + 2
    if not state.src.startswith("[[", brackets) or state.src.startswith("[", begin):
        return False
    inside = _WIKI.match(state.src, begin, state.posMax)
    if inside is None:
        return False
    link = read_wiki_link(inside[1])
    if not link.target and not link.heading:
        return False
    if not silent:
        token = state.push(kind, "", 0)
        token.content = link.shown if kind == "wiki_link" else sized(link.label).text
        token.meta = {"link": link}
    state.pos = inside.end()
    return True


def read_wiki_link(inside: str) -> WikiLink:
    """Return the wiki link with ``inside`` between its brackets."""
    link, _, label = inside.partition("|")
    # In a table, the bar is escaped.
    path, _, heading = link.removesuffix("\\").partition("#")
    return WikiLink(path.strip(), heading.strip(), label.strip())


def sized(text: str) -> SizedText:
    """Split a width, or a width and a height, from the text of an image: ``A cup|300``."""
    before, _, last = text.rpartition("|")
    size = _SIZE.fullmatch(last.strip())
    if size is None:
        return SizedText(text.strip(), 0, 0)
    return SizedText(before.removesuffix("\\").strip(), int(size[1]), int(size[2] or 0))


_MARK = "%%"
# The beginning of a line, with the markers of quotes and lists.
_MARKERS = re.compile(r"[ \t]*+(?:(?:>|(?:[-*+]|[0-9]{1,9}[.)])[ \t])[ \t]*+)*")
_SIGN = re.compile(r"\\[!-/:-@\[-`{-~]|`++|%%")


def without_comments(text: str) -> str:
    """Return ``text`` without what is between two ``%%`` outside code, however many lines it has.

    A comment that is not closed ends with the text if it begins a line; otherwise ``%%`` is text.
    Takes linear time.
    """
    if _MARK not in text:
        return text
    kept: list[str] = []
    done, begin = 0, -1
    for at in _marks(text):
        if begin < 0:
            begin = at
        else:
            kept.append(text[done:begin])
            done, begin = at + len(_MARK), -1
    if begin >= 0 and _begins_line(text, begin):
        return "".join((*kept, text[done:begin]))
    return "".join((*kept, text[done:]))


def _begins_line(text: str, at: int) -> bool:
    return _MARKERS.fullmatch(text, text.rfind("\n", 0, at) + 1, at) is not None


def _marks(text: str) -> list[int]:
    """Return the positions of the signs of comments."""
    positions: list[int] = []
    for leaf in leaves_of(text):
        if text.find(_MARK, leaf.start, leaf.end) < 0:
            continue
        signs = list(_SIGN.finditer(text, leaf.start, leaf.end))
        # For each length of a run of backticks, where the last one is.
        last = {len(sign[0]): at for at, sign in enumerate(signs) if sign[0][0] == "`"}
        at = 0
        while at < len(signs):
            sign = signs[at][0]
            if sign == _MARK:
                positions.append(signs[at].start())
            elif sign[0] == "`" and last[len(sign)] > at:
                at += 1
                while signs[at][0] != sign:
                    at += 1
            at += 1
    return positions


META = "block"
"""The name of the id in ``meta`` of the token of a block's text."""
_ID_SIGN = "^"
_ID = re.compile(r"(?:(?<=\s)|\A)\^([A-Za-z0-9-]{1,100})[ \t]*\Z")


def find_block_ids(state: StateCore) -> None:
    """Take the ids from the ends of paragraphs and items, before inline content is parsed.

    The token of the text has the id, with its sign, in ``meta``; of equal ids, the first one.
    """
    taken: set[str] = set()
    for at, token in enumerate(state.tokens):
        if token.type != "inline" or state.tokens[at - 1].type != "paragraph_open":
            continue
        written = _ID.search(token.content)
        if written is None:
            continue
        token.content = token.content[: written.start()].rstrip()
        if written[1] not in taken:
            taken.add(written[1])
            token.meta[META] = f"{_ID_SIGN}{written[1]}"


def block_fragment(heading: str) -> str | None:
    """Return the encoded fragment of a link to a block; None for a link to a heading.

    ``heading`` is what follows the first number sign of the link.
    """
    last = heading.rpartition("#")[2].strip()
    return quote(last, safe="") if last.startswith(_ID_SIGN) else None


_HEAD = re.compile(r"\[!([^\]\[\n]{1,60})\]([+-]?)(?:[ \t]+([^\n]*))?(?:\n|\Z)")
# Other names of kinds, as Obsidian has them.
_KINDS = {
    **{kind: kind for kind in CALLOUTS},
    "attention": "warning",
    "caution": "warning",
    "check": "success",
    "cite": "quote",
    "done": "success",
    "error": "danger",
    "fail": "failure",
    "faq": "question",
    "help": "question",
    "hint": "tip",
    "important": "tip",
    "missing": "failure",
    "summary": "abstract",
    "tldr": "abstract",
}
_DEFAULT = "note"


def find_callouts(state: StateCore) -> None:
    """Turn quotes with the head of a callout into callouts, before inline content is parsed.

    The tokens of a callout have its kind in ``info``. The opening one has in ``meta`` whether it
    can be folded, and whether it is open then. Its title is between tokens of its own.
    """
    tokens = state.tokens
    if not any(token.type == "blockquote_open" for token in tokens):
        return
    written: list[Token] = []
    # For each open quote, the token of its callout.
    quotes: list[Token | None] = []
    at = 0
    while at < len(tokens):
        token = tokens[at]
        at += 1
        if token.type == "blockquote_open":
            head = _head(tokens, at)
            quotes.append(token if head else None)
            written.append(token)
            if head:
                at += _open(token, head, tokens[at : at + 3], written)
            continue
        if token.type == "blockquote_close" and (callout := quotes.pop()) is not None:
            token.type = "callout_close"
            token.meta = callout.meta
        written.append(token)
    state.tokens = written


def _head(tokens: list[Token], at: int) -> re.Match[str] | None:
    if tokens[at].type != "paragraph_open":
        return None
    return _HEAD.match(tokens[at + 1].content)


def _open(token: Token, head: re.Match[str], paragraph: list[Token], written: list[Token]) -> int:
    """Add the title and the rest of the first paragraph; return how many tokens are done."""
    name = head[1].partition("|")[0].strip()
    token.type = "callout_open"
    token.info = _KINDS.get(name.lower(), _DEFAULT)
    token.meta = {"folds": bool(head[2]), "open": head[2] == "+"}
    # The class is not imported: see `TYPE_CHECKING` above.
    new = type(token)
    title = new("inline", "", 0, children=[], block=True)
    title.content = (head[3] or "").strip() or f"{name[:1].upper()}{name[1:]}"
    opening = new("callout_title_open", "", 1, meta=token.meta, block=True)
    closing = new("callout_title_close", "", -1, meta=token.meta, block=True)
    written += (opening, title, closing)
    rest = paragraph[1].content[head.end() :]
    if rest.strip():
        paragraph[1].content = rest
        written += paragraph
    return len(paragraph)
