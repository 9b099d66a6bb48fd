"""Wiki links and embeds as inline syntax; `octavo.model.links.extraction` finds the same ones."""

import re
from typing import NamedTuple

from markdown_it.rules_inline import StateInline

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
    found = _WIKI.match(state.src, begin, state.posMax)
    if found is None:
        return False
    link = read_wiki_link(found[1])
    if not link.target and not link.heading:
        return False
    if not silent:
        token = state.push(kind, "", 0)
        token.content = link.shown if kind == "wiki_link" else sized(link.label).text
        token.meta = {"link": link}
    state.pos = found.end()
    return True


def read_wiki_link(inside: str) -> WikiLink:
    """Return the wiki link with ``inside`` between its brackets."""
    given, _, label = inside.partition("|")
    # In a table, the bar is escaped.
    path, _, heading = given.removesuffix("\\").partition("#")
    return WikiLink(path.strip(), heading.strip(), label.strip())


def sized(text: str) -> SizedText:
    """Split a width, or a width and a height, from the text of an image: ``A cup|300``."""
    before, _, last = text.rpartition("|")
    size = _SIZE.fullmatch(last.strip())
    if size is None:
        return SizedText(text.strip(), 0, 0)
    return SizedText(before.removesuffix("\\").strip(), int(size[1]), int(size[2] or 0))
