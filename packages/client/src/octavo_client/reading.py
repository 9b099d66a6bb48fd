"""Read the files of a workspace."""

import re
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from datetime import datetime
from pathlib import Path
from typing import Any, Generic, Literal, TypeVar

from octavo_rules import schemas
from octavo_rules.identity import FileId, RevisionId, WorkspaceId
from octavo_rules.schema_base import ListPage
from pydantic import BaseModel

from octavo_client.changes import present_members
from octavo_client.connection import ApiConnection, Request, StreamedBody
from octavo_client.errors import UnexpectedResponse
from octavo_client.exporting import ExportedFiles, export_archive, partial_download

M = TypeVar("M", bound=BaseModel)
T = TypeVar("T")
Query = Mapping[str, str | int]
_PAGE = 500
_CONTENT_RANGE = re.compile(r"bytes ([0-9]+)-([0-9]+)/([0-9]+)")
_PARTIAL = 206


class Pages(Generic[T]):
    """Iterates over the items of all pages, and reads each page when it is needed.

    This is an iterator rather than a generator, so it need not be closed.

    Args:
        read: returns the page at a cursor; None for the first page.
    """

    def __init__(self, read: Callable[[str | None], Awaitable[ListPage[T]]]) -> None:
        self._read = read
        self._items: list[T] = []
        self._after: str | None = None
        self._more = True

    def __aiter__(self) -> AsyncIterator[T]:
        return self

    async def __anext__(self) -> T:
        """Return the next item. Raises the errors of `read`; iteration may continue after them."""
        while not self._items:
            if not self._more:
                raise StopAsyncIteration
            page = await self._read(self._after)
            self._items = [*reversed(page.items)]
            self._after = page.next
            self._more = page.next is not None
        return self._items.pop()


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


