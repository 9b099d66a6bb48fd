"""The contents of files as bytes: images, their thumbnails, and notes."""

from collections.abc import AsyncIterator
from enum import IntEnum
from pathlib import PurePosixPath
from typing import Literal, NamedTuple

from attrs import define
from octavo_rules.identity import READ, RevisionId, WorkspaceId
from octavo_rules.problems import Header, InvalidRequest, NotFound
from pydantic_core import MISSING

from octavo.access.workspaces import Access
from octavo.features.files.api.files import FilePath
from octavo.features.images.sql import StoredContent, content_of
from octavo.features.images.thumbnails import MEDIA_TYPE as THUMBNAIL_TYPE
from octavo.features.images.thumbnails import Thumbnails
from octavo.features.usage.api import METERED, MeteredChunks, Metering, memory_of
from octavo.http import blob_stream, contract
from octavo.http.callers import caller_of
from octavo.model.etag import entity_tag
from octavo.model.files.image import MEDIA_TYPES
from octavo.model.files.revision import Revision
from octavo.model.refusal import FilePurged
from octavo.model.usage import Amount, WriteLimitReached
from octavo.store import Store
from octavo.store.blobs import BlobKey, BlobMissing, BlobStore
from octavo.store.queries import files

MARKDOWN_TYPE = "text/markdown; charset=utf-8"
TRANSFER_SECONDS = 180.0
"""Seconds in which a thumbnail has to be made, and a download to progress."""
_HEADERS = {
    "etag": "The entity tag of the content.",
    "cache-control": "A content that is requested by its revision never changes.",
    "content-disposition": "The file name; browsers show images, and save notes.",
    "accept-ranges": "bytes",
    "content-range": "Which bytes a 206 has.",
}
_IMMUTABLE: Header = (b"cache-control", b"private, max-age=31536000, immutable")
_REVALIDATED: Header = (b"cache-control", b"private, no-cache")
_PIECE = 256 * 1024


class ThumbnailWidth(IntEnum):
    """The maximum widths of thumbnails, in pixels."""

    SMALL = 160
    MEDIUM = 480
    LARGE = 1280


class FileContentQuery(contract.Model):
    """Which content is returned."""

    revision: contract.Identifier | MISSING = MISSING
    """A revision of the file; if omitted, its head."""
    width: ThumbnailWidth | MISSING = MISSING
    """Return a thumbnail of an image: WebP, at most as wide, and never enlarged."""


class ContentHeaders(blob_stream.IfNoneMatch):
    """The versions that the client has, and the bytes that it wants."""

    range: str | None = None
    """A single range of bytes, such as ``bytes=0-1023``; anything else is ignored, as by HEAD."""
    if_range: str | None = None
    """Return the range only if the content has this entity tag, and all of it otherwise."""


