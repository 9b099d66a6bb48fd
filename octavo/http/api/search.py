"""Search the notes of one workspace, or of all that the account belongs to."""

from collections.abc import Sequence
from functools import partial
from typing import Annotated

import trio
from pydantic import Field

from octavo.accounts.caller import Caller
from octavo.http.api.access import Access
from octavo.http.api.fields import FolderPath, QueryText
from octavo.http.api.workspaces import WorkspacePath
from octavo.http.contract.call import Call
from octavo.http.contract.contract_model import ContractModel, Identifier
from octavo.http.contract.operation import Security, operation
from octavo.http.contract.paging import IN_DIGITS
from octavo.http.contract.problems import InvalidRequest, NotFound
from octavo.model.identity import WorkspaceId
from octavo.model.search import InvalidQuery, Query, Ranked, parse_query, ranked, snippets_of
from octavo.store import Store, StoreUnavailable
from octavo.store.scripts.index_backlog import index_backlog, workspaces_to_index
from octavo.store.scripts.searching import Candidates, candidates, workspaces_of

CATCH_UP_SECONDS = 5.0
"""How long a search waits until the notes that changed can be found."""
MOST_THREADS = 2
"""In which answers are ranked at once: it takes tens of milliseconds of one core."""
_HOW = (
    "Every word has to be there, in the text, the title or the path; the last one, and each that"
    " ends with `*`, may be the beginning of a word. What stands in quotes is a phrase. Case and"
    " diacritics don't count."
)


class SearchQuery(ContractModel):
    """What to search for."""

    q: QueryText
    """Words, and phrases in quotes; at most 500 characters."""
    path: FolderPath = ""
    """A folder to search in, with all below it."""
    limit: Annotated[int, Field(ge=1, le=100), IN_DIGITS] = 20
    """How many notes to answer at most."""


class WideSearchQuery(SearchQuery):
    """What to search for, and where."""

    workspace_id: Identifier | None = None
    """One workspace alone."""


class MarkSchema(ContractModel):
    """A part of a text that was asked for: from ``start`` up to, but not with, ``end``."""

    start: int
    """Counted in characters (code points) from 0."""
    end: int


class SnippetDocument(ContractModel):
    """A piece of the note as plain text on one line."""

    text: str
    marks: list[MarkSchema]
    """What was found in it, in order."""


class SearchResult(ContractModel):
    """A note that holds what was asked for."""

    workspace_id: Identifier
    file_id: Identifier
    path: str
    title: str | None
    """Its first heading."""
    revision_id: Identifier
    """The head that was searched."""
    score: float
    """To compare with others of the same answer."""
    snippets: list[SnippetDocument]
    """Up to three; none when the words stand in the path alone, or there were too many texts."""


class SearchResults(ContractModel):
    """Notes that hold what was asked for, the best first."""

    items: list[SearchResult]
    more: bool
    """Whether there are others: ask more precisely, or for more."""
    complete: bool
    """False when very much was changed just now, and not all of it could be searched yet."""


class SearchOperations:
    """Search.

    Args:
        store: where files are kept.
        access: judges the members.
    """

    def __init__(self, store: Store, access: Access) -> None:
        self._store = store
        self._access = access
        self._threads = trio.CapacityLimiter(MOST_THREADS)

    @operation(
        id="searchWorkspace",
        method="GET",
        path="/api/workspaces/{workspaceId}/search",
        tag="search",
        summary="Search the notes of a workspace",
        description=_HOW,
        security=Security.SESSION_OR_KEY,
        problems=(NotFound,),
    )
    async def search_workspace(
        self, call: Call, path: WorkspacePath, query: SearchQuery
    ) -> SearchResults:
        """Return notes of one workspace."""
        workspace_id = WorkspaceId(str(path.workspace_id))
        await self._access.require(call, workspace_id, "read")
        return await self._search([workspace_id], query)

    @operation(
        id="search",
        method="GET",
        path="/api/search",
        tag="search",
        summary="Search the notes of all workspaces that the account belongs to",
        description=f"{_HOW} Of more than 100 workspaces the newest are searched.",
        security=Security.SESSION_OR_KEY,
        problems=(NotFound,),
    )
    async def search(self, call: Call, query: WideSearchQuery) -> SearchResults:
        """Return notes of many workspaces."""
        if query.workspace_id is not None:
            workspace_id = WorkspaceId(query.workspace_id)
            await self._access.require(call, workspace_id, "read")
            return await self._search([workspace_id], query)
        account_id = call.principal_as(Caller).account_id
        return await self._search(await self._store.read(workspaces_of(account_id)), query)

    async def _search(self, workspaces: list[WorkspaceId], query: SearchQuery) -> SearchResults:
        if "\0" in query.path:
            raise InvalidRequest(errors=[("/query/path", "No path holds the character NUL.")])
        try:
            asked = parse_query(query.q)
        except InvalidQuery as error:
            raise InvalidRequest(errors=[("/query/q", str(error))]) from None
        complete = await catch_up(self._store, workspaces)
        found = await self._store.read_much(candidates(workspaces, asked, query.path))
        return await trio.to_thread.run_sync(
            partial(_results, found, asked, query.limit, complete), limiter=self._threads
        )


async def catch_up(store: Store, workspaces: Sequence[WorkspaceId]) -> bool:
    """Have the words of notes taken in that were kept before; return whether all of them were.

    What changed since the last search of a workspace waits for the next one. After an import that
    may be much: then this gives up in time, and what is left is done by whoever comes next.
    """
    with trio.move_on_after(CATCH_UP_SECONDS):
        try:
            left = await store.read(workspaces_to_index(workspaces))
            while left:
                left = await store.write(index_backlog(left))
        except StoreUnavailable:
            # It takes no changes, as a full disk does; what was taken in can be searched.
            return False
        return True
    return False


def _results(found: Candidates, query: Query, limit: int, complete: bool) -> SearchResults:
    best = ranked(found.candidates, query)
    return SearchResults(
        items=[_result(each, query) for each in best[:limit]],
        more=found.more or len(best) > limit,
        complete=complete,
    )


def _result(found: Ranked, query: Query) -> SearchResult:
    candidate = found.candidate
    snippets = snippets_of(candidate.text or "", query)
    return SearchResult(
        workspace_id=candidate.workspace_id,
        file_id=candidate.file_id,
        path=candidate.path,
        title=found.title,
        revision_id=candidate.revision_id,
        score=found.score,
        snippets=[
            SnippetDocument(
                text=each.text,
                marks=[MarkSchema(start=start, end=end) for start, end in each.marks],
            )
            for each in snippets
        ],
    )
