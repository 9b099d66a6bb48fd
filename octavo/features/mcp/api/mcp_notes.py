"""Process messages of the Model Context Protocol with operations of the API, in process."""

from collections.abc import Awaitable, Sequence
from typing import TypeVar

from antechamber.asgi import Receive, Scope
from octavo_rules import schemas
from octavo_rules.identity import WRITE, RevisionId
from octavo_rules.problems import NotFound, Problem

from octavo.features.mcp.api.mcp import (
    Exchange,
    McpHeaders,
    McpMessageRefused,
    McpMethodUnknown,
    write_scope_missing,
)
from octavo.features.mcp.notes import (
    Changes,
    EntryPage,
    ListedNote,
    NoteBackLink,
    NoteChange,
    NoteContent,
    NotesRefused,
    PastRevision,
    RecentChange,
    SearchHit,
    WorkspaceEntry,
)
from octavo.features.mcp.protocol import UNKNOWN_METHOD, ProtocolError, RoutingHeaders
from octavo.features.mcp.reading_tools import reading_tools
from octavo.features.mcp.server import McpCaller, McpServer, WriteScopeMissing
from octavo.features.mcp.writing_tools import writing_tools
from octavo.http import contract
from octavo.http.callers import caller_of
from octavo.model.etag import entity_tag


def mcp_exchange(perform: contract.PerformAs, *, public_url: str, writes: bool) -> Exchange:
    """Return the function that answers messages; its tools perform operations of the API.

    Args:
        perform: performs an operation for the caller of a message.
        public_url: address of the installation, without a trailing slash.
        writes: whether tools that change notes are offered to tokens with the scope for it.
    """
    server = McpServer((*reading_tools(), *(writing_tools() if writes else ())))

    async def exchange(call: contract.Call, document: object, headers: McpHeaders) -> object:
        caller = caller_of(call)

        async def performed(
            scope: Scope, receive: Receive, request_id: str, principal: contract.Principal
        ) -> object:
            result = await perform(scope, receive, request_id, principal)
            # The answer to a change is sent even when memory is short.
            call.changed |= scope["method"] != "GET"
            return result

        api = contract.api_as(caller, performed, call.scope, call.request_id)
        sender = McpCaller(
            NotesOfApi(api, public_url), may_write=caller.scopes is None or WRITE in caller.scopes
        )
        try:
            return await server.answer(document, RoutingHeaders(*headers), sender)
        except ProtocolError as error:
            raise _problem_of(error) from None
        except WriteScopeMissing:
            raise write_scope_missing(public_url) from None

    return exchange


def _problem_of(error: ProtocolError) -> Problem:
    kind = McpMethodUnknown if error.status == UNKNOWN_METHOD else McpMessageRefused
    about = {"id": error.id, "code": error.code, "data": error.data}
    return kind(error.message, members={contract.RPC_MEMBER: about})


T = TypeVar("T")

ACTIONABLE = frozenset({400, 403, 404, 409, 410, 412, 413, 422, 507})
"""The statuses of refusals that a model can act on; any other ends the request."""
_TEXT = {"content": "text"}
_CURSOR = "/query/after"
"""The pointer of the member that tools call cursor."""


