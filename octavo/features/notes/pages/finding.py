"""Search the notes of a workspace, and list the links that lead nowhere."""

from collections.abc import Iterator
from typing import NamedTuple

from octavo_rules.problems import Problem
from octavo_rules.schemas import LinkList, SearchResults, SnippetDocument
from quart import Response

from octavo.features.members.pages.members import names_of
from octavo.features.notes.member_notes import missing_path
from octavo.features.notes.pages.frame import NotePages
from octavo.http import contract
from octavo.http.pages.page_registry import Visitor
from octavo.http.pages.responses import HOME, form_errors_of
from octavo.http.pages.workspace_paths import LIST, workspace_of
from octavo.model.files.path import name_of

_RESULTS = "30"
_DAY = 86_400
_SECONDS = {"day": _DAY, "week": 7 * _DAY, "month": 31 * _DAY, "year": 366 * _DAY}
TIMES = {
    "": "Any time",
    "day": "Last 24 hours",
    "week": "Last 7 days",
    "month": "Last month",
    "year": "Last year",
}
"""The choices of how long ago a note was changed last."""
_ROWS = "50"


class Piece(NamedTuple):
    """A piece of a snippet; a match is marked."""

    text: str
    marked: bool


def add_finding_pages(pages: NotePages) -> None:
    """Serve the search, and the list of links that lead nowhere."""

    @pages.site.page(f"{HOME}/<uuid:workspace_id>/search")
    async def search(visitor: Visitor, workspace_id: str) -> Response:
        workspace = await workspace_of(visitor, workspace_id)
        asked = visitor.query.get("q", "").strip()
        folder = visitor.query.get("folder", "").strip("/")
        since = visitor.query.get("since", "")
        author = visitor.query.get("by", "")
        results, trouble = None, None
        if asked:
            place = f"{LIST}/{workspace_id}/search"
            try:
                results = await visitor.api.get(
                    SearchResults,
                    place,
                    q=asked,
                    path=folder or None,
                    changedSince=_time_of(since, pages.now()),
                    author=author or None,
                    limit=_RESULTS,
                )
            except Problem as problem:
                trouble = form_errors_of(problem, {"path": "folder", "author": "by"})
        levels = await pages.way(workspace.id, folder)
        return await pages.show(
            "notes/search.html",
            workspace,
            folder=folder,
            levels=levels,
            has_folder=levels[-1].path == folder,
            folders=await pages.folders(workspace.id),
            trouble=trouble,
            results=results,
            asked=asked,
            since=since if since in _SECONDS else "",
            times=TIMES,
            author=author,
            people={"": "By anybody", **await _people(visitor, workspace_id)},
            name_of=name_of,
            pieces_of=pieces_of,
        )

    @pages.site.page(f"{HOME}/<uuid:workspace_id>/unresolved")
    async def show_unresolved(visitor: Visitor, workspace_id: str) -> Response:
        workspace = await workspace_of(visitor, workspace_id)
        page = await visitor.api.get(
            LinkList,
            f"{LIST}/{workspace_id}/links/unresolved",
            limit=_ROWS,
            after=visitor.query.get("after"),
        )
        return await pages.show(
            "notes/unresolved.html",
            workspace,
            page=page,
            name_of=name_of,
            missing_path=missing_path,
        )


def _time_of(since: str, now: float) -> str | None:
    """Return the earliest time of a change; None for any time, and for an unknown choice."""
    seconds = _SECONDS.get(since)
    return (
        None
        if seconds is None
        else contract.written_time(contract.timestamp(int((now - seconds) * 1000)))
    )


async def _people(visitor: Visitor, workspace_id: str) -> dict[str, str]:
    """Return the members by their accounts; the visitor first."""
    own = visitor.account.id
    names = await names_of(visitor, workspace_id)
    others = sorted(
        (account_id for account_id in names if account_id != own),
        key=lambda account_id: names[account_id].lower(),
    )
    return {own: "By me", **{account_id: f"By {names[account_id]}" for account_id in others}}


def pieces_of(snippet: SnippetDocument) -> Iterator[Piece]:
    """Yield the text of a snippet in pieces: matches, and what is between them."""
    at = 0
    for mark in snippet.marks:
        if mark.start > at:
            yield Piece(snippet.text[at : mark.start], marked=False)
        yield Piece(snippet.text[mark.start : mark.end], marked=True)
        at = mark.end
    if at < len(snippet.text):
        yield Piece(snippet.text[at:], marked=False)
