"""Write wiki links as standard links, for the notes of other programs.

Standard links and images whose file moves are rewritten on the way.
"""

import re

from octavo.model.files.path import NOTE_SUFFIX, path_key
from octavo.model.links.destination import encoded_path, relative_path
from octavo.model.links.extraction import Link, links_of
from octavo.model.links.headings import anchor_of
from octavo.model.links.link_rewrite import Moved, rewritten
from octavo.model.links.resolution import Find, resolve

# A label of a wiki link has no inline content: escape what would start some in a standard link.
# A bar is escaped in tables, an underscore within a word starts nothing, and a caret is that of a
# footnote at the beginning.
_SPECIAL = re.compile(r"\A\^|\\(?!\|)|[`<*~]|(?<![^\W_])_|_(?![^\W_])|&(?=#?[A-Za-z0-9]{1,31};)")
_SIZE = re.compile(r"[0-9]{1,5}(?:x[0-9]{1,5})?")
_BLOCK = "^"
# The beginning of a destination, which only the space in a wiki link makes invalid.
_DESTINATION_BEFORE = re.compile(r"\]\([ \t\r\n>]*+[^\s)]*\Z|[^\]]\]:[ \t\r\n>]*+\S*\Z")
_LOOK_BEHIND = 256


def standard_links(
    text: str,
    *,
    at: str,
    now_at: str | None = None,
    start: int = 0,
    moved: Moved,
    before: Find,
    after: Find,
) -> str:
    """Return ``text`` with wiki links to files as standard links to the same files.

    ``[[note#heading|label]]`` becomes ``[label](note.md#heading)``, with a path relative to the
    note, and ``![[image.png|300]]`` becomes ``![image.png|300](image.png)``. An embedded note
    becomes a link. Wiki links that don't resolve are unchanged, and so are those that would change
    what is around them: in the text of a standard link, which can't contain another one, or after
    the beginning of a destination. Of standard links, those are rewritten that would lead to
    another file. Nothing else in the text changes.

    Args:
        text: the text of the note.
        at: its path.
        now_at: its path afterwards; None if it stays.
        start: the position in the text before which nothing is changed.
        moved: returns the path afterwards of the file that had a path.
        before: looks up keys of links in the tree that they were written for.
        after: looks up keys in the tree afterwards.
    """
    now_at = at if now_at is None else now_at
    parts: list[str] = []
    done = 0
    for link in links_of(text):
        if link.start < start:
            continue
        led_to = resolve(link.kind, link.target, at, before)
        if led_to is None:
            continue
        path = moved(led_to)
        if link.kind == "wiki":
            written = _standard(text, link, path, now_at, after)
        elif link.target and resolve("standard", link.target, now_at, after) != path:
            written = rewritten(text, link, path, at, now_at, before, after)
        else:
            written = None
        if written is not None:
            begin, end, replacement = written
            parts += [text[done:begin], replacement]
            done = end
    return "".join((*parts, text[done:])) if parts else text


def _standard(
    text: str, link: Link, path: str, at: str, after: Find
) -> tuple[int, int, str] | None:
    """Return a wiki link as a standard link to ``path``; None if no destination leads there."""
    destination = ""
    if link.target:
        # The key of both a relative path and one from the root.
        if after(f"/{path_key(path)}") != path:
            return None
        destination = encoded_path(relative_path(path, at))
    fragment = _fragment(link.heading)
    if not destination and not fragment:
        return None
    is_image = link.embed and not path.endswith(NOTE_SUFFIX)
    if _would_change(text, link, is_image):
        return None
    replacement = f"{'!' * is_image}[{_label(text, link, is_image)}]({destination}{fragment})"
    return (*link.whole, replacement)


def _would_change(text: str, link: Link, is_image: bool) -> bool:
    """Return whether a standard link instead of ``link`` would change what is around it."""
    begin = link.whole[0]
    before = text[max(0, begin - _LOOK_BEHIND) : begin]
    if not is_image and (link.in_link or before.endswith("!")):
        return True
    destination = _DESTINATION_BEFORE.search(before) if "](" in before or "]:" in before else None
    return destination is not None


def _fragment(heading: str) -> str:
    if not heading:
        return ""
    last = heading.rpartition("#")[2].strip()
    if last.startswith(_BLOCK):
        return f"#{encoded_path(last)}"
    anchor = anchor_of(last)
    return f"#{anchor}" if anchor else ""


def _label(text: str, link: Link, is_image: bool) -> str:
    """Return the label of a wiki link, or the name that is shown without one."""
    inside = text[slice(*link.whole)].lstrip("![").removesuffix("]]")
    target, bar, label = inside.partition("|")
    label = label.strip()
    if not label:
        return _shown(link)
    if is_image and _SIZE.fullmatch(label):
        # In a table, the bar is escaped.
        escape = "\\" if target.endswith("\\") else ""
        return f"{_shown(link)}{escape}{bar}{label}"
    return _escaped(label)


def _shown(link: Link) -> str:
    parts = (link.target, *(heading.strip() for heading in link.heading.split("#")))
    return _escaped(" > ".join(filter(None, parts)))


def _escaped(label: str) -> str:
    # Substitution is slow even where there is nothing to replace.
    return _SPECIAL.sub(r"\\\g<0>", label) if _SPECIAL.search(label) else label
