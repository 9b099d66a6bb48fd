"""What readers of published links request: pages, images, and the form to report a link.

No request is authenticated, and no cookie is read or set. Everything that a token does not open
gets the same response: the page with the password form, or the same 404 for an image.
"""

from collections.abc import Awaitable, Callable
from typing import Annotated

from attrs import define
from octavo_rules.identity import FileId, RevisionId
from octavo_rules.problems import Header, InvalidRequest, NotFound
from pydantic import ConfigDict, Field

from octavo.features.publishing.reading import ROUTE, PublishedReading
from octavo.features.publishing.reports import ROUTE as REPORTS
from octavo.features.publishing.reports import LinkReports
from octavo.features.publishing.rules import LONGEST_NOTE, Reason
from octavo.features.publishing.views import PublishedPages
from octavo.features.usage.api import MeteredChunks
from octavo.features.usage.meter import UsageMeter
from octavo.http import contract
from octavo.http.blob_stream import IfNoneMatch, content_disposition, open_blob, require_blob
from octavo.model.etag import entity_tag
from octavo.model.files.image import MEDIA_TYPES
from octavo.model.usage import Amount, DownloadLimitReached, WriteLimitReached
from octavo.store.blobs import BlobStore

_LONGEST_PASSWORD_FORM = 8_192
_LONGEST_REPORT = 32_768
TRANSFER_SECONDS = 180.0
"""Seconds in which an image has to be sent, renewed while it progresses."""
RENDER_SECONDS = 40.0
"""Seconds in which a page has to be made: its note may have to be rendered."""
_REVALIDATED: Header = (b"cache-control", b"private, no-cache")
_NOT_STORED: Header = (b"cache-control", b"private, no-store")
_NOT_INDEXED: Header = (b"x-robots-tag", b"noindex")
_HEADERS = {"cache-control": "Shared caches keep nothing."}


class PublishedRefusal(NotFound):
    """The link does not open the image, for whatever reason."""

    shape = "PublishedRefusal"

    def __init__(self) -> None:
        super().__init__("This link opens no such image.")


class TokenPath(contract.Model):
    """A link, by its token."""

    token: str
    """Any other segment is treated like a token that no link has."""


class PublishedImagePath(TokenPath):
    """A revision of an image."""

    file_id: Annotated[FileId, contract.IN_PATH]
    revision_id: Annotated[RevisionId, contract.IN_PATH]


class OpeningQuery(contract.Model):
    """What is read after the link is opened; parameters that other sites add are ignored."""

    model_config = ConfigDict(extra="ignore")

    note: str | None = None
    """The id of a note of a folder link; without it, the page lists every note."""


class ReadingQuery(OpeningQuery):
    """What is read."""

    ticket: str | None = None
    """The reading ticket of a link that was opened."""


class PublishedImageQuery(ReadingQuery):
    """How an image is reached."""

    note: str | None = None
    """The note that shows it; without it, any note of the link."""


class PublishedPasswordFormInput(contract.Model):
    """The form that opens a link."""

    password: str = Field(default="", repr=False)
    """Empty for a link without one."""


class LinkReportInput(contract.Model):
    """The form that reports a link."""

    reason: Reason
    note: Annotated[str, Field(json_schema_extra={"maxLength": LONGEST_NOTE})] = ""
    """What the administrators should know."""


