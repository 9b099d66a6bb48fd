"""Upload images, and read the contents of files as bytes."""

import re
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import trio
from octavo_rules.identity import RevisionId
from octavo_rules.schemas import AttachmentUploadResult

from octavo_client.changes import present_members
from octavo_client.connection import ApiConnection, Request, StreamedBody
from octavo_client.content import FileForm, Source
from octavo_client.errors import UnexpectedResponse

_CONTENT_RANGE = re.compile(r"bytes ([0-9]+)-([0-9]+)/([0-9]+)")
_PARTIAL = 206


class FileContent:
    """The bytes of a file, or a range of them, as they arrive.

    Attributes:
        media_type: the media type of the content.
        tag: the entity tag of the content.
        size: the size of the whole content in bytes; None if the server does not say.
    """

    def __init__(self, body: StreamedBody, size: int | None) -> None:
        self.media_type: str = body.headers.get("content-type", "")
        self.tag: str = body.headers.get("etag", "")
        self.size = size
        self._body = body

    def __aiter__(self) -> AsyncIterator[bytes]:
        return self

    async def __anext__(self) -> bytes:
        """Return the next bytes. Raises `ConnectionFailed` if the rest is missing."""
        return await anext(self._body)


async def upload_image(
    connection: ApiConnection, path: str, source: Source, name: str, media_type: str
) -> AttachmentUploadResult:
    """Upload an image to the workspace at ``path``; see `WorkspaceClient.upload_image`."""
    length: int | None = None
    attempts: int | None = None
    if isinstance(source, Path):
        length = (await trio.Path(source).stat()).st_size
    elif isinstance(source, bytes):
        length = len(source)
    else:
        attempts = 1
    form = FileForm(source, length, name, media_type, connection.new_id())
    # Sent again, it makes another upload; the first one expires.
    request = Request(
        "POST", f"{path}/attachments", effect="repeatable", content=form, attempts=attempts
    )
    return await connection.ask(AttachmentUploadResult, request)


@asynccontextmanager
async def read_content(
    connection: ApiConnection,
    path: str,
    revision_id: RevisionId | None,
    width: int | None,
    start: int,
    stop: int | None,
) -> AsyncIterator[FileContent]:
    """Read the content of the file at ``path``; see `WorkspaceReader.read_content`."""
    headers: dict[str, str] = {}
    if start or stop is not None:
        if start < 0 or (stop is not None and stop <= start):
            raise ValueError("the range is empty, or begins before the content")
        headers["range"] = f"bytes={start}-{'' if stop is None else stop - 1}"
    query = present_members(revision=revision_id, width=width)
    request = Request("GET", f"{path}/content", query=query, headers=headers)
    async with connection.stream(request) as body:
        yield FileContent(body, _size(body, start if headers else None))


def _size(body: StreamedBody, start: int | None) -> int | None:
    """Return the size of the whole content; ``start`` is that of the range, if one was asked for.

    Raises `UnexpectedResponse` for another range.
    """
    if (start is not None) != (body.status == _PARTIAL):
        raise UnexpectedResponse("the response is not the requested range")
    if start is None:
        length = body.headers.get("content-length", "")
        return int(length) if length.isdecimal() else None
    found = _CONTENT_RANGE.fullmatch(body.headers.get("content-range", ""))
    if found is None or int(found[1]) != start:
        raise UnexpectedResponse("the response is not the requested range")
    return int(found[3])
