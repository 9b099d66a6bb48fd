"""The files that a rendered note refers to, and their addresses in its HTML.

A rendered note does not depend on other files: its links to them have addresses of the scheme
``octavo`` with the number of a reference. They are replaced each time the note is shown.
"""

import re
from collections.abc import Callable
from typing import Literal, NamedTuple

from octavo.render.html_writer import escaped_value

ReferenceKind = Literal["standard", "wiki"]


class FileReference(NamedTuple):
    """A file that a note refers to, as in `octavo.model.links.extraction.Link`.

    Attributes:
        kind: the syntax of the link.
        embed: whether it shows its target.
        target: the decoded path or name.
        heading: the decoded fragment; empty if there is none.
    """

    kind: ReferenceKind
    embed: bool
    target: str
    heading: str


class LinkAddress(NamedTuple):
    """The address that a link leads to; ``missing`` if there is no such file yet."""

    href: str
    missing: bool = False


class ImageAddress(NamedTuple):
    """The address of an image, with its width and height in pixels; 0 if they are unknown."""

    src: str
    width: int
    height: int


AddressOf = Callable[[int], LinkAddress | ImageAddress | None]
"""Returns the address for the number of a reference; None if there is none."""

# In the HTML that nh3 writes, values of attributes have neither quotes nor angle brackets.
_TAG = re.compile(
    r'<a(?P<before>(?: (?!href=)[^ =>]+="[^"]*")*) href="octavo:(?P<link>[^"]*)"(?P<after>[^>]*)>'
    r"|<img(?P<image>[^>]*)>|(?P<end></a>)"
)
_ATTRIBUTE = re.compile(r' ([^ =>]+)="([^"]*)"')
_NUMBER = re.compile("[0-9]{1,7}")


def place_references(html: str, address_of: AddressOf) -> str:
    """Return the HTML of a rendered note with the addresses of what it refers to.

    A link without an address becomes its content, an image without one becomes its text. An address
    of the wrong kind counts as none.

    Args:
        html: of `octavo.render.rendered_note.RenderedNote`.
        address_of: called with the number of each reference, once for each place; numbers that
            are out of range can occur.
    """
    if "octavo:" not in html and "<img" not in html:
        return html
    return _TAG.sub(_Placing(address_of).replacement, html)


class _Placing:
    """Replaces tags in the order of the HTML."""

    def __init__(self, address_of: AddressOf) -> None:
        self._address_of = address_of
        # Whether the open link was left out; links are not nested.
        self._is_left_out = False

    def replacement(self, written: re.Match[str]) -> str:
        if written["end"]:
            tag = "" if self._is_left_out else written[0]
            self._is_left_out = False
            return tag
        if written["image"] is not None:
            return self._image(written["image"])
        address = self._address(written["link"])
        if not isinstance(address, LinkAddress):
            self._is_left_out = True
            return ""
        missing = ' class="missing"' if address.missing else ""
        href = escaped_value(address.href)
        return f'<a{written["before"]} href="{href}"{written["after"]}{missing}>'

    def _address(self, number: str) -> LinkAddress | ImageAddress | None:
        return self._address_of(int(number)) if _NUMBER.fullmatch(number) else None

    def _image(self, tag: str) -> str:
        attributes = dict(_ATTRIBUTE.findall(tag))
        alt = attributes.get("alt", "")
        scheme, _, number = attributes.get("src", "").partition(":")
        address = self._address(number) if scheme == "octavo" else None
        if not isinstance(address, ImageAddress):
            # In text, a quotation mark is not escaped.
            text = alt.replace("&quot;", '"')
            return f'<span class="missing">{text}</span>' if text else ""
        parts = [f'<img src="{escaped_value(address.src)}" alt="{alt}"']
        if attributes.get("title"):
            parts.append(f' title="{attributes["title"]}"')
        width, height = _size(attributes, address)
        if width:
            parts.append(f' width="{width}"')
        if height:
            parts.append(f' height="{height}"')
        return "".join((*parts, ' loading="lazy">'))


def _size(attributes: dict[str, str], address: ImageAddress) -> tuple[int, int]:
    """Return the width and height; given ones win, and the other one is scaled."""
    width, height = (_pixels(attributes.get(name, "")) for name in ("width", "height"))
    if width and not height and address.width:
        height = max(1, round(address.height * width / address.width)) if address.height else 0
    elif height and not width and address.height:
        width = max(1, round(address.width * height / address.height)) if address.width else 0
    elif not width and not height:
        return address.width, address.height
    return width, height


def _pixels(text: str) -> int:
    return int(text) if _NUMBER.fullmatch(text) else 0