class NotesOfApi:
    """`octavo.features.mcp.notes.Notes` for one request.

    Args:
        api: the operations, performed for the caller of the request.
        public_url: address of the installation, without a trailing slash.
    """

    def __init__(self, api: contract.Api, public_url: str) -> None:
        self._api = api
        self._public_url = public_url

    async def workspaces(self, after: str | None, limit: int) -> EntryPage[WorkspaceEntry]:
        """Return a page of listWorkspaces."""
        page = await self._get(
            schemas.WorkspaceList, "/api/workspaces", after=after, limit=str(limit)
        )
        entries = [
            WorkspaceEntry(workspace.id, workspace.name, workspace.role) for workspace in page.items
        ]
        return EntryPage(entries, page.next)

    async def notes(
        self, workspace_id: str, prefix: str, after: str | None, limit: int
    ) -> EntryPage[ListedNote]:
        """Return a page of listFiles."""
        path = f"/api/workspaces/{workspace_id}/files"
        page = await self._get(schemas.FileList, path, prefix=prefix, after=after, limit=str(limit))
        notes = [
            ListedNote(
                file.id,
                file.path,
                file.head.id,
                file.head.size,
                contract.written_time(file.head.created_at),
            )
            for file in page.items
            if file.kind == "note"
        ]
        return EntryPage(notes, page.next)

    async def note(self, workspace_id: str, file_id: str) -> NoteContent:
        """Return getFile, without the document."""
        path = _file(workspace_id, file_id)
        performed = await _converted(self._api.call("GET", path, query=_TEXT))
        return _content(contract.typed(schemas.WorkspaceFile, performed.result))

    async def revision(self, workspace_id: str, file_id: str, revision_id: str) -> NoteContent:
        """Return getRevision."""
        path = f"{_file(workspace_id, file_id)}/revisions/{revision_id}"
        return _content(await self._get(schemas.WorkspaceFile, path))

    async def search(self, query: str, limit: int) -> Sequence[SearchHit]:
        """Return search."""
        results = await self._get(schemas.SearchResults, "/api/search", q=query, limit=str(limit))
        return [
            SearchHit(hit.workspace_id, hit.file_id, hit.path, hit.title) for hit in results.items
        ]

    async def back_links(
        self, workspace_id: str, file_id: str, after: str | None, limit: int
    ) -> EntryPage[NoteBackLink]:
        """Return the incoming links of getLinks."""
        path = f"{_file(workspace_id, file_id)}/links"
        page = await self._get(schemas.FileLinks, path, after=after, limit=str(limit))
        links = [
            NoteBackLink(link.file_id, link.path, link.title, link.target, link.heading)
            for link in page.incoming
        ]
        return EntryPage(links, page.next)

    async def changes(self, workspace_id: str, after: int, limit: int) -> Changes:
        """Return getFeed, without texts."""
        path = f"/api/workspaces/{workspace_id}/feed"
        page = await self._get(schemas.FeedPage, path, after=str(after), limit=str(limit))
        changes = [
            RecentChange(
                entry.position,
                entry.file_id,
                entry.path,
                entry.kind == "note",
                entry.state,
                entry.revision_id,
                contract.written_time(entry.changed_at),
            )
            for entry in page.entries
        ]
        return Changes(changes, page.next, page.position)

    async def revisions(
        self, workspace_id: str, file_id: str, after: str | None, limit: int
    ) -> EntryPage[PastRevision]:
        """Return a page of listRevisions."""
        path = f"{_file(workspace_id, file_id)}/revisions"
        page = await self._get(schemas.RevisionList, path, after=after, limit=str(limit))
        revisions = [
            PastRevision(
                revision.id,
                revision.path,
                revision.size,
                revision.author_name,
                revision.origin,
                None if revision.client is None else revision.client.name,
                contract.written_time(revision.created_at),
            )
            for revision in page.items
        ]
        return EntryPage(revisions, page.next)

    async def create(self, workspace_id: str, path: str, text: str) -> NoteChange:
        """Perform createFile."""
        body = {"path": path, "text": text}
        place = f"/api/workspaces/{workspace_id}/files"
        return _changed(await _converted(self._api.call("POST", place, body)))

    async def update(self, workspace_id: str, file_id: str, expected: str, text: str) -> NoteChange:
        """Perform updateFile with a text."""
        return await self._put(workspace_id, file_id, expected, {"text": text})

    async def move(self, workspace_id: str, file_id: str, expected: str, path: str) -> NoteChange:
        """Perform updateFile with a path; links are rewritten."""
        body = {"path": path, "rewriteLinks": True}
        return await self._put(workspace_id, file_id, expected, body)

    async def delete(self, workspace_id: str, file_id: str, expected: str) -> NoteChange:
        """Perform deleteFile."""
        headers = [(b"if-match", entity_tag(RevisionId(expected)))]
        call = self._api.call("DELETE", _file(workspace_id, file_id), headers=headers)
        return _changed(await _converted(call))

    def address(self, workspace_id: str, file_id: str) -> str:
        """Return the URL of the page of a note, which people can open."""
        return f"{self._public_url}/workspaces/{workspace_id}/notes/{file_id}"

    async def _put(
        self, workspace_id: str, file_id: str, expected: str, body: dict[str, object]
    ) -> NoteChange:
        headers = [(b"if-match", entity_tag(RevisionId(expected)))]
        call = self._api.call("PUT", _file(workspace_id, file_id), body, headers=headers)
        return _changed(await _converted(call))

    async def _get(self, kind: type[T], path: str, **query: str | None) -> T:
        return await _converted(self._api.get(kind, path, **query))


async def _converted(call: Awaitable[T]) -> T:
    try:
        return await call
    except Problem as problem:
        if problem.status not in ACTIONABLE:
            raise
        detail = _located(problem)
        raise NotesRefused(problem.code, detail, problem.members) from None


def _located(problem: Problem) -> str:
    """Return the detail of a problem, with the messages of its faults."""
    errors = problem.members.get("errors")
    if not isinstance(errors, list):
        return problem.detail
    return " ".join(
        "cursor must be next_cursor of the previous page, or null."
        if error["pointer"] == _CURSOR
        else str(error["message"])
        for error in errors
    )


def _file(workspace_id: str, file_id: str) -> str:
    return f"/api/workspaces/{workspace_id}/files/{file_id}"


def _content(file: schemas.WorkspaceFile) -> NoteContent:
    if file.text is None or file.path is None:
        raise NotesRefused(NotFound.code, "This file is not a note: it has no text.", {})
    return NoteContent(
        file.id, file.path, file.head.id, contract.written_time(file.head.created_at), file.text
    )


def _changed(performed: contract.Performed) -> NoteChange:
    changed = contract.typed(schemas.FileChange, performed.result)
    return NoteChange(changed.file_id, changed.path, changed.revision.id, changed.outcome)