class WorkspaceReader:
    """Read access to the files of one workspace.

    Every method raises `ClientError`. Iterators read a page at a time; concurrent changes may or
    may not be included.

    Attributes:
        id: the id of the workspace.
        connection: sends the requests.
    """

    def __init__(self, connection: ApiConnection, workspace_id: WorkspaceId) -> None:
        self.id = workspace_id
        self.connection = connection

    @property
    def path(self) -> str:
        """The path of the workspace's operations."""
        return f"/api/workspaces/{self.id}"

    async def file(self, file_id: FileId, *, document: bool = False) -> schemas.WorkspaceFile:
        """Return a file at its head with its text, and optionally its document (getFile).

        Raises `NotFoundError`, also for a file that was deleted.
        """
        query = {"content": "full" if document else "text"}
        return await self._get(schemas.WorkspaceFile, f"/files/{file_id}", query)

    def files(
        self, prefix: str = "", *, state: Literal["live", "deleted"] = "live"
    ) -> AsyncIterator[schemas.ListedFile]:
        """Iterate over the files whose paths begin with ``prefix``, by path (listFiles)."""
        return self._pages(schemas.FileList, "/files", prefix=prefix or None, state=state)

    async def read(
        self,
        file_ids: Sequence[FileId] = (),
        revision_ids: Sequence[RevisionId] = (),
        *,
        document: bool = False,
    ) -> schemas.ReadFiles:
        """Return those of the given files and revisions that exist (readFiles).

        With ``document``, the files have their documents, for `NoteDocument`. The limits are 500 of
        each and 8 MiB of text and documents in total; more raises `ProblemError`.
        """
        body: dict[str, object] = {"fileIds": list(file_ids), "revisionIds": list(revision_ids)}
        if document:
            body["content"] = "full"
        return await self.connection.ask(
            schemas.ReadFiles, Request("POST", f"{self.path}/files/read", body)
        )

    async def revision(self, file_id: FileId, revision_id: RevisionId) -> schemas.WorkspaceFile:
        """Return a file at a revision (getRevision)."""
        return await self._get(schemas.WorkspaceFile, f"/files/{file_id}/revisions/{revision_id}")

    def revisions(self, file_id: FileId) -> AsyncIterator[schemas.RevisionDocument]:
        """Iterate over the revisions of a file, the newest first (listRevisions)."""
        return self._pages(schemas.RevisionList, f"/files/{file_id}/revisions")

    async def difference(
        self,
        file_id: FileId,
        old: RevisionId | None = None,
        new: RevisionId | None = None,
        *,
        by: Literal["lines", "words"] = "lines",
        context: int | None = None,
    ) -> schemas.RevisionDiff:
        """Return the changes between two revisions of a note (diffRevisions).

        Args:
            file_id: the note.
            old: the earlier revision; None for the one before ``new``.
            new: the later revision; None for the head.
            by: the unit of comparison.
            context: the number of unchanged lines around each change.
        """
        query = present_members(old=old, new=new, by=by, context=context)
        return await self._get(schemas.RevisionDiff, f"/files/{file_id}/diff", query)

    async def search(
        self,
        query: str,
        *,
        folder: str = "",
        limit: int = 20,
        changed_since: datetime | None = None,
        changed_before: datetime | None = None,
        author: str | None = None,
    ) -> schemas.SearchResults:
        """Return up to ``limit`` notes below ``folder`` that match ``query`` (searchWorkspace).

        All words are required. The last word, and each that ends with ``*``, matches as a prefix. A
        quoted text is a phrase. The maximum ``limit`` is 100. ``changed_since``, ``changed_before``
        and ``author`` restrict the search to notes by their last changes; times have a zone.
        """
        asked = search_query(query, folder, limit, changed_since, changed_before, author)
        return await self._get(schemas.SearchResults, "/search", asked)

    async def links(self, file_id: FileId) -> schemas.FileLinks:
        """Return the links of a file and the links to it (getLinks).

        All pages are read; ``next`` is None.
        """
        links = await self._get(schemas.FileLinks, f"/files/{file_id}/links", {"limit": _PAGE})
        incoming = [*links.incoming]
        after = links.next
        while after is not None:
            query = present_members(limit=_PAGE, after=after)
            page = await self._get(schemas.FileLinks, f"/files/{file_id}/links", query)
            incoming += page.incoming
            after = page.next
        return links.model_copy(update={"incoming": tuple(incoming), "next": None})

    def unresolved_links(self) -> AsyncIterator[schemas.FoundLinkDocument]:
        """Iterate over the links that don't resolve to a file (listUnresolvedLinks)."""
        return self._pages(schemas.LinkList, "/links/unresolved")

    @asynccontextmanager
    async def read_content(
        self,
        file_id: FileId,
        *,
        revision_id: RevisionId | None = None,
        width: Literal[160, 480, 1280] | None = None,
        start: int = 0,
        stop: int | None = None,
    ) -> AsyncIterator[FileContent]:
        """Read the bytes of a file as they arrive (getFileContent).

        ::

            async with workspace.read_content(file_id) as content:
                async for chunk in content:
                    ...

        A response that has started is not retried: `ConnectionFailed` means that bytes are missing.

        Args:
            file_id: an image, or a note.
            revision_id: a revision of the file; None for its head.
            width: return a thumbnail of an image as WebP, at most as wide in pixels.
            start: the first byte.
            stop: the byte after the last one; None for the end.

        Raises `ValueError` for an empty range.
        """
        headers: dict[str, str] = {}
        if start or stop is not None:
            if start < 0 or (stop is not None and stop <= start):
                raise ValueError("the range is empty, or begins before the content")
            headers["range"] = f"bytes={start}-{'' if stop is None else stop - 1}"
        path = f"{self.path}/files/{file_id}/content"
        query = present_members(revision=revision_id, width=width)
        request = Request("GET", path, query=query, headers=headers)
        async with self.connection.stream(request) as body:
            yield FileContent(body, _size(body, start if headers else None))

    async def download(
        self,
        file_id: FileId,
        target: Path,
        *,
        revision_id: RevisionId | None = None,
        width: Literal[160, 480, 1280] | None = None,
    ) -> int:
        """Write the bytes of a file to ``target``, and return their number; see `read_content`.

        ``target`` appears, or is replaced, when it is complete and durable. Raises OSError.
        """
        reading = self.read_content(file_id, revision_id=revision_id, width=width)
        async with (
            reading as content,
            partial_download(target, self.connection.entropy) as file,
        ):
            async for chunk in content:
                await file.write(chunk)
        return file.size

    async def export_archive(
        self,
        target: Path,
        *,
        format: ExportedFiles = "all",  # noqa: A002  # the name of the parameter
        progress: Callable[[int], object] = lambda _: None,
    ) -> int:
        """Write the workspace as a zip archive to ``target`` (exportWorkspace).

        ``target`` appears, or is replaced, when it is complete and durable, and only its owner can
        read it. An export that has started is not retried: `ConnectionFailed`, such as
        `ArchiveCut`, means that nothing was written. Raises OSError, and `ExportIncomplete` when
        ``target`` was written without images that are damaged or missing on the server.

        Args:
            target: the file.
            format: ``notes`` leaves out images; ``history`` adds the earlier revisions.
            progress: called with the number of bytes so far; must not raise.

        Returns:
            The size of the archive in bytes.
        """
        return await export_archive(self.connection, self.path, target, format, progress)

    def _pages(self, kind: type[ListPage[T]], path: str, **query: str | None) -> Pages[T]:
        async def page(after: str | None) -> ListPage[T]:
            return await self._get(kind, path, present_members(limit=_PAGE, after=after, **query))

        return Pages(page)

    async def _get(
        self, kind: type[M], path: str, query: Mapping[str, str | int] | None = None
    ) -> M:
        return await self.connection.ask(kind, Request("GET", self.path + path, query=query or {}))


def search_query(
    query: str,
    folder: str,
    limit: int,
    changed_since: datetime | None,
    changed_before: datetime | None,
    author: str | None,
) -> dict[str, Any]:
    """Return the query members of a search; see `WorkspaceReader.search`."""
    return present_members(
        q=query,
        path=folder or None,
        limit=limit,
        changedSince=None if changed_since is None else changed_since.isoformat(),
        changedBefore=None if changed_before is None else changed_before.isoformat(),
        author=author,
    )


def _size(body: StreamedBody, start: int | None) -> int | None:
    """Return the size of the whole content; ``start`` is that of the range, if one was asked for.

    Raises `UnexpectedResponse` for another range.
    """
    if (start is not None) != (body.status == _PARTIAL):
        raise UnexpectedResponse("the response is not the requested range")
    if start is None:
        length = body.headers.get("content-length", "")
        return int(length) if length.isdecimal() else None
    content_range = _CONTENT_RANGE.fullmatch(body.headers.get("content-range", ""))
    if content_range is None or int(content_range[1]) != start:
        raise UnexpectedResponse("the response is not the requested range")
    return int(content_range[3])
