"""Write the HTML of a person into that of a note: what is allowed, with checked attributes."""

import re
from collections.abc import Iterator, Mapping
from html import unescape
from typing import NamedTuple

from octavo.render.allowed import ALIGNMENTS, FOREIGN, LANGUAGE, LEFT_OUT, MATH, TAGS, WRITTEN
from octavo.render.html_writer import HtmlWriter, escaped_value
from octavo.render.link_writer import LinkWriter
from octavo.render.obsidian import SizedText

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
    while (tag := _TAG.search(source, at)) is not None:
        if tag.start() > at:
            yield unescape(source[at : tag.start()])
        at = tag.end()
        if tag["name"] is None or not tag["closed"]:
            continue
        name, rest = tag["name"].lower(), tag["rest"]
        yield Tag(name, bool(tag["end"]), _attributes_in(rest), rest.endswith("/"))
        if name in _TEXT_ONLY and not tag["end"]:
            end = re.compile(f"</{name}", re.IGNORECASE).search(source, at)
            at = len(source) if end is None else end.start()
    if at < len(source):
        yield unescape(source[at:])


def _attributes_in(source: str) -> dict[str, str]:
    attributes: dict[str, str] = {}
    for attribute in _ATTRIBUTE.finditer(source):
        value = attribute[2] or attribute[3] or attribute[4] or ""
        if "&" in value:
            value = _REFERENCE.sub(lambda reference: unescape(reference[0]), value)
        attributes.setdefault(attribute[1].lower(), value)
    return attributes


_VOID = {"br": "<br>", "hr": "<hr>", "wbr": "<wbr>"}
# Formulas and sections are only written by the renderer.
_NAMES = TAGS - MATH - {"section"}
# The page has the only heading of the first level.
_RENAMED = {"h1": "h2"}
_ADDRESSES = frozenset({"href", "src"})
_LOWERED = frozenset({"align", "dir"})
_NUMBER = re.compile("[0-9]{1,5}")
_VALUES = {
    "dir": re.compile("ltr|rtl|auto"),
    "lang": re.compile("[A-Za-z]{1,8}(?:-[A-Za-z0-9]{1,8}){0,8}"),
    "scope": re.compile("col|row|colgroup|rowgroup"),
    **dict.fromkeys(("colspan", "rowspan", "start", "value"), _NUMBER),
}


def write_html(source: str, writer: HtmlWriter, links: LinkWriter) -> None:
    """Write a piece of HTML that a person wrote, which may have any tags, also unbalanced."""
    after_pre = False
    for piece in read_html(source):
        if isinstance(piece, str):
            # A parser drops the first line feed in it.
            writer.text(piece.lstrip("\n") if after_pre else piece)
            after_pre = False
            continue
        name = _RENAMED.get(piece.name, piece.name)
        after_pre = name == "pre" and not piece.is_end
        if name in LEFT_OUT:
            if piece.is_end:
                writer.close_written(name)
            elif not (piece.is_empty and name in FOREIGN):
                writer.leave_out(name)
        elif name not in _NAMES or (piece.name in _VOID and piece.is_end):
            continue
        elif piece.is_end:
            writer.close_written(name)
        else:
            _start(piece, name, writer, links)


def _start(tag: Tag, name: str, writer: HtmlWriter, links: LinkWriter) -> None:
    attributes = tag.attributes
    if name in _VOID:
        writer.void(_VOID[name], name)
    elif name == "img":
        width, height = (_pixels(attributes.get(name, "")) for name in ("width", "height"))
        shown = SizedText(attributes.get("alt", "").strip(), width, height)
        links.write_image(attributes.get("src", ""), shown, attributes.get("title", ""))
    elif name == "input":
        if attributes.get("type", "").lower() == "checkbox":
            checked = ' checked=""' if "checked" in attributes else ""
            writer.void(f'<input type="checkbox" disabled=""{checked}>')
    else:
        link = None
        if name == "a" and "href" in attributes:
            link = links.link_attributes(attributes["href"], "")
        if name != "a" or link is not None:
            writer.open_written(name, (link or "") + _attributes(name, attributes))


def _pixels(text: str) -> int:
    return int(text) if _NUMBER.fullmatch(text) else 0


def _attributes(name: str, written: Mapping[str, str]) -> str:
    allowed = (WRITTEN.get(name, set()) | LANGUAGE) - _ADDRESSES
    parts: list[str] = []
    for attribute in written.keys() & allowed:
        value = written[attribute]
        if attribute in _LOWERED:
            value = value.lower()
        checked = _VALUES.get(attribute)
        if attribute == "open":
            parts.append(' open=""')
        elif attribute == "align":
            if value in ALIGNMENTS:
                parts.append(f' class="{ALIGNMENTS[value]}"')
        elif checked is None or checked.fullmatch(value):
            parts.append(f' {attribute}="{escaped_value(value)}"')
    return "".join(sorted(parts))
