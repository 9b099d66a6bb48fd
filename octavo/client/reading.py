"""Reading the files of a workspace."""

from collections.abc import AsyncIterator, Mapping, Sequence
from dataclasses import replace
from typing import Literal, TypeVar

from octavo.client.answers import (
    Difference,
    FilePage,
    ListedFile,
    ReadFiles,
    RevisionInfo,
    RevisionPage,
    WorkspaceFileInfo,
)
from octavo.client.calling import Calling, Request
from octavo.client.changes import given
from octavo.client.findings import BackLink, Hits, LinkPage, LinksOfFile
from octavo.client.paging import Page, Pages
from octavo.model.identity import FileId, RevisionId, WorkspaceId

T = TypeVar("T")
Query = Mapping[str, str | int]
_PAGE = 500


class Reading:
    """The files of one workspace, to be read.

    Every method raises `ClientError`. Those that give many read a page whenever one is wanted:
    what changes meanwhile is there or not.

    Attributes:
        id: of the workspace.
        calling: in whose name it is read.
    """

    def __init__(self, calling: Calling, workspace_id: WorkspaceId) -> None:
        self.id = workspace_id
        self.calling = calling

    @property
    def path(self) -> str:
        """Where its operations are found on the server."""
        return f"/api/workspaces/{self.id}"

    async def file(self, file_id: FileId, *, document: bool = False) -> WorkspaceFileInfo:
        """Answer a file at its head, with its text, and its document if wanted (getFile).

        Raises `NotFound` for a deleted one, too.
        """
        query = {"content": "full" if document else "text"}
        return await self._get(WorkspaceFileInfo, f"/files/{file_id}", query)

    def files(
        self, prefix: str = "", *, state: Literal["live", "deleted"] = "live"
    ) -> AsyncIterator[ListedFile]:
        """Give the files whose paths begin with ``prefix``, by their paths (listFiles)."""
        return self._pages(FilePage, "/files", prefix=prefix or None, state=state)

    async def read(
        self, file_ids: Sequence[FileId] = (), revision_ids: Sequence[RevisionId] = ()
    ) -> ReadFiles:
        """Answer many files and revisions at once, as far as there are any (readFiles).

        At most 500 of each, with 8 MiB of text in all: more is a `ProblemError`.
        """
        body = {"fileIds": list(file_ids), "revisionIds": list(revision_ids)}
        return await self.calling.ask(ReadFiles, Request("POST", f"{self.path}/files/read", body))

    async def revision(self, file_id: FileId, revision_id: RevisionId) -> WorkspaceFileInfo:
        """Answer a file as a revision left it (getRevision)."""
        return await self._get(WorkspaceFileInfo, f"/files/{file_id}/revisions/{revision_id}")

    def revisions(self, file_id: FileId) -> AsyncIterator[RevisionInfo]:
        """Give the revisions of a file, the newest first (listRevisions)."""
        return self._pages(RevisionPage, f"/files/{file_id}/revisions")

    async def difference(
        self,
        file_id: FileId,
        old: RevisionId | None = None,
        new: RevisionId | None = None,
        *,
        by: Literal["lines", "words"] = "lines",
        context: int | None = None,
    ) -> Difference:
        """Answer what changed between two revisions of a note (diffRevisions).

        Args:
            file_id: the note.
            old: the earlier one; None for the one before ``new``.
            new: the later one; None for the head.
            by: what is compared.
            context: lines that are shown around each change.
        """
        query = given(old=old, new=new, by=by, context=context)
        return await self._get(Difference, f"/files/{file_id}/diff", query)

    async def search(self, query: str, *, folder: str = "", limit: int = 20) -> Hits:
        """Answer the notes that hold what ``query`` asks for (searchWorkspace).

        Words must all be there; the last, and each that ends with ``*``, may be the beginning of a
        word; what stands in quotes is a phrase. At most ``limit`` notes, up to 100, below
        ``folder``.
        """
        asked = given(q=query, path=folder or None, limit=limit)
        return await self._get(Hits, "/search", asked)

    async def links(self, file_id: FileId) -> LinksOfFile:
        """Answer where the links of a file lead, and which lead to it (getLinks).

        As many pages are read as there are; ``next`` is None.
        """
        links = await self._get(LinksOfFile, f"/files/{file_id}/links", {"limit": _PAGE})
        incoming = [*links.incoming]
        after = links.next
        while after is not None:
            query = given(limit=_PAGE, after=after)
            page = await self._get(LinksOfFile, f"/files/{file_id}/links", query)
            incoming += page.incoming
            after = page.next
        return replace(links, incoming=tuple(incoming), next=None)

    def unresolved_links(self) -> AsyncIterator[BackLink]:
        """Give the links that lead to no file (listUnresolvedLinks)."""
        return self._pages(LinkPage, "/links/unresolved")

    def _pages(self, kind: type[Page[T]], path: str, **query: str | None) -> Pages[T]:
        async def page(after: str | None) -> Page[T]:
            return await self._get(kind, path, given(limit=_PAGE, after=after, **query))

        return Pages(page)

    async def _get(
        self, kind: type[T], path: str, query: Mapping[str, str | int] | None = None
    ) -> T:
        return await self.calling.ask(kind, Request("GET", self.path + path, query=query or {}))
