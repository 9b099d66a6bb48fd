"""The tag ``legal``: the terms and the privacy notice of the installation, as pages."""

from collections.abc import Awaitable, Callable, Mapping
from typing import NamedTuple

from octavo_rules.problems import Header, NotFound

from octavo.features.legal.rules import DocumentName, LegalTexts
from octavo.http import contract
from octavo.http.account_schemas import AccountConsent, ConsentRecorded, RequiredDocuments
from octavo.http.blob_stream import IfNoneMatch
from octavo.model.access.account import Consent, Versions
from octavo.model.etag import entity_tag


class ConsentInput(contract.Model):
    """The versions that the person accepts: exactly those in force."""

    terms_version: str | None
    """The version of the terms; null if the installation has none."""
    privacy_version: str | None
    """The version of the privacy notice; null if the installation has none."""


def versions_of(consent: ConsentInput) -> Versions:
    """Return the versions of a request."""
    return Versions(consent.terms_version, consent.privacy_version)


def consent_recorded(consent: Consent) -> ConsentRecorded:
    """Return a consent in its API form."""
    return ConsentRecorded(
        terms_version=consent.versions.terms,
        privacy_version=consent.versions.privacy,
        accepted_at=contract.timestamp(consent.accepted_at),
    )


def required_documents(legal: LegalTexts) -> RequiredDocuments:
    """Return the documents in force in their API form."""
    terms, privacy = legal.terms, legal.privacy
    return RequiredDocuments(
        terms_version=None if terms is None else terms.version,
        privacy_version=None if privacy is None else privacy.version,
        terms_address=None if terms is None else terms.address,
        privacy_address=None if privacy is None else privacy.address,
    )


def account_consent(consent: Consent | None, legal: LegalTexts) -> AccountConsent:
    """Return the consent of an account, where the documents ``legal`` are in force."""
    return AccountConsent(
        accepted=None if consent is None else consent_recorded(consent),
        required=required_documents(legal) if legal.due_from(consent) else None,
    )


# The browser checks again at each visit, and shared caches keep nothing (RFC 9111 section 5.2.2).
_CACHE_CONTROL: Header = (b"cache-control", b"private, no-cache")


class LegalTextPage(NamedTuple):
    """The page of a document: its HTML, and the opaque part of its entity tag."""

    html: bytes
    etag: str


LegalPages = Callable[[], Awaitable[Mapping[DocumentName, LegalTextPage]]]
"""Returns the page of each document that this installation shows itself."""


class LegalTextPath(contract.Model):
    """One of the documents."""

    document: DocumentName


class LegalOperations:
    """The legal documents.

    Args:
        pages: the pages of the documents.
    """

    def __init__(self, pages: LegalPages) -> None:
        self._pages = pages

    @contract.operation(
        id="getLegalDocument",
        method="GET",
        path="/legal/{document}",
        tag="legal",
        summary="Read the terms or the privacy notice",
        description="A document that the operator names by an address, or not at all, is missing "
        "here.",
        security=contract.Security.NONE,
        problems=(NotFound,),
        headers={
            "cache-control": "The browser checks for a new version at each visit.",
            "etag": "The version of the page.",
        },
    )
    async def get_legal_document(
        self, call: contract.Call, path: LegalTextPath, headers: IfNoneMatch
    ) -> contract.HtmlPage | contract.NotModified:
        """Return the page of a document."""
        page = (await self._pages()).get(path.document)
        if page is None:
            raise NotFound("This installation shows no such document.")
        validators = (_CACHE_CONTROL, (b"etag", entity_tag(page.etag)))
        if headers.names(page.etag):
            return contract.NotModified(validators)
        return contract.HtmlPage(page.html, validators)
