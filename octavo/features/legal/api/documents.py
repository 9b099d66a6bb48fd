"""The tag ``legal``: the terms and the privacy notice of the installation, as pages."""

from collections.abc import Awaitable, Callable, Mapping
from typing import NamedTuple

from octavo.features.legal.rules import DocumentName
from octavo.http.conditional import IfNoneMatch
from octavo.http.contract.call import Call
from octavo.http.contract.contract_model import ContractModel
from octavo.http.contract.operation import Security, operation
from octavo.http.contract.problems import Header, NotFound
from octavo.http.contract.reply import HtmlPage, NotModified
from octavo.model.etag import entity_tag

# The browser checks again at each visit, and shared caches keep nothing (RFC 9111 section 5.2.2).
_CACHE_CONTROL: Header = (b"cache-control", b"private, no-cache")


class LegalDocumentPage(NamedTuple):
    """The page of a document: its HTML, and the opaque part of its entity tag."""

    html: bytes
    etag: str


LegalPages = Callable[[], Awaitable[Mapping[DocumentName, LegalDocumentPage]]]
"""Returns the page of each document that this installation shows itself."""


class LegalDocumentPath(ContractModel):
    """One of the documents."""

    document: DocumentName


class LegalOperations:
    """The legal documents.

    Args:
        pages: the pages of the documents.
    """

    def __init__(self, pages: LegalPages) -> None:
        self._pages = pages

    @operation(
        id="getLegalDocument",
        method="GET",
        path="/legal/{document}",
        tag="legal",
        summary="Read the terms or the privacy notice",
        description="A document that the operator names by an address, or not at all, is missing "
        "here.",
        security=Security.NONE,
        problems=(NotFound,),
        headers={
            "cache-control": "The browser checks for a new version at each visit.",
            "etag": "The version of the page.",
        },
    )
    async def get_legal_document(
        self, call: Call, path: LegalDocumentPath, headers: IfNoneMatch
    ) -> HtmlPage | NotModified:
        """Return the page of a document."""
        page = (await self._pages()).get(path.document)
        if page is None:
            raise NotFound("This installation shows no such document.")
        validators = (_CACHE_CONTROL, (b"etag", entity_tag(page.etag)))
        if headers.names(page.etag):
            return NotModified(validators)
        return HtmlPage(page.html, validators)
