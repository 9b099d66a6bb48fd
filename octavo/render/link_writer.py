"""Write the links and images of a note, and number the files that they refer to."""

import re
from collections.abc import Mapping
from typing import NamedTuple
from urllib.parse import quote, unquote

from markdown_it.common.normalize_url import normalizeLink

from octavo.model.links.headings import anchor_of
from octavo.render.allowed import SCHEMES
from octavo.render.html_writer import HtmlWriter, escaped, escaped_value
from octavo.render.obsidian import SizedText, block_fragment
from octavo.render.references import FileReference, ReferenceKind

_EXTERNAL = re.compile(r"([A-Za-z][A-Za-z0-9+.\-]*+):|//|\\\\")
_END_OF_PATH = re.compile(r"[?#]")
# What browsers remove from an address before they look for its scheme.
_REMOVED = re.compile(r"[\x00-\x20\x7f]")


class ExternalAddress(NamedTuple):
    """The address of another site, encoded."""

    href: str


class LocalAddress(NamedTuple):
    """A file of the workspace, and a place in it; both decoded, and either may be empty."""

    target: str
    heading: str


def read_address(written: str) -> ExternalAddress | LocalAddress | None:
    """Return the address of a link as a person wrote it; None if links may not lead there.

    A query in the address of a file is dropped, as `octavo.model.links.extraction` does.
    """
    cut = _END_OF_PATH.search(written)
    path, rest = (written, "") if cut is None else (written[: cut.start()], written[cut.start() :])
    # Local addresses may have spaces, but what hides a scheme is none.
    external = _EXTERNAL.match(path) or _EXTERNAL.match(_REMOVED.sub("", path))
    if external is None:
        return LocalAddress(unquote(path), unquote(rest.partition("#")[2]))
    if external[1] and external[1].lower() in SCHEMES and path.startswith(external[0]):
        return ExternalAddress(normalizeLink(written))
    return None


_IMAGES = (".avif", ".gif", ".jpeg", ".jpg", ".png", ".svg", ".webp")


class LinkWriter:
    """Writes links, which lead to files by the numbers of references."""

    def __init__(self, writer: HtmlWriter, anchors: Mapping[str, str]) -> None:
        """Args: what is written to, and the anchors of the note with those of its page."""
        self._writer = writer
        self._anchors = anchors
        self._references: dict[FileReference, int] = {}

    @property
    def references(self) -> tuple[FileReference, ...]:
        """Return the files that the note refers to, each once, in the order of their numbers."""
        return tuple(self._references)

    def link_attributes(self, written: str, title: str) -> str | None:
        """Return the attributes of a link to an address; None if links may not lead there."""
        address = read_address(written)
        if address is None:
            return None
        if isinstance(address, LocalAddress):
            href = self._href("standard", False, address.target, address.heading)
        else:
            href = address.href
        if href is None:
            return None
        titled = f' title="{escaped_value(title)}"' if title else ""
        return f' href="{escaped_value(href)}"{titled}'

    def _href(self, kind: ReferenceKind, embed: bool, target: str, heading: str) -> str | None:
        if target:
            return f"octavo:{self._number(FileReference(kind, embed, target, heading))}"
        if kind == "wiki":
            block = block_fragment(heading)
            if block is not None:
                return f"#{block}"
            anchor = self._anchors.get(anchor_of(heading.rpartition("#")[2]))
            return None if anchor is None else f"#{quote(anchor)}"
        return f"#{quote(self._anchors.get(heading, heading), safe=':/?@!$&()*+,;=~-._')}"

    def _number(self, reference: FileReference) -> int:
        return self._references.setdefault(reference, len(self._references))

    def file_link(
        self, kind: ReferenceKind, embed: bool, target: str, heading: str, label: str
    ) -> None:
        """Write a link to a file, or its label within another link or without a target."""
        href = None
        if not self._writer.is_within("a"):
            href = self._href(kind, embed, target, heading)
        if href is None:
            self._writer.text(label)
            return
        shown = ' class="embed"' if embed else ""
        self._writer.void(f'<a href="{escaped_value(href)}"{shown}>{escaped(label)}</a>')

    def write_image(self, written: str, shown: SizedText, title: str) -> None:
        """Write an image: of the workspace as such, of another site as a link to it."""
        address = read_address(written)
        if isinstance(address, LocalAddress) and address.target:
            if is_image(address.target) or "." not in name_of(address.target):
                self.local_image("standard", address.target, address.heading, shown, title)
            else:
                label = shown.text or name_of(address.target)
                self.file_link("standard", True, address.target, address.heading, label)
            return
        if address is None or isinstance(address, LocalAddress) or self._writer.is_within("a"):
            self._writer.text(shown.text)
            return
        label = shown.text or name_of(address.href)
        self._writer.void(f'<a href="{escaped_value(address.href)}">{escaped(label)}</a>')

    def local_image(
        self, kind: ReferenceKind, target: str, heading: str, shown: SizedText, title: str
    ) -> None:
        """Write an image of the workspace."""
        number = self._number(FileReference(kind, True, target, heading))
        parts = [f'<img src="octavo:{number}" alt="{escaped_value(shown.text)}"']
        if title:
            parts.append(f' title="{escaped_value(title)}"')
        if shown.width:
            parts.append(f' width="{shown.width}"')
        if shown.height:
            parts.append(f' height="{shown.height}"')
        self._writer.void("".join((*parts, ">")))


def is_image(target: str) -> bool:
    """Return whether a file is an image by its name."""
    return target.lower().endswith(_IMAGES)


def name_of(path: str) -> str:
    """Return the last segment of a path or an address."""
    return path.rstrip("/").rpartition("/")[2]
