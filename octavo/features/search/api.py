"""Search the notes of one workspace, or of all workspaces of the account."""

from collections.abc import Sequence
from functools import partial
from typing import Annotated

from octavo_rules.identity import READ, AccountId, WorkspaceId
from octavo_rules.problems import InvalidRequest, NotFound
from octavo_rules.schemas import Mark, SearchResult, SearchResults, SnippetDocument
from pydantic import Field

from octavo.access.caller import Caller
from octavo.access.workspaces import Access
from octavo.features.search.note_search import FoundNotes, NoteSearch, SearchedTexts, Where
from octavo.features.search.rules import Finder, Ranked, finders_of, snippets_of
from octavo.features.search.sql.searching import workspaces_of
from octavo.features.usage.api import METERED, Metering
from octavo.http import contract
from octavo.http.callers import caller_of
from octavo.http.file_schemas import FolderPath, QueryText, WorkspacePath
from octavo.model.search.query import HeadFilter, InvalidQuery, Query, parse_query
from octavo.model.usage import Amount
from octavo.store import Store
from octavo.store.fair_turns import FairThreads
from octavo.store.queries.workspaces import chosen_of

MAX_THREADS = 2
"""Maximum number of searches ranked in parallel; ranking takes tens of milliseconds of CPU."""
_QUERY_SYNTAX = (
    "All words must occur in the text, the title or the path; the last word, and each "
    "that ends with `*`, may be a prefix. Quotes mark a phrase. Case and diacritics are "
    "ignored. Of a long note, the first 1,048,576 characters are searched."
)


class SearchQuery(contract.Model):
    """A search query."""

    q: QueryText
    """Words, and phrases in quotes; at most 500 characters."""
    path: FolderPath = ""
    """The folder to search, including its subfolders."""
    limit: Annotated[int, Field(ge=1, le=100), contract.IN_DIGITS] = 20
    """Maximum number of results."""
    changed_since: contract.GivenTime | None = None
    """Restricts the search to notes whose last change was at this time or later."""
    changed_before: contract.GivenTime | None = None
    """Restricts the search to notes whose last change was before this time."""
    author: contract.Identifier | None = None
    """Restricts the search to notes whose last change this account made."""


class WideSearchQuery(SearchQuery):
    """A search query for several workspaces."""

    workspace_id: contract.Identifier | None = None
    """Restricts the search to one workspace."""


class SearchOperations:
    """Search.

    Args:
        store: the store of files.
        access: checks the members.
        metering: counts the snippets.
        texts: holds those that searches have read.
    """

    def __init__(
        self, store: Store, access: Access, metering: Metering, texts: SearchedTexts
    ) -> None:
        self._store = store
        self._metering = metering
        self._access = access
        self._notes = NoteSearch(store, texts, FairThreads(MAX_THREADS).run)

    @contract.operation(
        id="searchWorkspace",
        method="GET",
        path="/api/workspaces/{workspaceId}/search",
        tag="search",
        summary="Search the notes of a workspace",
        description=_QUERY_SYNTAX,
        scope=READ,
        confinable=True,
        problems=(NotFound, *METERED),
    )
    async def search_workspace(
        self, call: contract.Call, path: WorkspacePath, query: SearchQuery
    ) -> SearchResults:
        """Return matching notes of one workspace."""
        workspace_id = await self._access.workspace(caller_of(call), path.workspace_id, "read")
        return await self._search(call, [workspace_id], query)

    @contract.operation(
        id="search",
        method="GET",
        path="/api/search",
        tag="search",
        summary="Search the notes of all workspaces of the account",
        description=f"{_QUERY_SYNTAX} Of more than 100 workspaces the newest are searched.",
        scope=READ,
        confinable=True,
        problems=(NotFound, *METERED),
    )
    async def search(self, call: contract.Call, query: WideSearchQuery) -> SearchResults:
        """Return matching notes of many workspaces."""
        if query.workspace_id is not None:
            workspace_id = WorkspaceId(query.workspace_id)
            await self._access.check(workspace_id, caller_of(call), "read")
            return await self._search(call, [workspace_id], query)
        return await self._search(call, await self._all(caller_of(call)), query)

    async def _all(self, caller: Caller) -> list[WorkspaceId]:
        """Return the workspaces of the caller, the newest first."""
        chosen = None if caller.limits is None else caller.limits.workspaces
        if chosen is None:
            return await self._store.read(workspaces_of(caller.account_id))
        workspaces = await self._store.read(chosen_of(caller.account_id, sorted(chosen)))
        workspaces.sort(
            key=lambda workspace: (workspace.created_at, workspace.workspace_id), reverse=True
        )
        return [workspace.workspace_id for workspace in workspaces]

    async def _search(
        self, call: contract.Call, workspaces: list[WorkspaceId], query: SearchQuery
    ) -> SearchResults:
        await self._metering.admit(call)
        if "\0" in query.path:
            raise InvalidRequest(
                errors=[("/query/path", "A path cannot contain the character NUL.")]
            )
        try:
            terms = parse_query(query.q)
        except InvalidQuery as error:
            raise InvalidRequest(errors=[("/query/q", str(error))]) from None
        within = caller_of(call).confinement
        where = Where(workspaces, query.path, within, _heads(query))
        results = await self._notes.find(terms, where, partial(_results, terms, query.limit))
        await self._metering.read(call, _amount_of(results))
        return results


def _heads(query: SearchQuery) -> HeadFilter:
    since, before = query.changed_since, query.changed_before
    return HeadFilter(
        since=None if since is None else contract.milliseconds_of(since),
        before=None if before is None else contract.milliseconds_of(before),
        author=None if query.author is None else AccountId(query.author),
    )


def _amount_of(results: SearchResults) -> Amount:
    texts = (snippet.text for result in results.items for snippet in result.snippets)
    return Amount(sum(len(text.encode()) for text in texts))


def _results(query: Query, limit: int, matches: FoundNotes) -> SearchResults:
    finders = finders_of(query)
    return SearchResults(
        items=tuple(_result(note, finders) for note in matches.notes[:limit]),
        more=matches.more or len(matches.notes) > limit,
        complete=matches.complete,
    )


def _result(note: Ranked, finders: Sequence[Finder]) -> SearchResult:
    candidate = note.candidate
    snippets = snippets_of(note.text, finders)
    return SearchResult(
        workspace_id=candidate.workspace_id,
        file_id=candidate.file_id,
        path=candidate.path,
        title=note.text.title,
        revision_id=candidate.revision_id,
        score=note.score,
        snippets=tuple(
            SnippetDocument(
                text=snippet.text,
                marks=tuple(Mark(start=start, end=end) for start, end in snippet.marks),
            )
            for snippet in snippets
        ),
    )