@define(eq=False)
class ContentOperations:
    """Contents of files.

    Args:
        store: the database.
        blobs: the blob store.
        thumbnails: makes thumbnails.
        access: checks the members.
        metering: counts what is sent.
    """

    _store: Store
    _blobs: BlobStore
    _thumbnails: Thumbnails
    _access: Access
    _metering: Metering

    @contract.operation(
        id="getFileContent",
        method="GET",
        path="/api/workspaces/{workspaceId}/files/{fileId}/content",
        tag="attachments",
        summary="Get the bytes of a file, or a thumbnail of an image",
        description="With revision, the response may be cached forever. Without it, revalidate a "
        "copy with if-none-match.",
        scope=READ,
        confinable=True,
        other_statuses=(206,),
        headers=_HEADERS,
        media_types=(MARKDOWN_TYPE, *MEDIA_TYPES),
        problems=(
            NotFound,
            blob_stream.RangeNotSatisfiable,
            FilePurged,
            *METERED,
            WriteLimitReached,
        ),
        time=TRANSFER_SECONDS,
        renews_time=True,
    )
    async def get_file_content(
        self, call: contract.Call, path: FilePath, query: FileContentQuery, headers: ContentHeaders
    ) -> contract.Stream | contract.NotModified:
        """Return the content of a file."""
        workspace_id, within = await self._access.visible(caller_of(call), path.workspace_id)
        await self._metering.admit(call)
        named = None if query.revision is MISSING else RevisionId(query.revision)
        file_id = path.file_id
        stored = await self._store.read(content_of(workspace_id, file_id, named))
        if stored is not None and within is not None:
            paths = await self._store.read(files.head_paths(workspace_id, [file_id]))
            seen = (stored.revision.path, paths.get(file_id, ""))
            stored = stored if all(map(within.covers, seen)) else None
        if stored is None or (named is None and stored.revision.state == "deleted"):
            raise NotFound
        revision = stored.revision
        if not revision.path:
            raise FilePurged
        width = None if query.width is MISSING else query.width
        opaque = revision.revision_id if width is None else f"{revision.revision_id}.{width}"
        caching = _REVALIDATED if named is None else _IMMUTABLE
        tag: Header = (b"etag", entity_tag(opaque))
        if headers.names(opaque):
            # The size of a thumbnail is not known before it is made.
            await self._metering.admit(call, Amount(0 if width else revision.size, 1))
            return contract.NotModified(headers=(tag, caching))
        content = await self._content(stored, width)
        wanted = None
        # RFC 9110 section 14.2 defines ranges for GET alone.
        if call.method == "GET" and headers.if_range in (None, tag[1].decode()):
            wanted = blob_stream.requested_range(headers.range, content.size)
        sent = (
            tag,
            caching,
            (b"accept-ranges", b"bytes"),
            (b"content-disposition", blob_stream.content_disposition(content.shown, content.name)),
        )
        length = content.size if wanted is None else wanted.stop - wanted.start
        chunks: AsyncIterator[bytes] = contract.NoBytes()
        if call.method == "HEAD":
            await self._metering.admit(call, Amount(length, 1))
            if not isinstance(content.data, Revision):
                await blob_stream.require_blob(self._blobs, content.data)
        else:
            transfer = await self._metering.hold(call, Amount(length, 1))
            try:
                opened = await self._open(call, workspace_id, content, wanted)
                chunks = MeteredChunks(opened, transfer)
            except BaseException:
                transfer.close()
                raise
        if wanted is None:
            return contract.Stream(chunks, content.media_type, length, sent)
        span = (b"content-range", wanted.content_range(content.size))
        return contract.Stream(chunks, content.media_type, length, (*sent, span), status=206)

    async def _content(self, stored: StoredContent, width: int | None) -> "_ServedContent":
        revision, name = stored.revision, PurePosixPath(stored.revision.path).name
        if stored.blob is None:
            if width is not None:
                message = "The file is a note; only images have thumbnails."
                raise InvalidRequest(errors=[("/query/width", message)])
            return _ServedContent(MARKDOWN_TYPE, revision.size, name, "attachment", revision)
        if width is None:
            return _ServedContent(revision.media_type, revision.size, name, "inline", stored.blob)
        try:
            thumbnail = await self._thumbnails.get(stored.blob, width)
        except BlobMissing as error:
            raise blob_stream.vanished(error) from error
        name = f"{PurePosixPath(name).stem}-{width}.webp"
        return _ServedContent(THUMBNAIL_TYPE, thumbnail.size, name, "inline", thumbnail.key)

    async def _open(
        self,
        call: contract.Call,
        workspace_id: WorkspaceId,
        content: "_ServedContent",
        wanted: blob_stream.ByteRange | None,
    ) -> AsyncIterator[bytes]:
        start, stop = wanted or (0, content.size)
        if isinstance(content.data, Revision):
            data = (await self._text(call, workspace_id, content.data))[start:stop]
            call.keep(len(data))
            return _pieces(data)
        return await blob_stream.open_blob(self._blobs, content.data, start, stop)

    async def _text(self, call: contract.Call, workspace_id: WorkspaceId, of: Revision) -> bytes:
        """Return the text of a note at a revision; memory for it is reserved before."""
        await call.reserve(memory_of(of.size))
        # A long text is read in a thread.
        read = self._store.read_much if of.size >= contract.COUNTED else self._store.read
        stored = await read(files.revision(workspace_id, of.file_id, of.revision_id))
        if stored is None:
            raise NotFound
        if stored.text is None:
            # It was purged after its revision was looked up.
            raise FilePurged
        return stored.text.encode()


class _ServedContent(NamedTuple):
    """Bytes to send: of the blob ``data``, or of the text of a note at the revision ``data``."""

    media_type: str
    size: int
    name: str
    shown: Literal["inline", "attachment"]
    data: BlobKey | Revision


async def _pieces(data: bytes) -> AsyncIterator[bytes]:
    for at in range(0, len(data), _PIECE):
        yield data[at : at + _PIECE]
