"""Callouts, which are quotes that begin with ``[!kind] Title``, as tokens of their own."""

import re

from markdown_it.rules_core import StateCore
from markdown_it.token import Token

from octavo.render.allowed import CALLOUTS

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
    title = Token("inline", "", 0, children=[], block=True)
    title.content = (head[3] or "").strip() or f"{name[:1].upper()}{name[1:]}"
    opening = Token("callout_title_open", "", 1, meta=token.meta, block=True)
    closing = Token("callout_title_close", "", -1, meta=token.meta, block=True)
    written += (opening, title, closing)
    rest = paragraph[1].content[head.end() :]
    if rest.strip():
        paragraph[1].content = rest
        written += paragraph
    return len(paragraph)
