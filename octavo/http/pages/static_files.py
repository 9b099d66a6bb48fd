"""The files that every page loads."""

import hashlib
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NamedTuple
from urllib.parse import urlsplit

from octavo.templates import ICON, STYLE_SHEET


class StaticFile(NamedTuple):
    """A file that pages load, under a path that depends on its content."""

    path: str
    content: bytes
    media_type: str


def static_file(file: Path, media_type: str) -> StaticFile:
    """Read ``file`` and return it with its path."""
    return _named(file, file.read_bytes(), media_type)


def style_sheet() -> StaticFile:
    """Return the style sheet, without what is for its readers."""
    content = shortened(STYLE_SHEET.read_text()).encode()
    return _named(STYLE_SHEET, content, "text/css; charset=utf-8")


def shortened(style: str) -> str:
    """Return a style sheet without comments, line feeds and indentation."""
    text = re.sub(r"/\*.*?\*/", "", style, flags=re.DOTALL)
    text = re.sub(r"\s+", " ", text)
    text = re.sub(r" ?([{};]) ?|(,) ", r"\1\2", text).strip()
    return re.sub(r"([{;][a-z-]+): ", r"\1:", text)


def _named(file: Path, content: bytes, media_type: str) -> StaticFile:
    digest = hashlib.sha256(content).hexdigest()[:16]
    return StaticFile(f"/static/{file.stem}-{digest}{file.suffix}", content, media_type)


class PageFiles(NamedTuple):
    """The files of every page, and the global variables of the templates."""

    style: StaticFile
    icon: StaticFile
    variables: Mapping[str, object]


def page_files(public_url: str, legal_links: Sequence[tuple[str, str]]) -> PageFiles:
    """Return the files of the pages of the installation at ``public_url``.

    Each page has the links ``legal_links``: addresses and names.
    """
    style = style_sheet()
    icon = static_file(ICON, "image/svg+xml")
    variables = {
        "legal_links": legal_links,
        "style_sheet": style.path,
        "icon": icon.path,
        "public_url": public_url,
        "site": urlsplit(public_url).netloc,
    }
    return PageFiles(style, icon, variables)
