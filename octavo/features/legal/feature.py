"""The legal documents that the operator names in the settings, read at the start."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import partial
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING

import trio

from octavo.features.legal.api import LegalOperations, LegalTextPage
from octavo.features.legal.rules import (
    LONGEST_VERSION,
    DocumentName,
    LegalText,
    LegalTextError,
    LegalTexts,
)
from octavo.features.legal.settings import LegalSettings
from octavo.http.lazy import LazyValue
from octavo.kernel import Feature, Kernel, Parts
from octavo.model.label import parse_label
from octavo.model.refusal import UnrenderableNote
from octavo.settings.addresses import is_web_address

if TYPE_CHECKING:
    from octavo.http.pages.page_registry import PageRegistry

LARGEST = 256 * 1024
"""The largest file of a document, in bytes."""
_DIGITS = 12
"""Digits of the digest that is the version of a file without one of its own."""


@dataclass(frozen=True, slots=True)
class Legal:
    """The documents in force, and the HTML of those that this installation shows itself."""

    documents: LegalTexts = field(default_factory=LegalTexts)
    html: Mapping[DocumentName, str] = field(default_factory=dict)


async def read_legal(settings: LegalSettings) -> Legal:
    """Return the legal documents that ``settings`` name. Raises `LegalTextError`."""
    named: dict[DocumentName, tuple[str, str]] = {
        "terms": (settings.terms, settings.terms_version),
        "privacy": (settings.privacy_notice, settings.privacy_version),
    }
    documents: dict[DocumentName, LegalText] = {}
    html: dict[DocumentName, str] = {}
    for name, (source, version) in named.items():
        if is_web_address(source):
            documents[name] = LegalText(_version(version, source), source)
        elif source:
            read, html[name] = await trio.to_thread.run_sync(_read, Path(source))
            documents[name] = LegalText(read, f"{settings.public_url}/legal/{name}")
    return Legal(LegalTexts(documents.get("terms"), documents.get("privacy")), html)


def _read(path: Path) -> tuple[str, str]:
    """Return the version and the HTML of a document."""
    # Only installations with a document load the renderer.
    from octavo.render.front_matter import split_front_matter
    from octavo.render.note import to_html

    try:
        with path.open("rb") as file:
            content = file.read(LARGEST + 1)
    except OSError as error:
        raise LegalTextError(
            f"the document {path} can't be read ({error.strerror}): give the path of a file that "
            "the user of the server may read"
        ) from error
    if len(content) > LARGEST:
        raise LegalTextError(
            f"the document {path} is larger than {LARGEST} bytes: shorten it, or publish it "
            "elsewhere and give its address"
        )
    try:
        text = content.decode("utf-8")
        html = to_html(text)
    except UnicodeDecodeError as error:
        raise LegalTextError(
            f"the document {path} is not UTF-8 (byte {error.start}): save it in this encoding"
        ) from error
    except UnrenderableNote as error:
        raise LegalTextError(f"the document {path} can't be shown: {error.detail}") from error
    version = split_front_matter(text).entries.get("version")
    if version is None:
        return sha256(content).hexdigest()[:_DIGITS], html
    return _version(version, str(path)), html


def _version(version: str, source: str) -> str:
    try:
        return parse_label(version, LONGEST_VERSION)
    except ValueError as error:
        raise LegalTextError(f"the version of {source} can't be used: {error}") from None


FEATURE = Feature(
    "legal",
    operations=[LegalOperations],
)


def legal_feature(kernel: Kernel, legal: Legal) -> Parts:
    """Return the feature, which shows the documents and asks people to accept them."""
    public_url = kernel.settings.public_url
    shown = LazyValue(partial(_pages_of, legal, public_url))
    return Parts(operations=[LegalOperations(shown.get)], pages=_add_pages)


def _pages_of(legal: Legal, public_url: str) -> Mapping[DocumentName, LegalTextPage]:
    if not legal.html:
        return {}
    from octavo.features.legal.pages import legal_pages

    return legal_pages(legal.html, legal.documents, public_url)


def _add_pages(site: "PageRegistry") -> None:
    from octavo.features.legal.pages import add_consent_page

    add_consent_page(site)