@define(eq=False)
class PublishedOperations:
    """The reader path of published links.

    Args:
        reading: the use case.
        reports: receives reports.
        pages: returns the HTML of the pages.
        blobs: the blob store.
        meter: counts what is read.
    """

    _reading: PublishedReading
    _reports: LinkReports
    _pages: Callable[[], Awaitable[PublishedPages]]
    _blobs: BlobStore
    _meter: UsageMeter

    @contract.operation(
        id="getPublishedPage",
        method="GET",
        path="/published/{token}",
        tag="published",
        summary="Read a published note, or the list of a published folder",
        description="A token that opens nothing, or nothing without a password, gets the page with "
        "the form that opens a link, always the same.",
        security=contract.Security.NONE,
        headers=_HEADERS,
        page_headers=contract.READING_HEADERS,
        time=RENDER_SECONDS,
    )
    async def get_published_page(
        self, call: contract.Call, path: TokenPath, query: ReadingQuery
    ) -> contract.HtmlPage:
        """Return a page."""
        counted = call.method != "HEAD"
        page = await self._reading.page(path.token, query.note, query.ticket, counted=counted)
        return contract.HtmlPage(page, (_NOT_STORED,))

    @contract.operation(
        id="openPublishedPage",
        method="POST",
        path="/published/{token}",
        tag="published",
        summary="Open a published link by its password",
        description="The right password gives the page, with a ticket in every address on it; "
        "anything else the same page as before. A link without a password takes an empty one; if "
        "its openings are limited, this is an opening.",
        security=contract.Security.NONE,
        headers=_HEADERS,
        page_headers=contract.READING_HEADERS,
        body=contract.form_body(PublishedPasswordFormInput, limit=_LONGEST_PASSWORD_FORM),
        rate=ROUTE,
        time=RENDER_SECONDS,
    )
    async def open_published_page(
        self,
        call: contract.Call,
        path: TokenPath,
        query: OpeningQuery,
        body: PublishedPasswordFormInput,
    ) -> contract.HtmlPage:
        """Return a page."""
        page = await self._reading.open(path.token, query.note, body.password)
        return contract.HtmlPage(page, (_NOT_STORED,))

    @contract.operation(
        id="getPublishedAttachment",
        method="GET",
        path="/published/{token}/attachments/{fileId}/{revisionId}",
        tag="published",
        summary="Get an image of a published note",
        description="Each request proves anew that the link opens a note which shows this revision "
        "of the image. It is sent without personal metadata, such as place, time and camera; its "
        "pixels, orientation and colours stay.",
        security=contract.Security.NONE,
        headers={
            "cache-control": "Shared caches keep nothing, and others ask again each time.",
            "content-disposition": "The file name; browsers show the image.",
            "etag": "The entity tag of the image as it is published.",
            "x-robots-tag": "Search engines don't show it.",
        },
        media_types=MEDIA_TYPES,
        problems=(PublishedRefusal, WriteLimitReached),
        time=TRANSFER_SECONDS,
        renews_time=True,
    )
    async def get_published_attachment(
        self,
        call: contract.Call,
        path: PublishedImagePath,
        query: PublishedImageQuery,
        headers: IfNoneMatch,
    ) -> contract.Stream | contract.NotModified:
        """Return an image."""
        file_id, revision_id = path.file_id, path.revision_id
        image = await self._reading.image(
            path.token, file_id, revision_id, query.note, query.ticket
        )
        if image is None:
            raise PublishedRefusal
        owner, media_type = image.link.owner_id, image.revision.media_type
        key, size = image.sent
        amount = Amount(size, 1)
        # Members read other bytes, with another tag.
        opaque = f"{revision_id}.published"
        tag: Header = (b"etag", entity_tag(opaque))
        try:
            if owner is not None:
                await self._meter.check(owner, amount)
            if headers.names(opaque):
                return contract.NotModified((tag, _REVALIDATED))
            name = image.revision.path.rpartition("/")[2]
            sent = (
                tag,
                _REVALIDATED,
                _NOT_INDEXED,
                (b"content-disposition", content_disposition("inline", name)),
            )
            if call.method == "HEAD":
                await require_blob(self._blobs, key)
                return contract.Stream(contract.NoBytes(), media_type, size, sent)
            chunks = await open_blob(self._blobs, key, 0, size)
            if owner is None:
                return contract.Stream(chunks, media_type, size, sent)
            transfer = await self._meter.hold(owner, amount)
            metered = MeteredChunks(chunks, transfer)
            return contract.Stream(metered, media_type, size, sent)
        except DownloadLimitReached:
            raise PublishedRefusal from None

    @contract.operation(
        id="getReportPage",
        method="GET",
        path="/published/{token}/report",
        tag="published",
        summary="Show the form to report a link",
        description="The same page for every token.",
        security=contract.Security.NONE,
        headers=_HEADERS,
        page_headers=contract.READING_HEADERS,
    )
    async def get_report_page(self, call: contract.Call, path: TokenPath) -> contract.HtmlPage:
        """Return the form."""
        return contract.HtmlPage((await self._pages()).report().encode(), (_NOT_STORED,))

    @contract.operation(
        id="reportPublishedLink",
        method="POST",
        path="/published/{token}/report",
        tag="published",
        summary="Report a link to the administrators of the installation",
        description="The response is the same for every token.",
        security=contract.Security.NONE,
        headers=_HEADERS,
        page_headers=contract.READING_HEADERS,
        body=contract.form_body(LinkReportInput, limit=_LONGEST_REPORT),
        rate=REPORTS,
        finish_when_client_leaves=True,
    )
    async def report_published_link(
        self, call: contract.Call, path: TokenPath, body: LinkReportInput
    ) -> contract.HtmlPage:
        """Store a report."""
        # Browsers send line ends as two characters.
        note = body.note.replace("\r\n", "\n").strip()
        if len(note) > LONGEST_NOTE:
            message = f"The maximum is {LONGEST_NOTE} characters."
            raise InvalidRequest(errors=[("/note", message)])
        if "\0" in note:
            raise InvalidRequest(errors=[("/note", "The text contains a NUL.")])
        await self._reports.submit(path.token, body.reason, note or None)
        return contract.HtmlPage((await self._pages()).reported().encode(), (_NOT_STORED,))
