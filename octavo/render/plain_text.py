"""The plain text of inline content: what a reader sees, without markup."""

from collections.abc import Iterable

from markdown_it.token import Token

from octavo.render.obsidian import sized

_TEXTS = frozenset(
    {"code_inline", "embed", "formula", "formula_display", "text", "text_special", "wiki_link"}
)


def plain_text(inlines: Iterable[Token]) -> str:
    """Return the text of inline tokens on one line, without HTML and numbers of footnotes."""
    return " ".join("".join(map(_text, inlines)).split())


def _text(token: Token) -> str:
    if token.type in _TEXTS:
        return token.content
    if token.type in ("softbreak", "hardbreak"):
        return " "
    if token.type == "image":
        return sized(plain_text(token.children or ())).text
    return ""


def first_words(text: str, longest: int) -> str:
    """Return the beginning of ``text``, cut after a word to at most ``longest`` characters."""
    if len(text) <= longest:
        return text
    beginning = text[: longest - 1]
    if not text[longest - 1].isspace():
        # A text without spaces is cut anywhere.
        beginning = beginning.rpartition(" ")[0] or beginning
    return f"{beginning.rstrip(' ,;:.-')}…"
