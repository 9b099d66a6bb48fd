"""Read the tags of HTML that a person wrote in Markdown, as browsers do (HTML, section 13.2.5).

What is read is written again by `octavo.render.html_writer`, so a difference from a browser changes
how a page looks, and not what is allowed.
"""

import re
from collections.abc import Iterator, Mapping
from html import unescape
from typing import NamedTuple

# Comments, then what browsers treat as comments, then tags. A tag that is not closed is dropped
# with the rest, as at the end of a document.
_TAG = re.compile(
    r"<(?:!--(?:-?>|.*?(?:--!?>|\Z))"
    r"|(?:[!?]|/(?![A-Za-z]))[^>]*+(?:>|\Z)"
    r"|(?P<end>/?)(?P<name>[A-Za-z][^\s/>]*+)"
    r"(?P<rest>(?:[^>=]++|=\s*+(?:\"[^\"]*+\"|'[^']*+')|=)*+)(?P<closed>>|\Z))",
    re.DOTALL,
)
_ATTRIBUTE = re.compile(
    r"([^\s/>=][^\s/>=]*+)(?:\s*+=\s*+(?:\"([^\"]*+)\"|'([^']*+)'|([^\s>]++)))?"
)
# In attributes, a reference without a semicolon is text: it is often a part of an address.
_REFERENCE = re.compile(r"&(?:#[0-9]{1,7}|#[xX][0-9a-fA-F]{1,6}|[A-Za-z][A-Za-z0-9]{1,31});")
_TEXT_ONLY = frozenset({"script", "style"})


class Tag(NamedTuple):
    """A tag of HTML.

    Attributes:
        name: in lower case.
        is_end: whether it is an end tag.
        attributes: decoded, by their names in lower case.
        is_empty: whether it ends with a slash, which counts in drawings and formulas.
    """

    name: str
    is_end: bool
    attributes: Mapping[str, str]
    is_empty: bool = False


def read_html(source: str) -> Iterator[Tag | str]:
    """Yield the tags of ``source`` and the decoded text between them, without comments.

    The content of a script or a style is left out. Takes linear time.
    """
    at = 0
    while (found := _TAG.search(source, at)) is not None:
        if found.start() > at:
            yield unescape(source[at : found.start()])
        at = found.end()
        if found["name"] is None or not found["closed"]:
            continue
        name, rest = found["name"].lower(), found["rest"]
        yield Tag(name, bool(found["end"]), _attributes(rest), rest.endswith("/"))
        if name in _TEXT_ONLY and not found["end"]:
            end = re.compile(f"</{name}", re.IGNORECASE).search(source, at)
            at = len(source) if end is None else end.start()
    if at < len(source):
        yield unescape(source[at:])


def _attributes(source: str) -> dict[str, str]:
    found: dict[str, str] = {}
    for attribute in _ATTRIBUTE.finditer(source):
        value = attribute[2] or attribute[3] or attribute[4] or ""
        if "&" in value:
            value = _REFERENCE.sub(lambda reference: unescape(reference[0]), value)
        found.setdefault(attribute[1].lower(), value)
    return found
